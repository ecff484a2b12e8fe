"""The state that a LangGraph thread had before the run is recorded, and a replay starts there and writes nothing."""

import asyncio
import hashlib
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

import runreel.record as rr
from record_kit import run_of
from runreel.record.convert import rebuild
from runreel.record.losses import losses

THREAD = {"configurable": {"thread_id": "t-1"}}


def graph(saver, state=MessagesState, more=()):
    def answer(found):
        return {"messages": [AIMessage(f"You said {len(found['messages'])} things.", id="a")], **dict(more)}

    made = StateGraph(state)
    made.add_node("answer", answer)
    made.add_edge(START, "answer")
    made.add_edge("answer", END)
    return made.compile(checkpointer=saver)


def say(saver, text, config=THREAD):
    return [one.content for one in graph(saver).invoke({"messages": [HumanMessage(text)]}, config)["messages"]]


def reads(spans):
    """Return what the recorded reads gave, in order."""
    run = run_of(spans)
    found = [step for step in run.steps if step.kind == "memory"]
    assert {step.name for step in found} <= {"checkpoints"}
    return [rebuild(run.value(step.output), step.fields.get("replay")) for step in found]


@pytest.fixture
def saver(tmp_path):
    with SqliteSaver.from_conn_string(str(tmp_path / "thread.sqlite")) as made:
        yield made


def recorded_state(saver, spans):
    """Return what is recorded of the second turn of a thread."""
    say(saver, "I am Dana.")
    with rr.run():
        say(rr.checkpointer(saver), "Who am I?")
    (state,) = reads(spans)
    return state


def test_the_state_of_a_thread_is_recorded_at_the_runs_first_read_alone(saver, spans):
    with rr.run():
        kept = rr.checkpointer(saver)
        first = say(kept, "I am Dana.")
        second = say(kept, "Who am I?")

    assert [len(first), len(second)] == [2, 3]
    assert reads(spans) == [None]


def test_a_follow_up_turn_records_what_the_thread_held_before(saver, spans):
    state = recorded_state(saver, spans)

    told = state["checkpoint"]["channel_values"]["messages"]
    assert [one["kwargs"]["content"] for one in told] == ["I am Dana.", "You said 1 things."]
    assert state["config"]["configurable"]["thread_id"] == "t-1"


def test_each_thread_and_each_graph_inside_of_one_is_read_by_itself(saver, spans):
    with rr.run():
        kept = rr.checkpointer(saver)
        say(kept, "I am Dana.")
        say(kept, "I am Kim.", {"configurable": {"thread_id": "t-2"}})

    assert reads(spans) == [None, None]


def test_a_replay_starts_from_the_record_and_leaves_the_file_as_it_is(saver, spans, tape, tmp_path):
    state = recorded_state(saver, spans)
    say(saver, "Something that came later.")
    saver.conn.commit()
    before = hashlib.sha256((tmp_path / "thread.sqlite").read_bytes()).digest()

    asked = tape(state).asked
    kept = rr.checkpointer(saver)
    said = say(kept, "Who am I?")
    again = say(kept, "And now?")

    assert (said[0], len(said), len(again)) == ("I am Dana.", 3, 4)
    assert [one[:3] for one in asked] == [
        ("memory", "checkpoints", {"op": "search", "arguments": {"thread_id": "t-1"}}),
    ]
    assert hashlib.sha256((tmp_path / "thread.sqlite").read_bytes()).digest() == before


def test_an_async_graph_is_recorded_and_answered_too(spans, tape):
    async def turn(saver, text):
        found = await graph(saver).ainvoke({"messages": [HumanMessage(text)]}, THREAD)
        return [one.content for one in found["messages"]]

    saver = InMemorySaver()
    asyncio.run(turn(saver, "I am Dana."))
    with rr.run():
        live = asyncio.run(turn(rr.checkpointer(saver), "Who am I?"))
    (state,) = reads(spans)

    tape(state)
    kept = rr.checkpointer(InMemorySaver())
    assert asyncio.run(turn(kept, "Who am I?")) == live
    assert [one.checkpoint["id"] for one in kept.list(THREAD)]
    kept.delete_thread("t-1")
    assert list(kept.list(THREAD)) == []


def test_what_waits_to_be_taken_in_is_recorded_with_the_state(spans, tape):
    saver = InMemorySaver()
    say(saver, "I am Dana.")
    config = saver.get_tuple(THREAD).config
    saver.put_writes(config, [("messages", [HumanMessage("Wait.", id="w")])], "task-1")
    with rr.run():
        rr.checkpointer(saver).get_tuple(THREAD)
    (state,) = reads(spans)

    tape(state)
    kept = rr.checkpointer(InMemorySaver())
    found, again = kept.get_tuple(THREAD), kept.get_tuple(THREAD)

    assert found.pending_writes == [("task-1", "messages", [HumanMessage("Wait.", id="w")])]
    assert (again.checkpoint["channel_values"], again.pending_writes) == (
        found.checkpoint["channel_values"],
        found.pending_writes,
    )


@dataclass
class Basket:
    items: int


class Shopping(MessagesState):
    basket: Any


def test_a_state_that_has_no_form_in_json_is_counted_as_lost_and_the_agent_goes_on(spans):
    saver = InMemorySaver()
    asked = {"messages": [HumanMessage("One more.")]}
    graph(saver, Shopping, {"basket": Basket(2)}.items()).invoke(asked, THREAD)
    before = losses()

    with rr.run():
        found = graph(rr.checkpointer(saver), Shopping).invoke(asked, THREAD)

    assert found["basket"] == Basket(2)
    assert losses() != before


def test_the_name_of_the_store_is_the_recorders_own():
    with pytest.raises(ValueError, match="'checkpoints' is the recorder's own"):
        rr.memory("checkpoints")
