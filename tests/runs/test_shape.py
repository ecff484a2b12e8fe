"""What a file claims to be spans, log events and payloads."""

from dataclasses import replace
from typing import Any

import pytest

from runreel.runs.shape import check_log, check_payload, check_span
from runreel.values import Dropped, Event, Link, LogEvent, Payload, Ref, Resource, Scope, Span, SpanKey

TRACE, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "00000000000000a0"
SPAN = Span(
    SpanKey("default", TRACE, SPAN_ID, "c"),
    SPAN_ID,
    "chat",
    1,
    2**64 - 1,
    attributes={"any": ({"thing": (1, None, b"x")},)},
    events=(Event("e", 3),),
    links=(Link(TRACE, ""),),
    marks=("utf8_repaired",),
)
LOG = LogEvent("default", "", "", body={"a": 1})


def test_what_otlp_can_send_passes() -> None:
    assert check_span(SPAN) is SPAN
    assert check_span(replace(SPAN, parent_id=None)).parent_id is None
    assert check_log(LOG) is LOG
    assert check_log(replace(LOG, trace_id=TRACE, span_id=SPAN_ID)).trace_id == TRACE


@pytest.mark.parametrize(
    "changes",
    [
        {"name": None},
        {"key": SpanKey("default", TRACE.upper(), SPAN_ID)},
        {"key": SpanKey("default", TRACE, "")},
        {"parent_id": "b"},
        {"start_ns": 1.0},
        {"end_ns": 2**64},
        {"attributes": ()},
        {"events": [Event("e")]},
        {"events": (Event("e", -1),)},
        {"links": (Link("0", ""),)},
        {"scope": Scope(version=1)},  # type: ignore[arg-type]
        {"resource": Resource(attributes=None)},  # type: ignore[arg-type]
        {"dropped": Dropped(links="x")},  # type: ignore[arg-type]
        {"marks": "utf8_repaired"},
    ],
    ids=str,
)
def test_what_otlp_cannot_send_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        check_span(replace(SPAN, **changes))


@pytest.mark.parametrize("changes", [{"trace_id": "x"}, {"observed_ns": -1}, {"severity_text": 7}, {"attributes": 7}])
def test_what_no_log_record_is_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        check_log(replace(LOG, **changes))


def test_a_payload_has_a_text_and_the_names_of_parts() -> None:
    payload = Payload("default", Ref("aa", 2, "whole"), "{}", ("bb",))
    assert check_payload(payload) is payload
    with pytest.raises(TypeError, match=r"Payload\.skeleton has another type"):
        check_payload(replace(payload, skeleton=7))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"Ref\.size has another type"):
        check_payload(replace(payload, ref=replace(payload.ref, size="2")))  # type: ignore[arg-type]


def test_the_error_names_the_field_and_not_what_it_holds() -> None:
    with pytest.raises(TypeError, match=r"^Span\.marks has another type$"):
        check_span(replace(SPAN, marks=("ok", 5)))  # type: ignore[arg-type]
