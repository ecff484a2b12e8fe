"""`runreel db`: migrate; and sweep, where a collector does it. Without one: tests/govern/test_sweep.py."""

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import otlp_build as build
from clickhouse_front import front
from collector_kit import CONFIG, ask
from e2e_kit import runreel
from runreel.cli import main
from runreel.exporters import schema
from runreel.exporters.aside import FilesAside
from runreel.exporters.blobs import place
from runreel.exporters.files import FileBlobs
from serve_kit import Serving, serve

NEWEST = max(schema.scripts())


def test_the_tables_of_the_data_folder_are_made_and_twice_is_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert main(["db", "migrate", "--home", str(tmp_path)]) == 0

    assert capsys.readouterr().out.splitlines() == [f"{tmp_path / 'store'}: tables of version {NEWEST}"] * 2


def test_the_tables_of_a_server_are_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with front(tmp_path / "engine") as server:
        file = tmp_path / "collector.yaml"
        file.write_text(CONFIG.replace("clickhouse: }", f"clickhouse: {{endpoint: '{server.endpoint}'}}}}"))

        assert main(["db", "migrate", "--config", str(file), "--home", str(tmp_path / "home")]) == 0

    assert capsys.readouterr().out == f"{server.endpoint}: tables of version {NEWEST}\n"


def test_a_server_that_is_away_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "collector.yaml"
    file.write_text(CONFIG.replace("clickhouse: }", "clickhouse: {endpoint: 'http://127.0.0.1:1'}}"))

    assert main(["db", "migrate", "--config", str(file), "--home", str(tmp_path / "home")]) == 1

    assert "cannot use the ClickHouse server http://127.0.0.1:1" in capsys.readouterr().err


# --- sweep, while a collector has the store open ---


HEAVY = "A heavy document. " * 4000


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A collector over one run with a heavy part, and thirty heavy parts that nothing names; all of them are old."""
    home = tmp_path_factory.mktemp("sweep") / "home"
    spans = (build.agent(), build.tool("00000000000000c1", build.ROOT, "search", {"q": "x"}, HEAVY))
    with serve(home) as running:
        assert ask(f"{running.at.otlp_http}/v1/traces", build.req(*spans).SerializeToString()).status == 200
        blobs = FileBlobs(home / "blobs")
        for number in range(30):
            data = f"nobody's {number} {HEAVY}".encode()
            blobs.put("default", hashlib.sha256(data).hexdigest(), data, "text/plain")
        for _, sha256, _ in list(FilesAside(blobs).standing()):
            old = time.time() - 30 * 3600
            os.utime(home / "blobs" / place("default", sha256), (old, old))
        yield running


def test_a_collector_sweeps_for_the_command_with_the_same_words_and_codes(serving: Serving, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    named = {"RUNREEL_COLLECTOR": serving.at.api, "RUNREEL_TOKEN": serving.at.token}

    refused = runreel(serving.home, "db", "sweep", code=64)
    short = runreel(serving.home, "db", "sweep", "--grace", "0.5", code=64)
    dry = runreel(serving.home, "db", "sweep", "--force", "--dry-run")
    done = runreel(twin, "db", "sweep", "--force", "--json", env=named)
    again = runreel(serving.home, "db", "sweep")
    strange = runreel(serving.home, "db", "sweep", "--grace", "nan", code=64)
    steps = runreel(serving.home, "runs", "show", "last", "--json").json()["steps"]

    assert "30 of 31 parts are named by no row" in refused.err
    assert "a grace of 0.5 hours: at least 1 is wanted" in short.err
    assert (
        dry.out == "31 parts looked at, 30 would be set aside, 0 would be put back, 0 would be deleted, 0 too young\n"
    )
    assert done.json() == {"looked_at": 31, "set_aside": 30, "put_back": 0, "deleted": 0, "young": 0}
    assert again.out == "31 parts looked at, 0 set aside, 0 put back, 0 deleted, 30 too young\n"
    assert "nan" in strange.err
    assert len(steps) == 2
    assert not twin.exists()


def test_without_the_token_nothing_is_swept(serving: Serving, tmp_path: Path) -> None:
    wrong = {"RUNREEL_COLLECTOR": serving.at.api, "RUNREEL_TOKEN": "not-the-token-of-it"}

    told = runreel(tmp_path / "none", "db", "sweep", "--force", env=wrong, code=1)

    assert "RUNREEL_TOKEN" in told.err


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"grace_s": "1", "dry": true, "force": false}',
        b"x" * 2000,
        b'{"grace_s": %s, "dry": true, "force": false}' % (b"9" * 400),
    ],
)
def test_a_wrong_request_for_a_sweep_is_answered_as_one(serving: Serving, body: bytes) -> None:
    answer = ask(f"{serving.at.api}/api/v1/sweep", body, authorization=f"Bearer {serving.at.token}")

    assert (answer.status, "grace_s" in answer.json()["error"]) == (400, True)
