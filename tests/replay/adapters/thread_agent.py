"""A conversation on LangGraph whose thread is kept in a file; its model is a function of this process."""

import argparse
import contextlib

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

import runreel.record as rr

parser = argparse.ArgumentParser()
parser.add_argument("said")
parser.add_argument("--recorder", action="store_true")
options = parser.parse_args()
rr.configure(agent="thread")


@rr.model("echo")
def model(messages):
    with open("model-calls", "a") as calls:
        calls.write("asked\n")
    return f"You said {len(messages)} things."


def answer(state):
    told = [{"role": one.type, "content": one.content} for one in state["messages"]]
    return {"messages": [AIMessage(model(told))]}


graph = StateGraph(MessagesState)
graph.add_node("answer", answer)
graph.add_edge(START, "answer")
graph.add_edge("answer", END)

with contextlib.ExitStack() as stack:
    saver = stack.enter_context(SqliteSaver.from_conn_string("thread.sqlite"))
    stack.enter_context(rr.run(user_input=options.said))
    compiled = graph.compile(checkpointer=rr.checkpointer(saver) if options.recorder else saver)
    config = {"configurable": {"thread_id": "t-1"}}
    found = compiled.invoke({"messages": [HumanMessage(options.said)]}, config)
    print(" | ".join(one.content for one in found["messages"]))
