"""Which calls a framework made is told by what recorded them; versions that are not tested are left alone, and told."""

import pytest

from runreel.replay import adapters
from runreel.replay.transports.versions import outside


@pytest.mark.parametrize(
    ("instrumentation", "framework"),
    [
        ("openinference.instrumentation.langchain 0.1.80", "LangChain"),
        ("opentelemetry.instrumentation.genai.langchain 1.3b0", "LangChain"),
        ("openinference.instrumentation.openai_agents 2.6.0", "OpenAI Agents"),
        ("pydantic-ai 2.68.0", "Pydantic AI"),
        ("strands.telemetry.tracer", "Strands"),
        ("openinference.instrumentation.smolagents 0.1.43", "smolagents"),
    ],
)
def test_a_call_went_through_the_framework_whose_instrumentation_recorded_it(instrumentation, framework):
    assert adapters.frameworks([("search", instrumentation)]) == {"search": framework}


@pytest.mark.parametrize("instrumentation", ["", "openinference.instrumentation.openai 0.1.66", "my.agent"])
def test_a_call_that_something_else_recorded_went_through_no_framework(instrumentation):
    assert adapters.frameworks([("search", instrumentation)]) == {}


def test_a_version_outside_of_what_is_tested_is_named_with_its_range():
    assert outside("pytest", (1,), (2,)).startswith("pytest ")
    assert outside("pytest", (1,), (2,)).endswith("it is tested with 1 to below 2")
    assert outside("pytest", (1,), (1000,)) == ""
    assert outside("a-package-that-nobody-installed", (1,), (2,)) == ""


def test_an_adapter_of_another_version_is_not_installed_and_its_names_are_refused_with_the_reason(monkeypatch):
    installed = []
    other = adapters.Adapter("Pytest", "pytest", (1,), (2,), ("pytest.",), lambda answers: installed.append(answers))
    fits = adapters.Adapter("Hypothesis", "hypothesis", (6,), (1000,), ("hyp.",), lambda answers: installed.append("6"))
    monkeypatch.setattr(adapters, "ADAPTERS", (other, fits))

    problems = adapters.install({}, lambda name: None)

    assert (problems, installed) == ([other.problem], ["6"])
    assert adapters.problem("Pytest") == other.problem
    assert adapters.problem("Hypothesis") == ""
    assert adapters.problem("Nobody") == "there is no adapter for Nobody"
