from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from collector_kit import NoRuns, Running, Store, collector, posted
from runreel.errors import NotFoundError, RetryableError, StoreError
from runreel.exporters.memory import Memory
from runreel.processors.redact.keys import TenantKey
from runreel.processors.redact.redactor import Redactor
from runreel.runs.load import StoreRuns
from runreel.runs.remote import RemoteRuns
from runreel.storage import KeptGolden
from store_kit import a_run

GOLDEN = KeptGolden("run-1", "receipt", "https://tickets.example/1?by=dana.fields@example.com", "a" * 64)


@pytest.fixture
def memory() -> Memory:
    store = Memory()
    store.export(a_run())
    return store


@pytest.fixture
def running(tmp_path: Path, memory: Memory) -> Iterator[Running]:
    redact = Redactor(TenantKey("k1", b"0" * 32)).text
    with collector(tmp_path, memory, runs=StoreRuns(memory, memory), redact=redact) as found:  # type: ignore[arg-type]
        yield found


def post(running: Running, body: bytes) -> SimpleNamespace:
    return posted(running, "goldens", body)


def test_a_golden_is_registered_through_the_collector_and_its_ticket_redacted(running: Running, memory: Memory) -> None:
    runs = RemoteRuns(running.at.api, running.at.token)
    assert runs.goldens("") == []

    runs.keep_golden("", GOLDEN)

    (found,) = memory.goldens("default")
    assert (found.run_id, found.name, found.sha256) == ("run-1", "receipt", "a" * 64)
    assert found.ticket.startswith("https://tickets.example/1?by=<EMAIL_")
    assert runs.goldens("") == [found]


@pytest.mark.parametrize(
    "body", [b"", b"no", b"[]", b"{}", b'{"run_id": "r", "name": "n", "sha256": "short"}', b"[" * 9]
)
def test_what_is_no_golden_is_refused(running: Running, memory: Memory, body: bytes) -> None:
    assert post(running, body).status == 400
    assert memory.goldens("default") == []


def test_a_golden_that_cannot_be_stored_is_not_acknowledged(tmp_path: Path) -> None:
    class Full(Memory):
        def keep_golden(self, tenant: str, golden: KeptGolden) -> None:
            raise RetryableError("the disk is full")

    full = Full()
    runs = StoreRuns(full, full)
    with (
        collector(tmp_path, Store(), runs=runs, redact=str) as running,
        pytest.raises(StoreError, match="disk is full"),
    ):
        RemoteRuns(running.at.api, running.at.token).keep_golden("", GOLDEN)


def test_a_collector_whose_store_keeps_none_says_so(tmp_path: Path) -> None:
    with collector(tmp_path, Store(), runs=NoRuns()) as running, pytest.raises(NotFoundError, match="no goldens"):
        RemoteRuns(running.at.api, running.at.token).keep_golden("", GOLDEN)


def test_another_versions_answer_is_said(running: Running, memory: Memory) -> None:
    memory.keep_golden("default", KeptGolden("run-1", "receipt", "", "no hash"))

    with pytest.raises(StoreError, match="another one's"):
        RemoteRuns(running.at.api, running.at.token).goldens("")
