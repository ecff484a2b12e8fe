"""The libraries that a dry look knows agree with the adapters, the settings and the names that others use."""

import pytest

from looking_kit import installed  # noqa: F401 - a fixture
from runreel.replay.adapters import ADAPTERS
from runreel.replay.looking.known import (
    BESIDE,
    BY_KEY,
    LIBRARIES,
    Instrumentation,
    instrumentation_of,
    instrumentations,
)
from runreel.semconv.switches import content_switch


def test_every_framework_with_an_adapter_is_known_by_the_adapters_package():
    known = {one.package for one in LIBRARIES} | BESIDE.keys()

    assert {adapter.package for adapter in ADAPTERS} <= known


def test_what_is_below_a_framework_is_known_and_every_one_can_be_recorded():
    for one in LIBRARIES:
        assert set(one.below) <= BY_KEY.keys()
        assert one.instrument or one.own or not one.api, one.key


@pytest.mark.parametrize(
    ("imported", "module"),
    [
        ("openinference.instrumentation.openai.OpenAIInstrumentor", "openinference.instrumentation.openai"),
        ("opentelemetry.instrumentation.genai.anthropic.X", "opentelemetry.instrumentation.genai.anthropic"),
        ("opentelemetry.instrumentation.openai.OpenAIInstrumentor", "opentelemetry.instrumentation.openai"),
        ("opentelemetry.instrumentation.requests.X", ""),
        ("opentelemetry.trace", ""),
    ],
)
def test_genai_instrumentations_are_known_by_their_modules(imported, module):
    assert instrumentation_of(imported) == module


def test_installed_instrumentations_are_those_that_packages_register(installed):  # noqa: F811
    installed("openinference-instrumentation-llama-index", "3.1", "openinference.instrumentation.llama_index:X")
    installed("opentelemetry-instrumentation-redis", "1.0", "opentelemetry.instrumentation.redis:X")

    found = {one.module: one for one in instrumentations()}

    assert found["openinference.instrumentation.llama_index"].title == "openinference-instrumentation-llama-index 3.1"
    assert "opentelemetry.instrumentation.redis" not in found


def test_the_settings_of_openllmetry_go_by_the_name_of_its_scope():
    one = Instrumentation("opentelemetry.instrumentation.openai", "opentelemetry-instrumentation-openai", "openai")

    assert "TRACELOOP_TRACE_CONTENT" in content_switch(one.scope, "input")
