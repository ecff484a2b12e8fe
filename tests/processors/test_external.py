"""Content that the sender stored elsewhere: had from under configured folders, from nowhere else, and redacted."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runreel.collector.settings import SchemaConfig
from runreel.components import PROCESSORS, Site
from runreel.processors.chain import Chain
from runreel.processors.external import REQUEST_BYTES, Fetched, fill_in
from runreel.processors.external_files import OBJECT_BYTES, BasePath, ExternalFiles
from runreel.processors.redact import Redactor, RedactSettings, load_key
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.runs.assemble import assemble
from runreel.values import RawBatch
from span_kit import CAPTURES, capture, make_event, make_log, make_span

HOOK = CAPTURES / "otel-genai-openai" / "upload-hook"
SENT = "file:///srv/lab/research/captures/otel-genai-openai/upload-hook.store"
KEY = "gen_ai.input.messages"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "good.json").write_text('["x"]')
    (tmp_path / "outside.json").write_text('["secret"]')
    return tmp_path / "base"


def fetch(base: Path, reference: str, limit: int = REQUEST_BYTES) -> Fetched:
    return ExternalFiles([BasePath("/sent", base), BasePath(str(base), base)])(reference, limit)


def test_a_real_upload_becomes_a_run_that_replays_in_full() -> None:
    spans, logs = capture("otel-genai-openai/upload-hook")

    batch = Schema(ExternalFiles([BasePath(SENT, HOOK / "store")])).process(RawBatch("default", spans, logs))
    run = assemble(batch.spans, batch.logs)

    assert run.replayable == "full"
    assert {step.input.state for step in run.steps if step.kind == "llm"} == {"whole"}
    assert run.steps[1].fields["tool_definitions"]
    assert all(span.attributes[f"{KEY}_ref"] for span in batch.spans if KEY in span.attributes)


def test_what_was_read_is_redacted_like_everything_else(tmp_path: Path) -> None:
    settings = SchemaConfig.model_validate({"external_base_paths": [{"from": SENT, "to": str(HOOK / "store")}]})
    schema = PROCESSORS["schema"](settings.model_dump(), Site(tmp_path))
    chain = Chain(schema, Redactor(load_key(tmp_path, "default"), RedactSettings()), Split())

    clean = chain.clean(RawBatch("default", *capture("otel-genai-openai/upload-hook")))

    text = "".join(str(span.attributes.get(KEY)) for span in clean.spans)
    assert "Compare the weather in Lisbon and Oslo" in text
    assert "<EMAIL_" in text
    assert "dana.fields" not in text


@pytest.mark.parametrize("reference", ["/sent/good.json", "file:///sent/good.json", "/sent//good.json"])
def test_a_file_below_a_base_path_is_read_however_it_is_spelled(base: Path, reference: str) -> None:
    assert fetch(base, reference) == Fetched('["x"]')


def test_a_folder_alone_and_links_inside_it_are_read(base: Path) -> None:
    (base / "inner").mkdir()
    (base / "inner" / "link.json").symlink_to(base / "good.json")

    assert fetch(base, f"{base}/inner/link.json") == Fetched('["x"]')


def test_json_lines_are_one_list(base: Path) -> None:
    (base / "lines.jsonl").write_text('{"a": 1}\n\n{"b": "\u2028"}\n', encoding="utf-8")

    assert json.loads(fetch(base, "/sent/lines.jsonl").text or "") == [{"a": 1}, {"b": "\u2028"}]


@pytest.mark.parametrize(
    "reference",
    [
        "/sent/../outside.json",
        "/sent/x/../../outside.json",
        "/sentinel/good.json",
        "/sent",
        "http://host/sent/good.json",
        "s3://sent/good.json",
        "good.json",
        "",
        "/etc/passwd",
        "file:///etc/passwd",
        "/sent/link.json",
        "/sent/folder/outside.json",
    ],
)
def test_nothing_outside_a_base_path_is_ever_read(base: Path, reference: str) -> None:
    (base / "x").mkdir()
    (base / "link.json").symlink_to("../outside.json")
    (base / "folder").symlink_to("..")

    assert fetch(base, reference) == Fetched(None, "outside")


def _pipe(base: Path) -> str:
    os.mkfifo(base / "pipe.json")
    return "/sent/pipe.json"


def _loop(base: Path) -> str:
    (base / "loop.json").symlink_to("loop.json")
    return "/sent/loop.json"


def _written(data: bytes) -> Callable[[Path], str]:
    def write(base: Path) -> str:
        (base / "f.json").write_bytes(data)
        return "/sent/f.json"

    return write


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda _: "/sent/later.json", "not_there"),
        (lambda _: "/sent/good.json/x", "not_there"),
        (lambda _: "/sent/\0", "unreadable"),
        (lambda _: "/sent/.", "unreadable"),
        (_pipe, "unreadable"),
        (_loop, "unreadable"),
        (_written(b'[{"role": "us'), "not_json"),
        (_written(b""), "not_json"),
        (_written(b'["\xff"]'), "not_json"),
        (_written(b"[" * 100_000), "not_json"),
        (_written(b'"' + b"x" * OBJECT_BYTES + b'"'), "too_large"),
    ],
)
def test_what_cannot_be_had_has_a_reason(base: Path, make: Callable[[Path], str], reason: str) -> None:
    assert fetch(base, make(base)) == Fetched(None, reason)


def test_a_base_path_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    assert fetch(tmp_path / "none", "/sent/x.json") == Fetched(None, "not_there")


def test_the_longest_base_path_decides(base: Path) -> None:
    other = base / "other"
    other.mkdir()
    (other / "good.json").write_text("[2]")

    files = ExternalFiles([BasePath("/sent", base), BasePath("/sent/deep", other)])

    assert files("/sent/deep/good.json", 100) == Fetched("[2]")


def test_an_object_that_is_not_there_yet_is_a_gap_that_names_it_and_comes_in_with_a_later_copy() -> None:
    spans, _ = capture("otel-genai-openai/upload-hook")
    missing = Schema(lambda *_: Fetched(None, "not_there")).process(RawBatch("default", spans)).spans
    there = Schema(ExternalFiles([BasePath(SENT, HOOK / "store")])).process(RawBatch("default", spans)).spans

    run, both = assemble(missing), assemble((*missing, *there))

    causes = [gap.cause for gap in run.gaps if gap.field == "input" and gap.step == 1]
    assert "was not there when the span came" in causes[0]
    assert "upload-hook.store/" in causes[0]
    assert (run.replayable, both.replayable) == ("none", "full")
    assert not any("clash" in note for note in both.notes)


def test_events_and_log_events_are_filled_in_and_marked_too() -> None:
    span = replace(make_span({"x": 1}), events=(make_event("e", **{f"{KEY.replace('.', '__')}_ref": "/a"}),))
    log = make_log({f"{KEY}_ref": "/b"})

    found = fill_in(
        RawBatch("default", (span,), (log,)),
        lambda reference, _: Fetched("[]") if reference == "/a" else Fetched(None, "outside"),
    )

    assert found.spans[0].events[0].attributes[KEY] == "[]"
    assert found.spans[0].marks == ()
    assert found.logs[0].marks == (f"external:{KEY}:outside",)


def test_what_is_there_already_and_what_is_no_reference_is_left_alone() -> None:
    spans = (make_span({KEY: "own", f"{KEY}_ref": "/a"}), make_span({f"{KEY}_ref": 7}), make_span({"acme_ref": "/a"}))

    assert fill_in(RawBatch("default", spans), lambda *_: Fetched("[]")).spans == spans


def test_one_request_cannot_bring_in_more_than_its_bound_by_naming_one_object_often() -> None:
    asked: list[str] = []

    def large(reference: str, limit: int) -> Fetched:
        asked.append(reference)
        return Fetched('"' + "x" * (REQUEST_BYTES // 3) + '"')

    spans = tuple(make_span({f"{KEY}_ref": "/a"}) for _ in range(5))
    found = fill_in(RawBatch("default", spans), large).spans

    assert [KEY in span.attributes for span in found] == [True, True, False, False, False]
    assert found[2].marks == (f"external:{KEY}:too_large",)
    assert asked == ["/a"]
