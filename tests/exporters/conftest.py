import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from clickhouse_front import front
from runreel.exporters.clickhouse import ClickHouse
from runreel.exporters.engine import Engine
from runreel.exporters.files import FileBlobs
from runreel.exporters.memory import Memory
from runreel.exporters.server import Server, ServerSettings


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


# A process opens one chDB folder at a time: a module shares one, and its tests keep apart by tenant.
@pytest.fixture(scope="module")
def chdb(home: Path) -> Iterator[ClickHouse]:
    database = ClickHouse(Engine.open(home / "store", tmp=home / "tmp"), FileBlobs(home / "blobs"))
    yield database
    database.shutdown()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouse]:
    """The same over HTTP, from a test server in front of the same engine."""
    folder = tmp_path_factory.mktemp("served")
    with front(folder / "engine") as running:
        database = ClickHouse(Server.connect(ServerSettings(running.endpoint)), FileBlobs(folder / "blobs"))
        yield database
        database.shutdown()


@pytest.fixture(params=["memory", "chdb", "served"])
def database(request: pytest.FixtureRequest) -> Memory | ClickHouse:
    """A store of each kind: what holds for one holds for all."""
    return Memory() if request.param == "memory" else request.getfixturevalue(request.param)


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid.uuid4().hex}"
