"""A collector with redaction on a real store puts runs aside that lack required content, also when it is killed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import content_kit
import otlp_build as build
from collector_kit import CONFIG, SPOOLED, Running, ask, until
from content_kit import OTHER, a_run, llm, running
from planted import Scan, garden
from runreel.collector import content
from stored_bytes import contents, found


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "INTERVAL_S", 0.05)
    monkeypatch.setattr("runreel.collector.run_list._MARGIN_S", 0.05)


def api(at: Running, path: str, body: Any = None) -> Any:
    sent = None if body is None else json.dumps(body).encode()
    return ask(f"{at.at.api}/api/v1/{path}", sent, "application/json", authorization=f"Bearer {at.at.token}").json()


def runs_of(at: Running) -> list[str]:
    return [one["run_id"] for one in api(at, "runs")["runs"]]


def kept_in(at: Running) -> list[dict[str, Any]]:
    return list(api(at, "quarantine")["items"])


@pytest.mark.parametrize("text", [CONFIG, SPOOLED], ids=["stored first", "spooled"])
def test_put_aside_shown_released_and_stored_once_by_a_collector(tmp_path: Path, text: str) -> None:
    with running(tmp_path / "home", text) as (at, runs):
        for spans in (a_run(build.TID, asked=False), a_run(OTHER)):
            assert ask(f"{at.http}/v1/traces", build.req(*spans).SerializeToString()).status == 200
        kept = until(lambda: found if len(found := kept_in(at)) == 3 and runs_of(at) == [OTHER] else None)
        shown = api(at, f"quarantine/{kept[0]['id']}")
        answered = api(at, "quarantine/release", {"ids": [one["id"] for one in kept]})
        until(lambda: sorted(runs_of(at)) == sorted([build.TID, OTHER]))
        # Once the sentinel, which came after it, is gone, what was released has been looked at and has stayed.
        last = "2" * 32
        ask(f"{at.http}/v1/traces", build.req(*a_run(last, asked=False)).SerializeToString())
        until(lambda: {one["trace_id"] for one in kept_in(at)} == {last} and last not in runs_of(at))

        rows, _ = runs._database.rows("default", [build.TID])
        spool = at.service.spool
        ledger = spool.counted()["default"] if spool else {}

    assert answered == {"released": 3, "stay": []}
    assert shown["spans"][0]["trace_id"] == build.TID
    assert len(rows) == 3
    if ledger:
        counts = {name: ledger[f"{name}_spans"] for name in ("acknowledged", "stored", "withdrawn", "released")}
        assert counts == {"acknowledged": 9, "stored": 9, "withdrawn": 6, "released": 3}


def test_no_planted_value_is_in_any_byte_of_what_was_put_aside(tmp_path: Path) -> None:
    home = tmp_path / "home"
    plants, requests = garden(40)
    with running(home, SPOOLED) as (at, _):
        for request in requests:
            for signal, body in request.bodies():
                ask(f"{at.http}/v1/{signal}", body)
        said = "write to dana.fields@example.com about trains"
        spans = (build.agent(), llm("00000000000000b1", build.TID, asked=False))
        spans[1].attributes.append(build.kv("note", said))
        ask(f"{at.http}/v1/traces", build.req(*spans).SerializeToString())
        until(lambda: build.TID in {one["trace_id"] for one in kept_in(at)} and build.TID not in runs_of(at))

    assert Scan(plants).found(data for _, data in contents(home)) == set()
    assert found(home, {"e-mail": b"dana.fields@example.com"}) == {}
    assert found(home, {"kept": b"about trains"})  # or the scan is blind


# --- and when it is killed --------------------------------------------------------------------------------------------


@contextmanager
def program(home: Path) -> Iterator[tuple[subprocess.Popen[str], Any]]:
    """Run a collector as a program; yields it, and what asks it."""
    here = Path(content_kit.__file__)
    path = os.pathsep.join([str(here.parent), *sys.path])
    process = subprocess.Popen(
        [sys.executable, str(here), str(home)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        assert process.stdout
        address, http, token = process.stdout.readline().split()

        def asked(what: str, body: bytes | None = None) -> Any:
            if body is not None:
                return ask(f"{http}/v1/{what}", body).status
            return ask(f"{address}/api/v1/{what}", authorization=f"Bearer {token}").json()

        yield process, asked
    finally:
        process.kill()
        process.wait(60)


def _more_than(asked: Any, records: int) -> bool:
    return len(asked("quarantine")["items"]) > records


def test_after_kill_9_at_any_point_of_it_every_record_is_aside_once_and_the_ledger_exact(tmp_path: Path) -> None:
    home, traces = tmp_path / "home", [f"{number:032x}" for number in range(1, 5)]
    moved = 0
    for trace_id in traces:
        with program(home) as (_, asked):
            assert asked("traces", build.req(*a_run(trace_id, asked=False)).SerializeToString()) == 200
            if int(trace_id, 16) % 2:  # killed at the first sign of it, or before
                until(partial(_more_than, asked, moved))
        moved += 3

    with program(home) as (process, asked):
        until(lambda: len(asked("quarantine")["items"]) == moved and asked("runs")["runs"] == [])
        ledger = until(lambda: one if (one := asked("stores")["ledger"]["default"])["spooled_spans"] == 0 else None)
        kept = asked("quarantine")["items"]
        process.terminate()
        process.wait(60)

    counts = {name: ledger.get(f"{name}_spans", 0) for name in ("acknowledged", "stored", "quarantined", "withdrawn")}
    assert counts == {"acknowledged": moved, "stored": moved, "quarantined": 0, "withdrawn": moved}
    assert sorted(one["trace_id"] for one in kept) == sorted(traces * 3)
