from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from collector_kit import CONFIG, Running, Store, collector, posted
from otlp_build import TID
from runreel.errors import NotFoundError, StoreError
from runreel.exporters.memory import Memory
from runreel.processors.redact.keys import TenantKey
from runreel.processors.redact.redactor import Redactor
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.runs.load import StoreRuns
from runreel.runs.remote import RemoteRuns
from runreel.storage import RunQuery
from runreel.values import RawBatch, SplitBatch
from store_kit import a_run


class Chain:
    """The whole chain, redactor and all."""

    def __init__(self) -> None:
        self._redact = Redactor(TenantKey("k1", b"0" * 32))

    def process(self, batch: RawBatch) -> SplitBatch:
        return Split().process(self._redact.process(Schema().process(batch)))


@pytest.fixture
def memory() -> Memory:
    store = Memory()
    store.export(a_run())
    return store


@pytest.fixture
def running(tmp_path: Path, memory: Memory) -> Iterator[Running]:
    with collector(tmp_path, memory, chain=Chain(), runs=StoreRuns(memory, memory)) as found:  # type: ignore[arg-type]
        yield found


def post(running: Running, body: bytes, name: str = "last") -> SimpleNamespace:
    return posted(running, f"runs/{name}/flag", body)


def test_a_flag_through_the_collector_is_durable_and_its_reason_redacted(running: Running, memory: Memory) -> None:
    runs = RemoteRuns(running.at.api, running.at.token)
    assert [run.outcome for run in runs.runs(RunQuery())] == ["ok"]

    assert runs.flag(TID[:8], "dana.fields@example.com was sent to Oslo") == TID

    assert [run.run_id for run in runs.runs(RunQuery(outcome="user_flagged"))] == [TID]
    (flag,) = StoreRuns(memory, memory).run("default", TID).flagged
    assert str(flag["reason"]).startswith("<EMAIL_")
    assert str(flag["reason"]).endswith("> was sent to Oslo")
    (log,) = memory.rows("default", [TID])[1]
    assert "dana" not in repr(log)


def test_flags_are_only_ever_added(running: Running, memory: Memory) -> None:
    for body in (b"", b"{}", b'{"reason": "again"}'):
        assert post(running, body).status == 200

    reasons = [flag.get("reason") for flag in StoreRuns(memory, memory).run("default", TID).flagged]

    assert reasons == [None, None, "again"]


@pytest.mark.parametrize("body", [b"no", b"[]", b'{"reason": 3}', b'{"reason": "' + b"x" * 4001 + b'"}'])
def test_what_is_no_reason_is_refused(running: Running, memory: Memory, body: bytes) -> None:
    answer = post(running, body)

    assert answer.status == 400
    assert "4000 characters" in answer.body["error"]
    assert StoreRuns(memory, memory).run("default", TID).flagged == ()


def test_a_run_that_is_not_there_cannot_be_flagged(running: Running) -> None:
    with pytest.raises(NotFoundError, match="no run 'nothing'"):
        RemoteRuns(running.at.api, running.at.token).flag("nothing", "")


def test_a_collector_without_a_pipeline_for_logs_says_so(tmp_path: Path, memory: Memory) -> None:
    text = "\n".join(line for line in CONFIG.splitlines() if not line.startswith("    logs:"))
    with collector(tmp_path, Store(), text, runs=StoreRuns(memory, memory)) as running:
        answer = post(running, b"")

    assert answer.status == 409
    assert "no pipeline of this collector takes logs" in answer.body["error"]


def test_a_flag_that_cannot_be_stored_is_no_flag(tmp_path: Path, memory: Memory) -> None:
    def full(_: SplitBatch) -> None:
        raise StoreError("the disk is full")

    with collector(tmp_path, Store(hook=full), chain=Chain(), runs=StoreRuns(memory, memory)) as running:
        assert post(running, b"").status == 503
