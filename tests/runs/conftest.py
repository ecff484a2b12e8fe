from collections.abc import Iterator
from pathlib import Path

import pytest

from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.engine import Engine
from runreel.exporters.files import FileBlobs
from runreel.runs.load import StoreRuns
from store_kit import Clock, Watched


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(clock: Clock) -> Watched:
    return Watched(clock)


@pytest.fixture
def runs(memory: Watched, clock: Clock) -> StoreRuns:
    return StoreRuns(memory, memory, clock=clock)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def chdb(home: Path, clock: Clock) -> Iterator[ClickHouse]:
    database = ClickHouse(Engine.open(home / "store", tmp=home / "tmp"), FileBlobs(home / "blobs"), clock=clock)
    yield database
    database.shutdown()
