"""Rows that need a store, a collector, an agent or a browser do what they say, on less of everything."""

import asyncio
import os
from pathlib import Path

import browser
import harness
import pytest
import traffic
from rows import durable, load, pages, recorder
from scratch import Unredacted
from sink import environment, sink

from runreel.otlp import decode
from runreel.spool import Spool


def test_every_span_that_is_sent_is_acknowledged_and_handed_on(tmp_path: Path) -> None:
    bodies = list(traffic.batches(traffic.make_runs(3, seed=1), 16))
    store = durable._TakesAll()
    asyncio.run(durable._send(Unredacted(), Spool(tmp_path / "spool"), store, bodies))

    assert store.spans == sum(len(decode("traces", body, "protobuf", "default").spans) for body in bodies)


def test_a_store_is_filled_with_copies_and_the_real_runs_are_loaded_from_it() -> None:
    said: list[object] = []

    with load._Loads(2000) as loads:
        loads.wait_until_filled(said.append)

        assert loads.load_all() == load._RUNS
    assert 1500 <= loads.rows <= 2000
    assert "spans, 0 %" in said


@pytest.mark.parametrize("options", [(), ("--plain",)], ids=["recorded", "plain"])
def test_the_agent_exports_its_steps_with_and_without_the_recorder(options: tuple[str, ...]) -> None:
    with sink() as taken:
        recorder._run(taken, 3, *options)()

        spans = [span for body in taken.bodies for span in decode("traces", body, "protobuf", "default").spans]
    said = [span.attributes.get("gen_ai.operation.name") for span in spans]
    assert (said.count("chat"), said.count("execute_tool")) == (3, 2)


def test_an_agent_of_the_bench_exports_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://elsewhere.invalid")

    told = environment("http://127.0.0.1:1")

    assert not [value for value in told.values() if "elsewhere" in value]
    assert told["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://127.0.0.1:1"
    assert told["PATH"] == os.environ["PATH"]


def test_without_a_browser_the_row_of_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "chromium", lambda: None)

    row = pages._ready(pages._run(2, "old"), pages._run(2, "new"), rounds=1).document()

    assert row["detail"] == "skipped: no chromium"
    assert harness.was_skipped(row)
    assert harness.shown(row) == "skipped"


@pytest.mark.skipif(browser.chromium() is None, reason="no Chromium")
def test_a_browser_says_how_long_each_page_took_in_each_round() -> None:
    path = browser.chromium()
    assert path is not None

    times = browser.ready_ms(path, {"one": "<p>one</p>", "other": "<p>other</p>"}, 3)

    assert {name: len(found) for name, found in times.items()} == {"one": 3, "other": 3}
    assert all(time_ms > 0 for found in times.values() for time_ms in found)
