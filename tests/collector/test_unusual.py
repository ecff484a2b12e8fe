from dataclasses import replace

from runreel.canonical import make_ref, payload_marker
from runreel.collector.unusual import Services, unusual
from runreel.values import Facts, Resource, SpanRow, SplitBatch
from span_kit import make_log, make_span


def counts(*spans, logs=(), services=None):
    rows = tuple(SpanRow(span, Facts()) for span in spans)
    return dict(unusual(SplitBatch("default", rows=rows, logs=logs), services or Services()))


def test_marks_are_counted_by_service_each_once_an_item():
    one = make_span(marks=("cut_value", "utf8_repaired"), resource={"service.name": "a"})
    two = make_span(marks=("cut_value",), resource={"service.name": "b"}, span_id="00000000000000b2")
    log = replace(make_log({}, marks=("duplicate_key",)), resource=Resource({"service.name": "a"}), dropped=3)

    assert counts(one, two, logs=(log,)) == {
        ("a", "cut_value"): 1,
        ("a", "utf8_repaired"): 1,
        ("b", "cut_value"): 1,
        ("a", "duplicate_key"): 1,
        ("a", "dropped_attributes"): 1,
    }


def test_marks_that_name_a_place_are_counted_without_it():
    marks = ("withheld:/attributes/a:redaction_failed", "withheld:/attributes/b:redaction_failed", "time:no_end")

    assert counts(make_span(marks=marks)) == {("case", "withheld"): 1, ("case", "time:no_end"): 1}


def test_the_name_of_the_key_that_made_the_tokens_is_nothing_unusual():
    assert counts(make_span(marks=("key:ba6512bcb6e5f872", "cut_value"))) == {("case", "cut_value"): 1}


def test_a_step_by_its_keys_alone_of_a_scope_that_nobody_knows_is_counted_and_structure_is_not():
    def row(kind, dialect, scope):
        return SpanRow(make_span(scope=scope), Facts(kind, "gen_ai.operation.name", dialect))

    rows = (row("llm", "otel", "acme"), row("llm", "otel", "opentelemetry.instrumentation.genai.openai"))
    rows += (
        row("other", "structural", "acme"),
        row("llm", "openinference", "acme"),
        row("tool", "otel", "runreel.record"),
    )

    assert dict(unusual(SplitBatch("default", rows=rows), Services())) == {("case", "unknown_scope"): 1}


def test_two_spans_with_one_id_are_a_clash_and_a_span_seen_twice_is_none():
    span = make_span(end_ns=0)
    finished, other = replace(span, end_ns=span.start_ns + 1), replace(span, name="another")

    assert counts(span, finished, span) == {}
    assert counts(span, other) == {("case", "id_clash"): 1}


def test_a_service_without_a_name_has_one_and_so_has_a_name_that_is_a_payload():
    long = payload_marker(make_ref("x" * 300))
    spans = [make_span(marks=("cut_value",), resource=resource) for resource in ({}, {"service.name": long})]

    assert counts(*spans) == {("unknown", "cut_value"): 2}


def test_a_name_is_one_short_line_without_what_separates_labels():
    services = Services()

    assert services.name(Resource({"service.name": "a{b=c},d\n\x1b[31m"})) == "a_b_c__d \\x1b[31m"
    assert len(services.name(Resource({"service.name": "x" * 1000}))) == 64


def test_services_beyond_a_hundred_are_one():
    services = Services()
    names = {services.name(Resource({"service.name": f"s{number}"})) for number in range(1000)}

    assert len(names) == 101
    assert "other" in names
    assert services.name(Resource({"service.name": "s0"})) == "s0"
