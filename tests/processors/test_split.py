"""Split batches hold everything once, and give the spans back whole."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonical_values import VALUES
from otlp_build import ROOT, agent, llm, log, logs_req, msg, otlp_json, req, tool
from runreel import otlp
from runreel.canonical import dumps, payload_ref
from runreel.errors import CorruptError
from runreel.processors.split import Split, join_log, join_row
from runreel.values import (
    CleanBatch,
    Dropped,
    Event,
    Facts,
    Link,
    LogEvent,
    Rejection,
    Resource,
    Scope,
    Span,
    SpanKey,
    SplitBatch,
    Value,
)

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
LONG = "A long text about nothing in particular. " * 10
SPAN = Span(SpanKey("acme", "0a" * 16, "0b" * 8), None, "x", 1, 2)
LOG = LogEvent("acme", "0a" * 16, "0b" * 8, "e", 1, 2)


def clean(*spans: Span, logs: tuple[LogEvent, ...] = ()) -> CleanBatch:
    return CleanBatch("acme", spans, logs)


def joined(batch: SplitBatch) -> tuple[list[Span], list[LogEvent]]:
    payloads = {payload.ref.sha256: payload.skeleton for payload in batch.payloads}
    parts = {part.sha256: part.data for part in batch.parts}
    return (
        [join_row(row, payloads.__getitem__, parts.__getitem__) for row in batch.rows],
        [join_log(one, payloads.__getitem__, parts.__getitem__) for one in batch.logs],
    )


def copy_of(item: Span | LogEvent, threshold: int = 256) -> str:
    if isinstance(item, Span):
        return Split(threshold).process(clean(item)).rows[0].span.key.copy
    return Split(threshold).process(clean(logs=(item,))).logs[0].copy


@pytest.mark.parametrize("path", sorted(CAPTURES.rglob("0*-*s.json")), ids=lambda path: "/".join(path.parts[-3:]))
def test_captures_come_back_whole(path: Path) -> None:
    found = otlp.sniff(path.read_bytes())
    assert found is not None
    raw = otlp.decode(found[0], path.read_bytes(), found[1], "acme")

    batch = Split().process(clean(*raw.spans, logs=raw.logs))

    spans, logs = joined(batch)
    assert repr([replace(span, key=replace(span.key, copy="")) for span in spans]) == repr(list(raw.spans))
    assert repr([replace(one, copy="") for one in logs]) == repr(list(raw.logs))
    assert all(len(span.key.copy) == 32 for span in spans)
    assert all(len(one.copy) == 32 for one in logs)
    assert all(set(payload.parts) <= {part.sha256 for part in batch.parts} for payload in batch.payloads)


@given(VALUES, st.sampled_from([1, 8, 256]))
def test_any_value_comes_back_from_any_place(value: Value, threshold: int) -> None:
    span = replace(SPAN, attributes={"k": value, "t": (value,)}, events=(Event("e", 1, {"k": value}),))
    one = replace(LOG, body=value, attributes={"k": value})

    (back,), (log_back,) = joined(Split(threshold).process(clean(span, logs=(one,))))

    assert dumps(back.attributes) == dumps(span.attributes)
    assert dumps(back.events[0].attributes) == dumps(span.events[0].attributes)
    assert dumps(log_back.body) == dumps(value)
    assert dumps(log_back.attributes) == dumps(one.attributes)


def test_heavy_values_leave_a_marker_and_light_ones_stay() -> None:
    span = replace(
        SPAN,
        attributes={
            "text": LONG,
            "list": tuple(range(100)),
            "light": "short",
            "n": 5,
            "edge": "x" * 254,
            "below": "x" * 253,
        },
        events=(Event("e", 1, {"text": LONG, "light": True}),),
    )

    batch = Split().process(clean(span, logs=(replace(LOG, body={"text": LONG}),)))

    row = batch.rows[0].span
    assert {key for key, value in row.attributes.items() if payload_ref(value)} == {"text", "list", "edge"}
    assert row.attributes["light"] == "short"
    assert row.events[0].attributes == {"text": row.attributes["text"], "light": True}
    assert payload_ref(batch.logs[0].body)


def test_what_recurs_is_listed_once() -> None:
    history = [msg("user", LONG), msg("assistant", "short")]
    spans = otlp.decode(
        "traces",
        req(
            llm("00000000000000b1", ROOT, history[:1], history[1:]),
            llm("00000000000000b2", ROOT, [*history, msg("user", LONG + "more")], history[1:]),
            tool("00000000000000c1", ROOT, "read", {}, LONG),
            tool("00000000000000c2", ROOT, "read", {}, LONG),
        ).SerializeToString(),
        "protobuf",
        "acme",
    ).spans

    batch = Split().process(clean(*spans))

    assert sorted(part.data for part in batch.parts) == [LONG.encode(), (LONG + "more").encode()]
    assert len(batch.payloads) == 3
    assert {part.tenant for part in batch.parts} == {payload.tenant for payload in batch.payloads} == {"acme"}


def test_a_senders_marker_is_not_taken_for_one_of_ours() -> None:
    marker = Split().process(clean(replace(SPAN, attributes={"text": LONG}))).rows[0].span.attributes["text"]
    span = replace(SPAN, attributes={"own": marker, "text": LONG, "escape": "\ue000e:x", "nested": (marker,)})

    (back,), _ = joined(Split().process(clean(span)))

    assert back.attributes == span.attributes


def test_facts_and_rejections_go_along() -> None:
    batch = CleanBatch("acme", (SPAN,), facts=(Facts(kind="llm"),), rejected=(Rejection("span", "invalid_id"),))

    split = Split().process(batch)

    assert split.rows[0].facts == Facts(kind="llm")
    assert split.rejected == batch.rejected
    assert Split().process(clean(SPAN)).rows[0].facts == Facts()


def test_facts_that_are_not_parallel_are_refused() -> None:
    with pytest.raises(ValueError):
        Split().process(CleanBatch("acme", (SPAN, SPAN), facts=(Facts(),)))


def test_every_way_in_gives_the_same_copy() -> None:
    request = req(agent(), llm("00000000000000b1", ROOT, [msg("user", LONG)], [msg("assistant", "ok")]))
    logs = logs_req(log("e", "00000000000000b1", body={"messages": [msg("user", LONG)]}, attrs={"n": 1}))
    for signal, message in (("traces", request), ("logs", logs)):
        binary = otlp.decode(signal, message.SerializeToString(), "protobuf", "acme")
        text = otlp.decode(signal, json.dumps(otlp_json(message)).encode(), "json", "acme")

        assert Split().process(clean(*binary.spans, logs=binary.logs)) == Split().process(
            clean(*text.spans, logs=text.logs)
        )


CHANGES: dict[str, object] = {
    "parent_id": "0c" * 8,
    "name": "y",
    "start_ns": 5,
    "end_ns": 5,
    "status": 2,
    "message": "m",
    "scope": Scope("s"),
    "resource": Resource({"a": 1}),
    "attributes": {"a": 1},
    "events": (Event("e"),),
    "links": (Link("0a" * 16, "0b" * 8),),
    "dropped": Dropped(1),
    "kind": 3,
    "trace_state": "t",
    "flags": 1,
}
LOG_CHANGES: dict[str, object] = {
    "trace_id": "",
    "span_id": "",
    "event_name": "f",
    "time_ns": 5,
    "observed_ns": 5,
    "severity": 9,
    "severity_text": "INFO",
    "body": "b",
    "attributes": {"a": 1},
    "resource": Resource({"a": 1}),
    "scope": Scope("s"),
    "dropped": 1,
    "flags": 1,
}


@pytest.mark.parametrize("field", CHANGES)
def test_a_copy_is_made_of_everything_about_a_span(field: str) -> None:
    assert copy_of(replace(SPAN, **{field: CHANGES[field]})) != copy_of(SPAN)


@pytest.mark.parametrize("field", LOG_CHANGES)
def test_a_copy_is_made_of_everything_about_a_log_event(field: str) -> None:
    assert copy_of(replace(LOG, **{field: LOG_CHANGES[field]})) != copy_of(LOG)


def test_no_field_is_forgotten() -> None:
    assert {one.name for one in fields(Span)} - CHANGES.keys() == {"key", "marks"}
    assert {one.name for one in fields(LogEvent)} - LOG_CHANGES.keys() == {"tenant", "marks", "copy"}


@pytest.mark.parametrize(
    "attributes",
    [
        {"text": LONG + "!"},
        {"text": LONG[:-1]},
        {"text": (LONG,)},
        {"list": tuple(range(100)), "text": LONG},
    ],
)
def test_a_copy_knows_heavy_values(attributes: dict[str, Value]) -> None:
    assert copy_of(replace(SPAN, attributes=attributes)) != copy_of(replace(SPAN, attributes={"text": LONG}))


def test_a_copy_tells_a_value_from_its_marker() -> None:
    span = replace(SPAN, attributes={"text": LONG})
    marker = Split().process(clean(span)).rows[0].span.attributes["text"]

    assert copy_of(replace(SPAN, attributes={"text": marker})) != copy_of(span)


def test_parts_of_a_shared_origin_are_told_apart() -> None:
    named = replace(SPAN, scope=Scope("a", "1"), resource=Resource({"k": "v"}, "u", 1))
    variants = [
        named,
        replace(named, scope=Scope("a", "2")),
        replace(named, scope=Scope("a", "1", {"k": 1})),
        replace(named, scope=Scope("a", "1", schema_url="u")),
        replace(named, scope=Scope("a", "1", dropped=1)),
        replace(named, resource=Resource({"k": "v"}, "u", 2)),
        replace(named, resource=Resource({"k": "v"}, "w", 1)),
        replace(named, events=(Event("e", 1),)),
        replace(named, events=(Event("e", 2),)),
        replace(named, events=(Event("e", 1, {"a": 1}),)),
        replace(named, events=(Event("e", 1, {}, 1),)),
        replace(named, links=(Link("", ""),)),
        replace(named, links=(Link("", "", "a"),)),
        replace(named, links=(Link("", "", "", {"a": 1}),)),
        replace(named, links=(Link("", "", dropped=1),)),
        replace(named, links=(Link("", "", flags=1),)),
    ]

    assert len({copy_of(variant) for variant in variants}) == len(variants)


def test_a_copy_depends_on_no_threshold_tenant_or_mark() -> None:
    span = replace(SPAN, attributes={"text": LONG, "more": "x" * 300, "list": (LONG,), "light": "y"})
    other = replace(span, key=SpanKey("other", SPAN.key.trace_id, SPAN.key.span_id, "old"), marks=("utf8_repaired",))

    assert {copy_of(span, threshold) for threshold in (1, 64, 256, 400, 10_000)} == {copy_of(span)}
    assert copy_of(other) == copy_of(span)


def test_a_part_that_was_changed_is_noticed() -> None:
    batch = Split().process(clean(replace(SPAN, attributes={"text": LONG})))
    payloads = {payload.ref.sha256: payload.skeleton for payload in batch.payloads}

    with pytest.raises(CorruptError):
        join_row(batch.rows[0], payloads.__getitem__, lambda _: b"something else")


def test_a_threshold_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Split(0)
