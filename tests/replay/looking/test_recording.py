"""What would be recorded is said from what the code switches on, what is installed and what the environment keeps."""

import pytest

from looking_kit import installed, project  # noqa: F401 - fixtures
from runreel.replay.looking import look
from runreel.semconv.switches import content_switch

GENAI = "opentelemetry.instrumentation.genai.openai"
CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
LATEST = {"OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental"}
EXPORT = "from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter\n"


def agent(module, client="openai", more=""):
    return f"import {client}\nfrom {module} import Instrumentor\nInstrumentor().instrument()\n{EXPORT}{more}"


@pytest.fixture
def rows(project, installed):  # noqa: F811
    """Return the rows on recording for an agent's source, under an environment, by name."""
    for module in (
        "opentelemetry.instrumentation.openai_v2",
        "opentelemetry.instrumentation.openai",
        "opentelemetry.instrumentation.genai.openai_agents",
        "openinference.instrumentation.anthropic",
    ):
        installed(module.replace(".", "-").replace("_", "-"), "9.0", f"{module}:Instrumentor")

    def of(source, **env):
        project(agent=source)
        found = look("agent.py", env=env).findings
        return {one.name: one for one in found if one.part == "recorded"}

    return of


@pytest.mark.parametrize(
    ("module", "env", "state"),
    [
        (GENAI, {}, "todo"),
        (GENAI, {CAPTURE: "true"}, "todo"),
        (GENAI, {CAPTURE: "span_only"}, "ok"),
        (GENAI, {CAPTURE: "EVENT_ONLY"}, "ok"),
        ("openinference.instrumentation.openai", {}, "ok"),
        ("openinference.instrumentation.openai", {"OPENINFERENCE_HIDE_INPUTS": "true"}, "todo"),
        ("opentelemetry.instrumentation.openai_v2", {}, "todo"),
        ("opentelemetry.instrumentation.openai_v2", {CAPTURE: "True"}, "ok"),
        ("opentelemetry.instrumentation.openai_v2", {CAPTURE: "true", **LATEST}, "todo"),
        ("opentelemetry.instrumentation.openai_v2", {CAPTURE: "SPAN_ONLY", **LATEST}, "ok"),
        ("opentelemetry.instrumentation.openai", {}, "ok"),
        ("opentelemetry.instrumentation.openai", {"TRACELOOP_TRACE_CONTENT": "false"}, "todo"),
    ],
)
def test_whether_content_is_sent_is_judged_by_each_instrumentations_own_setting(module, env, state, rows):
    found = rows(agent(module), **env)["content"]

    scope = f"{module}.v1" if module.endswith("tation.openai") and module.startswith("opentel") else module
    assert (found.state, found.fix) == (state, content_switch(scope, "input") if state == "todo" else "")


@pytest.mark.parametrize(
    ("module", "more"),
    [
        ("openinference.instrumentation.openai", "TraceConfig(hide_outputs=True)\n"),
        ("openinference.instrumentation.openai", "import os\nos.environ['OPENINFERENCE_HIDE_OUTPUTS'] = 'true'\n"),
    ],
)
def test_what_the_code_itself_hides_is_seen(module, more, rows):
    assert rows(agent(module, more=more))["content"].state == "todo"


def test_an_instrumentation_that_is_switched_on_records_the_model_calls(rows):
    found = rows(agent(GENAI), **{CAPTURE: "SPAN_ONLY"})

    assert (found["genai.openai"].state, found["model calls"].state) == ("ok", "ok")


@pytest.mark.parametrize(
    ("source", "name", "fix"),
    [
        ("import openai\n", "model calls", "pip install opentelemetry-instrumentation-genai-openai, then"),
        (f"import openai\nfrom {GENAI} import OpenAIInstrumentor\n", "genai.openai", "call .instrument()"),
        (agent("openinference.instrumentation.anthropic"), "model calls", "pip install opentelemetry-instr"),
        (agent("openinference.instrumentation.nothing"), "oi.nothing", "pip install openinference-instrumentation-no"),
        ("import pydantic_ai\n", "model calls", "call Agent.instrument_all() at the start"),
        ("import json\n", "model calls", "instrument the model client"),
        ("import openai\n", "export", "set up a TracerProvider with an OTLPSpanExporter"),
    ],
)
def test_what_is_missing_is_a_thing_to_do_with_the_fix(source, name, fix, rows):
    found = rows(source)[name]

    assert found.state == "todo"
    assert found.fix.startswith(fix)


def test_an_instrumentation_that_leaves_model_calls_to_another_one_is_known(rows):
    found = rows(agent("opentelemetry.instrumentation.genai.openai_agents", "agents"))["model calls"]

    assert found.state == "todo"
    assert "opentelemetry-instrumentation-genai-openai too" in found.fix


def test_an_import_under_a_condition_is_no_fault_whatever_it_lacks(rows):
    source = agent("openinference.instrumentation.openai") + f"if x:\n    from {GENAI} import OpenAIInstrumentor\n"

    found = rows(source + "    from openinference.instrumentation.nothing import X\n")

    assert {one.name: one.state for one in found.values()} == {
        "oi.openai": "ok",
        "genai.openai": "note",
        "oi.nothing": "note",
        "openai": "note",  # installed, and not switched on
        "openai_v2": "note",
        "model calls": "ok",
        "run": "note",
        "content": "note",
        "export": "ok",
        "code version": "note",
    }


@pytest.mark.parametrize(
    "source",
    [
        "import pydantic_ai\nAgent.instrument_all()\n",
        "import pydantic_ai\nAgent('x', instrument=True)\n",
        "import strands\n",
    ],
)
def test_a_framework_that_records_itself_needs_no_instrumentation(source, rows):
    found = rows(source + EXPORT)

    assert [one.state for one in found.values() if one.name in ("model calls", "content")] == ["ok", "ok"]


def test_content_that_pydantic_ai_is_told_to_leave_out_is_missing(rows):
    found = rows(f"import pydantic_ai\nAgent.instrument_all(InstrumentationSettings(include_content=False))\n{EXPORT}")

    assert (found["content"].state, found["content"].says.rpartition(" ")[2]) == ("todo", "agent.py:2")


def test_the_recorder_needs_no_exporter_of_the_agents_own(rows):
    found = rows("import runreel.record as rr\nrr.configure(agent='a')\n")

    assert (found["recorder"].state, found["export"].state) == ("ok", "ok")


def test_starting_with_opentelemetry_instrument_switches_on_all_that_is_installed(rows):
    path = "/site/opentelemetry/instrumentation/auto_instrumentation"

    found = rows("import openai\n", PYTHONPATH=path)

    assert (found["model calls"].state, found["export"].state) == ("ok", "ok")


@pytest.mark.parametrize(
    ("env", "name"),
    [
        ({"OTEL_SDK_DISABLED": "true"}, "telemetry"),
        ({"OTEL_TRACES_EXPORTER": "none"}, "telemetry"),
        ({"OTEL_TRACES_SAMPLER": "traceidratio"}, "sampling"),
        ({"OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "200"}, "limits"),
    ],
)
def test_what_the_environment_keeps_back_is_a_thing_to_do(env, name, rows):
    found = rows(agent(GENAI), **env)[name]

    assert (found.state, bool(found.fix)) == ("todo", True)


@pytest.mark.parametrize(
    ("more", "noted"),
    [
        ("", True),
        ("with tracer.start_as_current_span('loop'): ...\n", False),
        ("import runreel.record\n", False),
        ("import langchain\n", False),
    ],
)
def test_a_loop_without_a_span_around_it_is_noted_where_no_framework_makes_one(more, noted, rows):
    found = rows(agent(GENAI, more=more))

    assert ("run" in found) is noted
    assert not noted or (found["run"].state, "start one span around" in found["run"].says) == ("note", True)


def test_a_sampler_that_keeps_all_and_a_named_version_are_well(rows):
    env = {"OTEL_TRACES_SAMPLER": "parentbased_always_on", "OTEL_RESOURCE_ATTRIBUTES": "service.version=4"}

    assert not {"sampling", "code version"} & set(rows(agent(GENAI), **env))
