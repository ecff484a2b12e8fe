import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from json_schema import errors
from runreel.runs.document import replays_document, run_document
from runreel.runs.schema import render, schema
from runreel.runs.scores import flag_event
from runreel.semconv.registry import FIELDS
from runreel.values import Run
from span_kit import CAPTURES, capture, runs_of

FILE = Path(__file__).resolve().parents[2] / "docs" / "run.schema.json"
NAMES = sorted(str(path.relative_to(CAPTURES)) for path in CAPTURES.glob("*/*"))


def document(run: Run) -> Any:
    return json.loads(json.dumps(run_document(run, payloads=True)))


def test_the_file_is_what_the_registry_says() -> None:
    command = [sys.executable, "-m", "runreel.runs.schema"]

    written = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert written == render()
    assert FILE.read_text(encoding="utf-8") == render(), "run: python -m runreel.runs.schema > docs/run.schema.json"


@pytest.mark.parametrize("name", NAMES)
def test_the_document_of_every_captured_run_fits_the_schema(name: str) -> None:
    for run in runs_of(*capture(name)):
        assert list(errors(schema(), document(run))) == []


def test_every_key_of_a_document_and_of_its_steps_is_in_the_schema() -> None:
    spans, _ = capture("otel-genai-openai/content-span")
    event = flag_event("default", spans[0].key.trace_id, spans[0].key.trace_id, "why", 1)
    (run,) = runs_of(spans, [event])
    found, shape = document(run) | replays_document([]), schema()

    assert set(found) == set(shape["properties"])
    for step in found["steps"]:
        wanted = shape["$defs"][f"step_{step['kind']}"]["properties"]
        assert set(step) == set(wanted)
        assert set(step["fields"]) <= set(wanted["fields"]["properties"])


def test_every_field_of_the_registry_has_its_place() -> None:
    text = render()

    assert [one.key for one in FIELDS if not one.payload and one.kind != "run" and f'"{one.doc}"' not in text] == [
        "agent.name",
        "tool.name",
        "tool.call_id",
        "retrieval.name",
        "decision.name",
        "memory.name",
    ]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("outcome",), "fine"),
        (("trace_ids",), ["0"]),
        (("steps", 0, "seq"), -1),
        (("steps", 1, "fields", "usage", "input_tokens"), "5"),
        (("steps", 1, "refs", "input", "ref"), "md5:1"),
        (("steps", 0, "kind"), "other"),
        (("gaps",), [{"step": 0}]),
    ],
)
def test_what_is_no_run_document_does_not_fit(path: tuple[Any, ...], value: object) -> None:
    (run,) = runs_of(*capture("otel-genai-openai/content-span"))
    broken = found = document(run)
    for key in path[:-1]:
        found = found[key]
    found[path[-1]] = value

    assert list(errors(schema(), broken)) != []
