"""In a replay the record answers a tool and a retriever; their bodies do not run."""

import asyncio
import json

import pytest

import runreel.record as rr
from record_kit import must_not_run, only


def test_in_a_replay_the_record_answers_and_the_body_does_not_run(spans, tape):
    recorded = tape({"order_id": "A-1", "tags": ("x",)})

    @rr.tool
    def lookup(order_id, deep=False):
        must_not_run()

    with rr.calling("call_1"):
        got = lookup("A-1")

    assert got == {"order_id": "A-1", "tags": ["x"]}
    assert recorded.asked == [("tool", "lookup", {"order_id": "A-1"}, "call_1")]
    assert json.loads(only(spans).attributes["gen_ai.tool.call.result"]) == {"order_id": "A-1", "tags": ["x"]}


def test_in_a_replay_a_recorded_failure_is_raised_and_recorded_again(spans, tape):
    tape(LookupError("gone"))

    @rr.tool
    def lookup(order_id):
        must_not_run()

    with pytest.raises(LookupError, match="gone"):
        lookup("A-1")

    assert only(spans).attributes["error.type"] == "LookupError"


def test_in_a_replay_async_tools_and_generators_are_answered_too(tape):
    tape((1, 2))

    @rr.tool
    async def fetch():
        must_not_run()

    @rr.tool
    def count():
        must_not_run()
        yield

    @rr.tool
    async def count_async():
        must_not_run()
        yield

    async def main():
        return await fetch(), [i async for i in count_async()]

    assert asyncio.run(main()) == ([1, 2], [1, 2])
    assert list(count()) == [1, 2]


def test_in_a_replay_a_retriever_is_asked_by_query_and_filters(tape):
    recorded = tape(({"id": "kb-1", "content": "x"},))

    @rr.retriever("kb")
    def search(query, k=3, **filters):
        must_not_run()

    assert search("refund", k=2, lang="pt") == [{"id": "kb-1", "content": "x"}]
    assert recorded.asked == [("retrieval", "kb", {"query": "refund", "top_k": 2, "filters": {"lang": "pt"}}, "")]


def test_a_declared_return_type_is_made_again(tape):
    import dataclasses

    @dataclasses.dataclass
    class Order:
        id: str
        lines: list[int]

    def lookup() -> Order:
        must_not_run()

    lookup.__annotations__["return"] = Order
    tape({"id": "A-1", "lines": (1, 2)})

    assert rr.tool(lookup)() == Order("A-1", [1, 2])
