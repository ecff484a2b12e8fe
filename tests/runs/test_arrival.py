"""However a run arrives, it is the same run: in any order, in any pieces, logs before spans, everything twice."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otlp_build import ROOT, T0, agent, llm, msg
from runreel.canonical import freeze
from runreel.exporters.memory import Memory
from runreel.runs.load import StoreRuns
from runreel.runs.scores import EVALUATION
from runreel.semconv.view import DETAILS_EVENT
from runreel.storage import RunQuery
from runreel.values import Event, LogEvent, RawBatch, Run, Span, Value
from span_kit import CAPTURES, SAMPLES, capture, make_log, make_span, of_kind, runs_of, sample, spans_of
from store_kit import Clock, split

NAMES = [
    *sorted(str(path.relative_to(CAPTURES)) for path in CAPTURES.glob("*/*")),
    *sorted(
        str(path.relative_to(SAMPLES.parent)).removesuffix(".traces.json") for path in SAMPLES.rglob("*.traces.json")
    ),
]


@cache
def _capture(name: str) -> tuple[tuple[Span, ...], tuple[LogEvent, ...]]:
    return sample(name.partition("/")[2]) if name.startswith("samples/") else capture(name)


def stored_runs(batches: Sequence[RawBatch]) -> dict[str, Run]:
    """What a store holds once the batches came in this order: every run by its id, whole."""
    memory = Memory(Clock())
    for batch in batches:
        memory.export(split(batch))
    runs = StoreRuns(memory, memory, clock=Clock())
    return {one.run_id: runs.run("default", one.run_id) for one in runs.runs(RunQuery(replays=True, limit=0))}


def singly(spans: Sequence[Span], logs: Sequence[LogEvent]) -> list[RawBatch]:
    return [
        *(RawBatch("default", logs=(log,)) for log in logs),
        *(RawBatch("default", (span,)) for span in spans),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_in_single_requests_shuffled_logs_first_and_twice_is_the_same_run(name: str) -> None:
    spans, logs = map(list, _capture(name))
    whole = stored_runs([RawBatch("default", tuple(spans), tuple(logs))])
    shuffle = random.Random(name)
    shuffle.shuffle(spans)
    shuffle.shuffle(logs)

    pieces = singly(spans, logs)
    again = list(pieces)
    shuffle.shuffle(again)

    assert stored_runs(pieces + again) == whole
    assert stored_runs([*reversed(pieces)]) == whole


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NAMES), st.randoms(use_true_random=False), st.integers(1, 5))
def test_a_capture_in_any_order_and_any_pieces_is_the_same_run(name: str, chance: random.Random, pieces: int) -> None:
    spans, logs = map(list, _capture(name))
    expected = runs_of(spans, logs)
    spans += chance.sample(spans, len(spans) // pieces)
    logs += chance.sample(logs, len(logs) // pieces)
    chance.shuffle(spans)
    chance.shuffle(logs)

    assert runs_of(spans, logs) == expected


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(NAMES), st.randoms(use_true_random=False))
def test_the_order_of_attributes_says_nothing(name: str, chance: random.Random) -> None:
    spans, logs = _capture(name)

    def mixed(span: Span) -> Span:
        items = list(span.attributes.items())
        chance.shuffle(items)
        return replace(span, attributes=dict(items))

    found = runs_of([mixed(span) for span in spans], logs)

    assert [(run.run_id, run.steps, run.gaps) for run in found] == [
        (run.run_id, run.steps, run.gaps) for run in runs_of(spans, logs)
    ]


def test_what_comes_late_makes_a_new_revision_and_the_same_again_does_not() -> None:
    spans, logs = _capture("otel-genai-openai/content-event")
    early = spans[:-1]

    revisions = [
        runs_of(*given)[0].revision for given in ((early, logs), (spans, ()), (spans, logs), (spans * 2, logs))
    ]

    assert len(set(revisions)) == 3
    assert revisions[2] == revisions[3]


def test_log_events_without_a_time_keep_the_order_they_were_observed_in() -> None:
    spans = spans_of(agent(), llm("00000000000000b1", ROOT, [msg("user", "q")], [msg("assistant", "a")]))
    logs = [
        make_log({"gen_ai.evaluation.name": name}, event_name=EVALUATION, time_ns=0, observed_ns=T0 + place)
        for place, name in enumerate("zyxa")
    ]

    for order in (logs, logs[::-1], [logs[2], logs[0], logs[3], logs[1]]):
        (run,) = runs_of(spans, order)

        assert [score["name"] for score in run.scores] == ["z", "y", "x", "a"]
        assert len(of_kind(run, "llm")) == 1


def test_messages_that_come_one_by_one_without_a_time_keep_the_order_they_were_observed_in() -> None:
    span = make_span({"gen_ai.system": "openai", "gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
    logs = [
        make_log({}, event_name=f"gen_ai.{role}.message", time_ns=0, observed_ns=T0 + place, body={"content": text})
        for place, (role, text) in enumerate((("system", "s"), ("user", "z"), ("assistant", "y"), ("user", "a")))
    ]

    for order in (logs, logs[::-1], [logs[3], logs[0], logs[2], logs[1]]):
        (run,) = runs_of([span], order)

        asked = run.value(run.steps[0].input)
        assert isinstance(asked, tuple)
        assert [one["parts"][0]["content"] for one in asked] == ["s", "z", "y", "a"]  # type: ignore[index,call-overload]


MESSAGES = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions")
CARRIED = (*MESSAGES, "gen_ai.tool.call.arguments")


def carried_otherwise(span: Span, chance: random.Random) -> tuple[Span, list[LogEvent]]:
    """A span with each of its contents carried as text, as structure, by an event or by a log event, keys mixed."""
    attributes: dict[str, Value] = {}
    events, logs = list(span.events), []
    for key, raw in span.attributes.items():
        if key not in CARRIED or not isinstance(raw, str):
            attributes[key] = raw
            continue
        value = shuffled(json.loads(raw), chance)
        form = freeze(value) if chance.random() < 0.5 else json.dumps(value, ensure_ascii=chance.random() < 0.5)
        place = chance.choice(("attribute", "event", "log"))
        if place == "attribute":
            attributes[key] = form
        elif place == "event":
            events.append(Event(DETAILS_EVENT, span.end_ns, {key: form}))
        else:
            ids = {"trace_id": span.key.trace_id, "time_ns": 0}
            logs.append(make_log({key: form}, span.key.span_id, **ids))
    return replace(span, attributes=attributes, events=tuple(events)), logs


def shuffled(value: object, chance: random.Random) -> object:
    if isinstance(value, list):
        return [shuffled(one, chance) for one in value]
    if not isinstance(value, dict):
        return value
    items = [(key, shuffled(one, chance)) for key, one in value.items()]
    chance.shuffle(items)
    return dict(items)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(
        ("otel-genai-openai/content-span", "otel-genai-openai/scenario-mixed", "langgraph/otel-genai-span")
    ),
    st.randoms(use_true_random=False),
)
def test_carrier_and_key_order_say_nothing(name: str, chance: random.Random) -> None:
    spans, _ = _capture(name)
    changed = [carried_otherwise(span, chance) for span in spans]

    def told(run: Run) -> object:
        steps = [(step.kind, step.name, step.call_id, step.after, step.input, step.output) for step in run.steps]
        return run.run_id, run.replayable, run.gaps, run.user_input, run.final_output, run.versions, steps

    found = runs_of([span for span, _ in changed], [log for _, logs in changed for log in logs])

    assert list(map(told, found)) == list(map(told, runs_of(spans)))
