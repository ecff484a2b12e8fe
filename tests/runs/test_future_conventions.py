"""What nobody has seen yet, a scope, a key, a later convention, is a run with what is known of it, and is said."""

import json
from collections.abc import Callable
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from runreel.cli import checks, doctor, show
from runreel.collector.unusual import Services, unusual
from runreel.exporters.memory import Memory
from runreel.runs.document import summarise
from runreel.runs.load import StoreRuns
from runreel.storage import RunQuery
from runreel.values import LogEvent, RawBatch, Scope, Span, Value
from span_kit import capture
from store_kit import Clock, split

Change = Callable[[Span], Span]


def attributes(**changes: Callable[[Value], Value]) -> Change:
    """Change attributes, by their name with `__` for a dot. A value that becomes None goes."""
    named = {key.replace("__", "."): change for key, change in changes.items()}

    def change(span: Span) -> Span:
        found = {key: named[key](value) if key in named else value for key, value in span.attributes.items()}
        return replace(span, attributes={key: value for key, value in found.items() if value is not None})

    return change


def with_messages(edit: Callable[[list[dict[str, object]]], None]) -> Callable[[Value], Value]:
    def change(value: Value) -> Value:
        messages = json.loads(str(value))
        edit(messages)
        return json.dumps(messages)

    return change


def hologram(messages: list[dict[str, object]]) -> None:
    messages[0]["parts"] = [*messages[0]["parts"], {"type": "hologram", "frames": 3}]  # type: ignore[misc]


def narrated(messages: list[dict[str, object]]) -> None:
    messages.insert(0, {"role": "narrator", "parts": [{"type": "text", "content": "Once"}]})


def scope(name: str = "", url: str = "") -> Change:
    def change(span: Span) -> Span:
        old = span.scope
        return replace(span, scope=Scope(name or old.name, old.version, schema_url=url or old.schema_url))

    return change


def also(key: str, value: Value) -> Change:
    return lambda span: replace(span, attributes={**span.attributes, key: value})


def renamed(value: Value) -> Value:
    return "converse" if value == "chat" else value


def gone(_: Value) -> Value:
    return None


LATER = "https://opentelemetry.io/schemas/gen-ai/2.3.0"
WITHOUT_MODEL = attributes(
    gen_ai__operation__name=renamed, gen_ai__request__model=gone, gen_ai__response__model=gone, server__address=gone
)
CASES: dict[str, tuple[Change, str, int, str]] = {
    "a scope": (scope(name="acme.agents"), "unknown_scope", 7, ""),
    "a key": (also("gen_ai.request.mood", "calm"), "unknown_key", 7, "key gen_ai.request.mood"),
    "an operation": (attributes(gen_ai__operation__name=renamed), "unknown_operation", 3, "operation converse"),
    "an operation, without a model": (WITHOUT_MODEL, "unknown_operation", 3, "operation converse"),
    "a part": (attributes(gen_ai__output__messages=with_messages(hologram)), "unknown_part", 3, "part hologram"),
    "a role": (attributes(gen_ai__input__messages=with_messages(narrated)), "unknown_role", 3, "role narrator"),
    "a schema": (scope(url=LATER), "newer_schema", 7, f"schema {LATER}"),
}


def arrived(change: Change, logs: tuple[LogEvent, ...] = ()) -> tuple[StoreRuns, dict[tuple[str, str], int]]:
    """Take in the weather run, each span changed; return what the store holds, and what was counted."""
    spans, _ = capture("otel-genai-openai/content-span")
    batch = split(RawBatch("default", tuple(map(change, spans)), logs))
    memory = Memory(Clock())
    memory.export(batch)
    return StoreRuns(memory, memory, clock=Clock()), dict(unusual(batch, Services()))


@pytest.mark.parametrize("name", CASES)
def test_what_nobody_has_seen_yet_is_a_run_with_what_is_known_and_is_counted(name: str) -> None:
    change, counted, times, said = CASES[name]

    store, counts = arrived(change)
    (summary,) = store.runs(RunQuery())
    run = store.run("default", summary.run_id)

    found = summarise(run)
    assert (found.model_calls, found.tool_calls, run.replayable) == (3, 3, "full")
    assert counts["weather-agent", counted] == times
    assert {one for step in run.steps for one in step.fields.get("unknown", ())} == ({said} - {""})  # type: ignore[attr-defined]
    calls = [step for step in run.steps if step.kind == "llm"]
    assert all(step.output.state == "whole" and step.fields["usage"] for step in calls)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][3]])
def test_the_run_and_the_doctor_say_it(name: str) -> None:
    change, _, _, said = CASES[name]
    store, _ = arrived(change)
    (summary,) = store.runs(RunQuery())
    out = StringIO()
    console = Console(file=out, width=120, highlight=False)

    show.tree(console, store.run("default", summary.run_id))
    seen = checks.look(store, 20)
    doctor._print(console, [], seen)

    shown, told = out.getvalue().split("dialects\n")
    assert "not known here, and kept as it came\n" in shown
    assert shown.count(f" {said}\n") == 1
    assert f"  {said} (" in told
    assert doctor._document([], seen)["unknown"][0]["what"] == said


def test_parts_and_roles_that_nobody_has_seen_yet_are_kept_as_they_came() -> None:
    both = attributes(gen_ai__output__messages=with_messages(hologram), gen_ai__input__messages=with_messages(narrated))
    store, _ = arrived(both)
    (summary,) = store.runs(RunQuery())
    run = store.run("default", summary.run_id)

    call = next(step for step in run.steps if step.kind == "llm")
    asked, answered = run.value(call.input), run.value(call.output)
    assert isinstance(asked, tuple)
    assert isinstance(answered, tuple)
    assert {"role": "narrator", "parts": ({"type": "text", "content": "Once"},)} in asked
    assert {"type": "hologram", "frames": 3} in answered[0]["parts"]  # type: ignore[index,call-overload,operator]


def test_nothing_that_a_sender_wrote_is_a_label() -> None:
    texts = ("acme", "mood", "converse", "hologram", "narrator", "schemas")

    for change, *_ in CASES.values():
        _, counts = arrived(change)
        assert not [label for label in counts if any(text in str(label) for text in texts)]


def test_spans_that_look_like_steps_and_are_none_known_here_are_said_on_the_run() -> None:
    def change(span: Span) -> Span:
        if span.attributes.get("gen_ai.operation.name") != "execute_tool":
            return span
        return replace(span, attributes={"acme.llm.doing": "tool"}, scope=Scope("acme"))

    def musing(span: Span) -> Span:
        return replace(span, attributes={"gen_ai.operation.name": "muse"}) if span.parent_id is None else span

    store, counts = arrived(lambda span: musing(change(span)))
    (summary,) = store.runs(RunQuery())
    run = store.run("default", summary.run_id)
    out = StringIO()
    show.tree(Console(file=out, width=120, highlight=False), run)

    assert [note.partition(" of ")[0] for note in run.notes] == ["unknown_dialect: 3", "unknown_operation: 1"]
    assert sum(counts.values()) - 4 == sum(times for (_, what), times in counts.items() if what == "unknown_scope")
    assert out.getvalue().count("  note: unknown_") == 2
