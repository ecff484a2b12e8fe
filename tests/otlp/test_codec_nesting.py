"""Values that nest deeply: up to the limit they are taken, beyond it a span is rejected alone."""

from typing import Any

import pytest

from codec_kit import both, deep
from otlp_build import ROOT, agent, req, span
from runreel import otlp
from runreel.errors import DecodeError
from runreel.otlp.wire import to_varint


def test_values_nest_up_to_the_limit_and_beyond_it_a_span_is_rejected_alone() -> None:
    good = span("x", "00000000000000c1", attrs={"deep": deep(otlp.MAX_DEPTH)})
    bad = span("y", "00000000000000c2", attrs={"deep": deep(otlp.MAX_DEPTH + 1)})

    for batch in both(req(good, bad, agent())):
        assert [item.name for item in batch.spans] == ["x", "invoke_agent demo"]
        assert [item.reason for item in batch.rejected] == ["too_deep"]


def test_maps_alone_nest_up_to_the_limit() -> None:
    value: Any = "end"
    for _ in range(otlp.MAX_DEPTH):
        value = {"k": value}

    for batch in both(req(span("x", "00000000000000c1", attrs={"deep": value}))):
        assert len(batch.spans) == 1


def field(number: int, content: bytes) -> bytes:
    """One length-delimited field on the wire, for what the official library refuses to build."""
    return to_varint(number << 3 | 2) + to_varint(len(content)) + content


def deep_pair(levels: int) -> bytes:
    value = field(1, b"end")  # AnyValue.string_value
    for _ in range(levels):
        value = field(5, field(1, value))  # AnyValue.array_value, ArrayValue.values
    return field(1, b"deep") + field(2, value)


@pytest.mark.parametrize("levels", [49, 120])
def test_a_resource_nested_beyond_what_parsers_take_refuses_the_request(levels: int) -> None:
    resource = field(1, field(1, deep_pair(levels)))

    with pytest.raises(DecodeError, match=r"nested|not a protobuf ExportTraceServiceRequest"):
        otlp.decode("traces", field(1, resource), "protobuf", "default")


def test_nesting_that_no_parser_takes_is_rejected_alone() -> None:
    deep = agent("00000000000000c2").SerializeToString() + field(9, deep_pair(120))
    fine = agent().SerializeToString() + to_varint(1000 << 3) + to_varint(1)  # and a field from the future
    scoped = field(2, deep) + field(2, fine) + to_varint(7 << 3) + to_varint(1)

    batch = otlp.decode("traces", field(1, field(2, scoped)), "protobuf", "default")

    assert [item.key.span_id for item in batch.spans] == [ROOT]
    assert [item.reason for item in batch.rejected] == ["too_deep"]
