"""`runreel replay --all` on a real store: embedded, and over the read API of a collector that runs."""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from e2e_kit import runreel, serving
from golden_kit import BUG, FIX, edit, packed, project
from otlp_sink import record
from runreel.demo import model_server

RUNS = 3


@pytest.fixture(scope="module")
def reels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("reels")
    project(folder)
    with model_server.serving(model_server.DEMO) as model:
        for number in range(RUNS):
            batch, _ = record("agent.py", cwd=folder, model_url=model.url)
            (folder / f"{number}.reel").write_bytes(packed(batch))
    return sorted(folder.glob("*.reel"))


@pytest.fixture(params=["embedded", "collector"])
def world(request: pytest.FixtureRequest, tmp_path: Path, reels: list[Path]) -> Iterator[Path]:
    project(tmp_path)
    home = tmp_path / "home"
    with serving(home) if request.param == "collector" else nullcontext():
        runreel(home, "runs", "import", *reels)
        yield tmp_path


def test_every_run_that_matches_is_replayed_stored_and_summed_up(world: Path) -> None:
    home = world / "home"

    done = runreel(home, "replay", "--all", "agent=refund-desk", cwd=world)

    assert done.out.count("  identical") == RUNS
    assert done.out.splitlines()[-1] == f"{RUNS} runs: {RUNS} identical"
    listed = runreel(home, "runs", "ls", "--replays", "--json").json()
    assert [one["replay_result"]["verdict"] for one in listed] == ["same"] * RUNS
    assert len(runreel(home, "runs", "ls", "--json").json()) == RUNS

    edit(world, (BUG, FIX))
    done = runreel(home, "replay", "--all", "agent=refund-desk,limit=2", "--json", "--html", "p", cwd=world, code=2)

    found = done.json()
    assert found["counts"] == {"same": 0, "diverged": 2, "not_comparable": 0}
    for one in found["runs"]:
        assert one["first"] == "output_mismatch field /final_output"
        assert runreel(home, "diff", one["run_id"], one["stored_run_id"], code=2).out
        assert "Steps side by side" in (world / "p" / one["page"]).read_text(encoding="utf-8")
    assert (world / "p" / "index.html").is_file()

    (world / "agent.py").write_text("import nothing_of_that_name\n")
    done = runreel(home, "replay", "--all", "", "--no-store", cwd=world, code=125)

    assert f"{RUNS} runs: {RUNS} not comparable" in done.out
    assert (
        json.loads(runreel(home, "replay", "--all", "tool=none", "--json", code=125).out)["error"]["exit_code"] == 125
    )
