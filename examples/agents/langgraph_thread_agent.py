"""A conversation on LangGraph that goes on with each start: its thread is kept in a file.

`--recorder` has the checkpoints recorded as well: `runreel.record` then knows what the thread held at the start.
"""

import argparse
import contextlib

import telemetry

parser = argparse.ArgumentParser()
parser.add_argument("said", help="what the user says in this turn")
parser.add_argument("--thread", default="thread-0001")
parser.add_argument("--file", default="thread.sqlite", help="where the thread is kept; `memory` keeps it nowhere")
parser.add_argument("--recorder", action="store_true")
options = parser.parse_args()
tracers, loggers = telemetry.set_up("thread-agent")

from openinference.instrumentation.langchain import LangChainInstrumentor

LangChainInstrumentor().instrument(tracer_provider=tracers)

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

import runreel.record as rr


def main() -> str:
    """Go on with the thread by one turn."""
    with contextlib.ExitStack() as stack:
        kept = options.file != "memory"
        saver = stack.enter_context(SqliteSaver.from_conn_string(options.file)) if kept else InMemorySaver()
        if options.recorder:
            saver = rr.checkpointer(saver)
            stack.enter_context(rr.run(user_input=options.said))
        agent = create_agent(ChatOpenAI(model="gpt-4o-mini", temperature=0), tools=[], checkpointer=saver)
        asked = {"messages": [("user", f"[scenario:plain] {options.said}")]}
        answer = agent.invoke(asked, {"configurable": {"thread_id": options.thread}})
        return f"{answer['messages'][-1].content} ({len(answer['messages'])} messages)"


print("FINAL", main())
