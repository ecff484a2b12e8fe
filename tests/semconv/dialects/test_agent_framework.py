from dataclasses import replace

import pytest

from runreel.semconv.reading import dialect_of, read
from runreel.semconv.switches import content_switch
from runreel.semconv.view import View
from runreel.values import Kind, Value
from span_kit import counts, make_span, of_kind, runs_of, sample

NAME = "agent-framework/agent-latest"


@pytest.mark.parametrize(
    "attributes",
    [{"gen_ai.provider.name": "microsoft.agent_framework"}, {"executor.id": "e"}, {"edge_group.type": "t"}],
)
def test_it_is_known_by_its_scope_or_its_keys(attributes: dict[str, Value]) -> None:
    assert dialect_of(View(make_span({}, scope="agent_framework"))).name == "agent_framework"
    assert dialect_of(View(make_span(attributes))).name == "agent_framework"


def test_a_run_with_a_call_of_a_tool() -> None:
    (run,) = runs_of(*sample(NAME))
    first, last = of_kind(run, "llm")

    assert counts(run) == (2, 1)
    assert run.replayable == "full"
    assert first.fields["finish_reasons"] == ("tool_calls",)
    assert last.fields["finish_reasons"] == ("stop",)
    assert [one["role"] for one in run.value(last.input)] == ["system", "user", "assistant", "tool"]
    assert run.value(run.final_output) == "It is rainy and 57F in Paris."
    assert all("usage" not in step.fields for step in of_kind(run, "agent"))


def test_its_log_events_say_the_same_as_its_spans() -> None:
    spans, logs = sample(NAME)
    messages = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions")
    bare = [
        replace(span, attributes={key: value for key, value in span.attributes.items() if key not in messages})
        for span in spans
    ]
    (run,), (other,) = runs_of(bare, logs), runs_of(spans, ())

    assert run.replayable == other.replayable == "full"
    for ours, theirs in zip(of_kind(run, "llm"), of_kind(other, "llm"), strict=True):
        assert run.value(ours.input) == other.value(theirs.input)
        assert run.value(ours.output) == other.value(theirs.output)


@pytest.mark.parametrize(
    ("attributes", "kind", "name"),
    [
        ({"executor.id": "writer", "workflow.id": "w"}, "agent", "writer"),
        ({"workflow.id": "w", "workflow.name": "review"}, "agent", "review"),
        ({"edge_group.type": "SingleEdgeGroup"}, "other", "a span"),
    ],
)
def test_workflows_and_their_executors_are_agents(attributes: dict[str, Value], kind: Kind, name: str) -> None:
    found = read(View(make_span(attributes, scope="agent_framework")))

    assert (found.kind, found.name) == (kind, name)


def test_the_setting_that_switches_content_on() -> None:
    assert "ENABLE_SENSITIVE_DATA=true" in content_switch("agent_framework 1.23.0", "output")


@pytest.mark.parametrize(("came", "wanted"), [("Unknown", None), ("api.example.com", "api.example.com")])
def test_an_address_that_is_unknown_is_none(came: str, wanted: object) -> None:
    chat: dict[str, Value] = {"gen_ai.operation.name": "chat", "server.address": came}

    assert read(View(make_span(chat, scope="agent_framework"))).fields.get("server_address") == wanted
