"""A replay without a collector: in the store itself where the extras are installed, else in memory alone."""

from pathlib import Path

import pytest

from e2e_kit import CAPTURES, Done, runreel
from stored_bytes import found

AGENT = Path(__file__).resolve().parents[1] / "agents" / "weather_agent.py"
RUN = "82225b683440b92329495eef38ab8ca3"  # the trace of the capture
PLANTED = {"recorded": b"dana.fields@example.com", "live": b"somebody.new@example.com"}
BLOCKED = """
import importlib.abc, sys

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"presidio_analyzer", "chdb", "hyperscan"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("direct")
    runreel(folder / "home", "runs", "import", CAPTURES / "otel-genai-openai" / "content-span")
    runreel(folder / "home", "runs", "export", RUN, "--output", folder / "weather.reel")
    return folder


def replay(folder: Path, run: object, *words: object, code: int = 0, env: dict[str, str] | None = None) -> Done:
    return runreel(folder / "home", "replay", run, "--agent", AGENT, *words, code=code, env=env, cwd=folder)


def test_a_replay_is_stored_in_the_store_itself_and_no_live_value_with_it(folder: Path) -> None:
    done = replay(folder, RUN, "--", "--argument", "email", "somebody.new@example.com", code=2)

    (listed,) = runreel(folder / "home", "runs", "ls", "--replays", "--json").json()
    assert done.out.splitlines()[-1].startswith(f"  stored as run {listed['run_id']}; ")
    assert listed["replay_of"] == RUN
    assert runreel(folder / "home", "diff", RUN, listed["run_id"], code=2).code == 2
    assert found(folder, PLANTED) == {}


def test_a_replay_of_a_reel_is_stored_where_there_is_a_store_and_compared_with_the_reel(folder: Path) -> None:
    done = replay(folder, "weather.reel")

    replay_id = done.out.split()[-1]
    assert done.out.splitlines()[-1] == f"  stored as run {replay_id}; runreel diff weather.reel {replay_id}"
    assert runreel(folder / "home", "diff", "weather.reel", replay_id, cwd=folder).code == 0


def test_without_the_extras_a_replay_stays_in_memory_and_the_note_says_what_to_install(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(BLOCKED, encoding="utf-8")
    before = sorted((path, path.stat().st_size) for path in (folder / "home").rglob("*") if path.is_file())

    done = replay(folder, "weather.reel", env={"PYTHONPATH": str(tmp_path)})

    assert "not stored: the package " in done.out.splitlines()[-1]
    assert "pip install 'runreel[collector,embedded]'" in done.out
    assert sorted((path, path.stat().st_size) for path in (folder / "home").rglob("*") if path.is_file()) == before


def test_a_reel_that_is_replayed_where_nothing_is_recorded_makes_no_data_folder(folder: Path, tmp_path: Path) -> None:
    done = runreel(tmp_path / "none", "replay", folder / "weather.reel", "--agent", AGENT)

    assert done.out.splitlines()[-1] == f"  not stored: there is no store in {tmp_path / 'none'} yet"
    assert not (tmp_path / "none").exists()
