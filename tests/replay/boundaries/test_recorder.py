"""The recorder's own boundaries are answered by the record; their bodies do not run."""

import pytest

import runreel.record as rr
from runreel.errors import DivergedError
from runreel.record import _active
from runreel.replay.boundaries.functions import FailedError
from runreel.replay.boundaries.recorder import Boundary


class Tape:
    def __init__(self, value=None, error=None):
        self.value, self.error, self.asked = value, error, []

    def call(self, kind, name, arguments, *, call_id="", defaults=None):
        self.asked.append((kind, name, arguments, call_id, defaults))
        if self.error is not None:
            raise self.error
        return self.value


@pytest.fixture
def under(monkeypatch):
    def put(tape):
        monkeypatch.setattr(_active, "current", Boundary(tape))
        return tape

    return put


@rr.tool(name="recorder_case_refund", side_effect=True)
def refund(order: str, cents: int = 100) -> dict:
    raise AssertionError("ran")


@rr.retriever("recorder_case_kb")
def search(query, k=3):
    raise AssertionError("ran")


def test_a_tool_is_asked_about_with_its_arguments_its_call_id_and_its_declared_defaults(under):
    tape = under(Tape({"ok": True}))

    with rr.calling("call_7"):
        assert refund("A") == {"ok": True}

    assert tape.asked == [("tool", "recorder_case_refund", {"order": "A"}, "call_7", {"cents": 100})]


def test_a_retriever_is_asked_about_by_its_query(under):
    tape = under(Tape(({"id": "1", "content": "c"},)))

    assert search("q", k=5) == [{"id": "1", "content": "c"}]
    assert tape.asked[0][:3] == ("retrieval", "recorder_case_kb", {"query": "q", "top_k": 5})


def test_a_recorded_failure_is_raised_and_a_divergence_reaches_the_agent(under):
    under(Tape(error=FailedError("PermissionError", "[Errno 13] Permission denied")))
    with pytest.raises(PermissionError, match="Permission denied"):
        refund("A")

    under(Tape(error=DivergedError("not recorded")))
    with pytest.raises(DivergedError):
        refund("A")


def test_a_name_that_this_process_does_not_declare_has_no_defaults():
    tape = Tape(1)

    assert Boundary(tape).call("tool", "elsewhere", {"a": 1}, "") == 1
    assert tape.asked == [("tool", "elsewhere", {"a": 1}, "", {})]
