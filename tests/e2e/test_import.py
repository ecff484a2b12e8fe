"""`runs import` of what real clients sent: how many runs, model calls and tool calls each capture is."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e_kit import CAPTURES, runreel, serving
from runreel import otlp

# What each capture of the scenario `weather` is: (model calls, tool calls) of each run, and whether it can be replayed.
FULL, LESS = "full", "less"
WEATHER = {
    "otel-genai-openai/content-both": ([(3, 3)], FULL),
    "otel-genai-openai/content-event": ([(3, 3)], FULL),
    "otel-genai-openai/content-off": ([(3, 3)], LESS),
    "otel-genai-openai/content-span": ([(3, 3)], FULL),
    "otel-genai-openai/content-true-is-invalid": ([(3, 3)], LESS),
    "otel-genai-openai/http-json": ([(3, 3)], FULL),
    "otel-genai-openai/multi-process": ([(2, 1), (4, 3)], FULL),
    "otel-genai-openai/retry-duplicate": ([(3, 3)], FULL),
    "otel-genai-openai/stream": ([(3, 3)], FULL),
    "otel-genai-openai/stream-abandoned": ([(1, 0)], FULL),
    "otel-genai-openai/truncated-200": ([(3, 3)], LESS),
    "otel-genai-openai/upload-hook": ([(3, 3)], LESS),
    "openinference-openai/content-off": ([(3, 3)], LESS),
    "openinference-openai/content-on": ([(3, 3)], FULL),
    "openinference-openai/count-limit-40": ([(3, 3)], LESS),
    "openinference-openai/stream": ([(3, 3)], FULL),
    "openinference-openai/stream-abandoned": ([(1, 0)], FULL),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder with the captures, imported straight into it; then a collector runs on it, and is asked."""
    folder = tmp_path_factory.mktemp("imported") / "home"
    runreel(folder, "runs", "import", *(CAPTURES / name for name in WEATHER))
    with serving(folder):
        yield folder


@pytest.fixture(scope="module")
def listed(home: Path) -> Mapping[str, dict[str, Any]]:
    """Every run by each of its trace ids."""
    runs = runreel(home, "runs", "ls", "--json", "--limit", 0).json()
    return {trace_id: run for run in runs for trace_id in run["trace_ids"]}


def traces(name: str) -> set[str]:
    """Return the trace ids in a capture."""
    ids = set()
    for file in [*(CAPTURES / name).glob("*-traces.bin"), *(CAPTURES / name).glob("*-traces.body")]:
        data = file.read_bytes()
        kind = otlp.sniff(data)
        assert kind is not None
        ids |= {span.key.trace_id for span in otlp.decode(kind[0], data, kind[1], "default").spans}
    return ids


@pytest.mark.parametrize("name", WEATHER)
def test_each_capture_is_its_runs_with_every_call_once(name: str, listed: Mapping[str, dict[str, Any]]) -> None:
    expected, replayable = WEATHER[name]

    found = {run["run_id"]: run for run in (listed[trace_id] for trace_id in traces(name))}

    assert sorted((run["model_calls"], run["tool_calls"]) for run in found.values()) == sorted(expected)
    assert {run["replayable"] == "full" for run in found.values()} == {replayable == FULL}
    assert not any(run["open"] for run in found.values())


def test_nothing_else_became_a_run(listed: Mapping[str, dict[str, Any]]) -> None:
    assert listed.keys() == set().union(*map(traces, WEATHER))


def test_the_two_runs_of_several_processes_are_linked(listed: Mapping[str, dict[str, Any]]) -> None:
    runs = {
        (run["model_calls"], run["tool_calls"]): run
        for run in map(listed.__getitem__, traces("otel-genai-openai/multi-process"))
    }

    assert runs[4, 3]["parent_run_id"] == runs[2, 1]["run_id"]
    assert runs[2, 1]["parent_run_id"] is None


@pytest.mark.parametrize("name", ["otel-genai-openai/stream-abandoned", "openinference-openai/stream-abandoned"])
def test_a_stream_that_was_left_is_interrupted(name: str, home: Path) -> None:
    (trace_id,) = traces(name)

    steps = runreel(home, "runs", "show", trace_id, "--json").json()["steps"]

    assert [step["status"] for step in steps if step["kind"] == "llm"] == ["interrupted"]


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("otel-genai-openai/content-off", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
        ("otel-genai-openai/content-true-is-invalid", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"),
        ("openinference-openai/content-off", "OPENINFERENCE_HIDE_INPUTS"),
        ("openinference-openai/content-off", "OPENINFERENCE_HIDE_OUTPUTS"),
        ("otel-genai-openai/truncated-200", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
        ("openinference-openai/count-limit-40", "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"),
    ],
)
def test_what_is_missing_is_named_with_the_setting_to_switch(name: str, setting: str, home: Path) -> None:
    (trace_id,) = traces(name)

    run = runreel(home, "runs", "show", trace_id, "--json").json()

    assert run["replayable"] != "full"
    assert any(setting in gap["fix"] for gap in run["gaps"])
    assert all(gap["field"] and gap["cause"] and gap["needed_for"] for gap in run["gaps"])
    assert setting in runreel(home, "runs", "show", trace_id).out


def test_importing_again_changes_nothing(home: Path, listed: Mapping[str, dict[str, Any]]) -> None:
    counts = runreel(home, "runs", "import", "--json", CAPTURES / "otel-genai-openai/retry-duplicate").json()

    again = {run["run_id"]: run for run in runreel(home, "runs", "ls", "--json", "--limit", 0).json()}
    assert again == {run["run_id"]: run for run in listed.values()}
    assert (counts["requests"], counts["spans"]) == (1, 7)
    assert counts["repeated"] == 3, "the same request, sent twice, each as protobuf and as JSON"
    assert counts["skipped"] > 0


def test_a_run_is_found_by_prefix_and_an_unknown_one_is_named(home: Path) -> None:
    (trace_id,) = traces("otel-genai-openai/content-span")

    assert runreel(home, "runs", "show", trace_id[:12], "--json").json()["run_id"] == trace_id
    missing = runreel(home, "runs", "show", "feedfacefeedface", code=1)
    assert "feedfacefeedface" in missing.err
    assert missing.out == ""
    assert "\n  File " not in missing.err


def test_a_reel_leads_to_the_same_run_elsewhere(home: Path, tmp_path: Path) -> None:
    (trace_id,) = traces("otel-genai-openai/content-both")
    reel = tmp_path / "run.reel"

    runreel(home, "runs", "export", trace_id, "--output", reel)
    runreel(tmp_path / "other", "runs", "import", reel)

    def shape(run: dict[str, Any]) -> list[object]:
        return [[step["kind"], step["name"], step["refs"], step["fields"]] for step in run["steps"]]

    there = runreel(tmp_path / "other", "runs", "show", trace_id, "--json").json()
    here = runreel(home, "runs", "show", trace_id, "--json").json()
    assert shape(there) == shape(here)
    assert there["replayable"] == "full"
    assert shape(runreel(tmp_path / "none", "runs", "show", reel, "--json").json()) == shape(here)


@pytest.mark.parametrize("format_", ["otlp", "otlp-json"])
def test_an_exported_run_is_otlp_that_can_be_imported(format_: str, home: Path, tmp_path: Path) -> None:
    (trace_id,) = traces("otel-genai-openai/content-span")
    file = tmp_path / "run"

    runreel(home, "runs", "export", trace_id, "--format", format_, "--output", file)
    runreel(tmp_path / "other", "runs", "import", file)

    there = runreel(tmp_path / "other", "runs", "ls", "--json").json()
    assert [(run["run_id"], run["model_calls"], run["tool_calls"]) for run in there] == [(trace_id, 3, 3)]


def test_json_goes_to_standard_output_on_request(home: Path) -> None:
    (trace_id,) = traces("otel-genai-openai/content-both")

    lines = runreel(home, "runs", "export", trace_id, "--format", "otlp-json", "--output", "-").out.splitlines()

    kinds = [otlp.sniff(line.encode()) for line in lines]
    assert kinds == [("traces", "json"), ("logs", "json")]


def test_a_model_call_is_shown_with_its_tokens(home: Path) -> None:
    (trace_id,) = traces("otel-genai-openai/content-span")

    shown = runreel(home, "runs", "show", trace_id).out

    assert "72 → 85 tokens" in shown
