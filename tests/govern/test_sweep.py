"""Heavy parts that nothing names go in two steps, in a directory and in a bucket; those that a row names never do."""

import hashlib
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from runreel.cli import main
from runreel.components import open_database
from runreel.errors import NotFoundError, StoreError, UsageError
from runreel.exporters.aside import Aside, Blob, FilesAside, aside_of
from runreel.exporters.blobs import LEAST_GRACE_S
from runreel.exporters.clickhouse import ClickHouse, Settings
from runreel.exporters.engine import Engine
from runreel.exporters.files import FileBlobs
from runreel.exporters.memory import Memory
from runreel.exporters.s3 import FRESH_S, S3Blobs, S3Settings
from runreel.govern.sweep import Sweep, Swept
from runreel.values import SplitBatch
from s3_server import ACCESS_KEY, SECRET_KEY, Server, seaweedfs
from store_kit import a_run
from stored_rows import part

HOUR = 3600.0
Blobs = FileBlobs | S3Blobs


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with seaweedfs(tmp_path_factory.mktemp("weed")) as running:
        yield running


@pytest.fixture(params=["files", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "files":
        return FileBlobs(tmp_path / "blobs")
    running = request.getfixturevalue("server")
    return S3Blobs(S3Settings(running.endpoint, f"b-{uuid.uuid4().hex[:12]}", "p", "", ACCESS_KEY, SECRET_KEY))


def aside(blobs: Blobs) -> Aside:
    found = aside_of(blobs)
    assert found is not None
    return found


def put(blobs: Blobs, *names: str, tenant: str = "default") -> list[str]:
    found = []
    for name in names:
        data = name.encode() * 100
        found.append(hashlib.sha256(data).hexdigest())
        blobs.put(tenant, found[-1], data, "text/plain")
    return found


def there(blobs: Blobs, sha256: str, tenant: str = "default") -> bool:
    try:
        return bool(blobs.get(tenant, sha256))
    except NotFoundError:
        return False


def sweep(blobs: Blobs, named: Sequence[str], hours: float, **how: bool) -> Swept:
    """Sweep as it would be so many hours from now, with a grace of two."""
    return Sweep(lambda _, __: named, aside(blobs), 2 * HOUR, lambda: time.time() + hours * HOUR).run(**how)


def test_what_nothing_names_is_set_aside_and_still_read_and_deleted_a_grace_later(blobs: Blobs) -> None:
    named, orphan = put(blobs, "named", "orphan")

    first = sweep(blobs, [named], 3)
    readable = there(blobs, orphan)
    again = sweep(blobs, [named], 1)
    last = sweep(blobs, [named], 3)

    assert (first.looked_at, first.set_aside, first.deleted) == (2, 1, 0)
    assert readable
    assert (again.deleted, again.young) == (0, 2)
    assert (last.deleted, there(blobs, orphan), there(blobs, named)) == (1, False, True)


def test_what_a_row_names_by_then_goes_back_into_its_place(blobs: Blobs) -> None:
    late, other = put(blobs, "late", "other")
    sweep(blobs, [other], 3)

    swept = sweep(blobs, [late, other], 9)

    assert (swept.put_back, swept.deleted) == (1, 0)
    assert {sha256 for _, sha256, _ in aside(blobs).standing()} == {late, other}
    assert list(aside(blobs).aside()) == []
    assert there(blobs, late)


def test_what_is_young_stays(blobs: Blobs) -> None:
    (orphan,) = put(blobs, "orphan")

    swept = sweep(blobs, [], 1.5)

    assert (swept.young, swept.set_aside) == (1, 0)
    assert there(blobs, orphan)


def test_bytes_that_come_again_while_they_are_aside_are_in_their_place_again(blobs: Blobs) -> None:
    (orphan,) = put(blobs, "orphan")
    sweep(blobs, [], 3)

    put(blobs, "orphan")
    swept = sweep(blobs, [orphan], 9)

    assert [sha256 for _, sha256, _ in aside(blobs).standing()] == [orphan]
    assert swept.deleted == 0
    assert there(blobs, orphan)


def test_tenants_are_asked_for_apart(blobs: Blobs) -> None:
    (sha256,) = put(blobs, "same", tenant="one")
    put(blobs, "same", tenant="two")

    def named(tenant: str, hashes: Sequence[str]) -> Sequence[str]:
        return hashes if tenant == "one" else []

    swept = Sweep(named, aside(blobs), 2 * HOUR, lambda: time.time() + 3 * HOUR).run()

    assert swept.set_aside == 1
    assert [(tenant, one) for tenant, one, _ in aside(blobs).standing()] == [("one", sha256)]


def test_a_dry_sweep_says_the_same_and_does_nothing(blobs: Blobs) -> None:
    put(blobs, "a", "b")

    dry = sweep(blobs, [], 3, dry=True)

    assert dry.set_aside == 2
    assert len(list(aside(blobs).standing())) == 2
    assert sweep(blobs, [], 3).set_aside == 2


def test_where_most_would_go_it_refuses_unless_told(blobs: Blobs) -> None:
    hashes = put(blobs, *(str(number) for number in range(50)))

    with pytest.raises(UsageError, match="26 of 50 parts are named by no row"):
        sweep(blobs, hashes[:24], 3)
    assert len(list(aside(blobs).standing())) == 50

    assert sweep(blobs, hashes[:24], 3, force=True).set_aside == 26


def test_a_store_that_cannot_be_asked_moves_nothing(blobs: Blobs) -> None:
    put(blobs, "a")

    def away(_: str, __: Sequence[str]) -> Sequence[str]:
        raise StoreError("away")

    with pytest.raises(StoreError):
        Sweep(away, aside(blobs), 2 * HOUR, lambda: time.time() + 3 * HOUR).run()

    assert len(list(aside(blobs).standing())) == 1


def test_a_memo_skips_a_put_only_for_half_of_the_least_grace() -> None:
    assert FRESH_S <= LEAST_GRACE_S / 2
    assert Settings().memo_s <= LEAST_GRACE_S / 2
    with pytest.raises(UsageError, match="at least 1"):
        Sweep(lambda _, __: [], FilesAside(FileBlobs(Path("nowhere"))), LEAST_GRACE_S - 1)


def test_a_store_in_memory_has_nothing_to_sweep() -> None:
    assert aside_of(Memory()) is None


# --- while others write ---


class Fast:
    """A blob store in which an hour passes in four seconds."""

    def __init__(self, behind: Aside, scale: float) -> None:
        self._behind = behind
        self._scale, self._began = scale, time.time()
        self.set_aside, self.put_back, self.drop = behind.set_aside, behind.put_back, behind.drop

    def clock(self) -> float:
        return self.scaled(time.time())

    def scaled(self, at: float) -> float:
        return self._began + (at - self._began) * self._scale

    def standing(self) -> Iterator[Blob]:
        return ((tenant, sha256, self.scaled(at)) for tenant, sha256, at in self._behind.standing())

    def aside(self) -> Iterator[Blob]:
        return ((tenant, sha256, self.scaled(at)) for tenant, sha256, at in self._behind.aside())


def test_sweeps_during_ingest_never_take_a_part_that_a_row_names_and_take_those_that_none_does(
    blobs: Blobs, tmp_path: Path
) -> None:
    database = ClickHouse(
        Engine.open(tmp_path / "store", tmp=tmp_path / "tmp"), blobs, Settings(inline_bytes=1000, memo_parts=4)
    )
    # Parts come again and again, first without the row that names them: as of a writer that failed in between.
    pool = [part(os.urandom(4000)) for _ in range(40)]
    stored: set[str] = set()
    orphans = [part(os.urandom(4000)) for _ in range(12)]
    ending = threading.Event()
    failed: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            try:
                work()
            except BaseException as error:
                failed.append(error)
                ending.set()

        return run

    def write() -> None:
        number = 0
        while not ending.is_set():
            ahead, one = pool[(number + 7) % len(pool)], pool[number % len(pool)]
            blobs.put(ahead.tenant, ahead.sha256, ahead.data, ahead.media_type)
            database.export(SplitBatch("default", parts=(one,)))
            stored.add(one.sha256)
            number += 1

    def read() -> None:
        while not ending.is_set():
            for sha256 in list(stored):
                assert blobs.get("default", sha256)

    fast = Fast(aside(blobs), LEAST_GRACE_S / 4)
    sums = Swept()

    def clean() -> None:
        while not ending.is_set():
            swept = Sweep(database.parts, fast, LEAST_GRACE_S, fast.clock).run(force=True)
            sums.set_aside += swept.set_aside
            sums.deleted += swept.deleted

    for one in orphans:
        blobs.put(one.tenant, one.sha256, one.data, one.media_type)
    threads = [threading.Thread(target=guarded(work)) for work in (write, read, clean)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 90
    while sums.deleted < len(orphans) and not ending.is_set() and time.monotonic() < deadline:
        time.sleep(0.05)
    ending.set()
    for thread in threads:
        thread.join(60)

    assert failed == []
    assert sums.deleted >= len(orphans)
    gone = [one for one in orphans if not there(blobs, one.sha256)]
    assert gone == orphans
    for sha256 in stored:
        assert database.parts("default", [sha256])[sha256].data is None
        assert there(blobs, sha256)
    database.shutdown()


# --- the command ---


def test_the_command_sweeps_the_data_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = open_database(tmp_path)
    database.export(a_run())
    database.shutdown()
    blobs = FileBlobs(tmp_path / "blobs")
    (orphan,) = put(blobs, "orphan")
    for _, sha256, _ in list(FilesAside(blobs).standing()):
        old = time.time() - 30 * HOUR
        os.utime(blobs._file("default", sha256), (old, old))

    assert main(["db", "sweep", "--home", str(tmp_path), "--dry-run"]) == 0
    dry = capsys.readouterr().out
    assert main(["db", "sweep", "--home", str(tmp_path)]) == 0
    done = capsys.readouterr().out
    assert main(["db", "sweep", "--home", str(tmp_path), "--json"]) == 0

    assert "1 would be set aside" in dry
    assert "2 parts looked at, 1 set aside, 0 put back, 0 deleted, 0 too young" in done
    assert there(blobs, orphan)
    assert main(["db", "sweep", "--home", str(tmp_path), "--grace", "0.5"]) == 64
    assert main(["db", "sweep", "--home", str(tmp_path / "none")]) == 1
