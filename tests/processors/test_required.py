"""Fields that spans must have: refused or marked without them, by tenant."""

import pytest

from runreel.collector.settings import SchemaConfig
from runreel.components import PROCESSORS, Site
from runreel.otlp import encode_response
from runreel.processors.required import OF_AGENTS, OF_EVERY_SPAN
from runreel.processors.schema import Schema
from runreel.values import RawBatch, Rejection
from span_kit import capture, make_span

AGENT = {"gen_ai.operation.name": "invoke_agent"}


def through(span, fields, tenant="default", of="*"):
    return Schema(required={of: fields}).process(RawBatch(tenant, (span,)))


@pytest.mark.parametrize("field", OF_EVERY_SPAN)
def test_a_span_without_a_required_field_is_refused_alone_with_its_name(field):
    good, bad = make_span(resource={field: "x"}), make_span(resource={}, span_id="00000000000000b2")

    batch = Schema(required={"*": {field: "reject"}}).process(RawBatch("default", (bad, good)))

    assert [span.key for span in batch.spans] == [good.key]
    assert len(batch.facts) == 1
    assert [rejection.reason for rejection in batch.rejected] == [f"missing_field:{field}"]
    assert f"missing_field:{field} x 1" in encode_response("traces", "json", batch.rejected).decode()


@pytest.mark.parametrize("value", ["", "  ", 7, None, "unknown_service", "unknown_service:python"])
def test_what_names_no_service_is_none(value):
    assert through(make_span(resource={"service.name": value}), {"service.name": "reject"}).spans == ()


def test_a_service_may_be_named_on_the_span():
    assert through(make_span({"service.name": "x"}, resource={}), {"service.name": "reject"}).rejected == ()


@pytest.mark.parametrize("field", OF_AGENTS)
def test_what_is_required_of_agents_is_looked_for_on_their_spans_only(field):
    policy = {field: "reject"}
    chat = make_span({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
    inner = make_span({"openinference.span.kind": "CHAIN"}, parent_id="00000000000000a1")

    assert through(chat, policy).rejected == through(inner, policy).rejected == ()
    assert through(make_span(AGENT | {field: "x"}, parent_id="00000000000000a1"), policy).rejected == ()
    assert through(make_span(AGENT, parent_id="00000000000000a1"), policy).rejected == (
        Rejection("span", f"missing_field:{field}", "required by the collector's settings"),
    )


def test_an_agents_name_counts_as_its_dialect_spells_it():
    span = make_span({"openinference.span.kind": "AGENT", "agent.name": "planner"})

    assert through(span, {"gen_ai.agent.name": "reject"}).rejected == ()


def test_what_is_flagged_is_taken_and_marked():
    batch = through(make_span(AGENT, resource={}), {"service.name": "flag", "gen_ai.agent.id": "flag"})

    assert batch.rejected == ()
    assert batch.spans[0].marks == ("missing_field:service.name", "missing_field:gen_ai.agent.id")


def test_a_tenants_own_policy_is_the_only_one_for_it():
    span = make_span(resource={})
    schema = Schema(required={"*": {"service.name": "reject"}, "acme": {"service.version": "flag"}})

    assert len(schema.process(RawBatch("default", (span,))).rejected) == 1
    assert schema.process(RawBatch("acme", (span,))).spans[0].marks == ("missing_field:service.version",)
    assert through(span, {"service.name": "reject"}, of="acme").rejected == ()


def test_content_is_not_judged_when_a_span_arrives(tmp_path):
    settings = SchemaConfig.model_validate({"required_fields": {"*": {"input": "flag", "service.name": "reject"}}})
    spans, logs = capture("otel-genai-openai/upload-hook")

    batch = PROCESSORS["schema"](settings.model_dump(), Site(tmp_path)).process(RawBatch("default", spans, logs))

    assert batch.spans == spans
    assert batch.rejected == ()
