"""Which parameters of two model requests are compared: by what recorded the first one."""

import pytest

from runreel.replay.params import pair

GENAI = "opentelemetry.instrumentation.genai.openai 1.3b0"
OPENINFERENCE = "openinference.instrumentation.openai 0.1.66"


@pytest.mark.parametrize(
    ("name", "value", "instrumentation"),
    [
        ("temperature", 0.7, GENAI),
        ("seed", 7, GENAI),
        ("max_tokens", 64, GENAI),
        ("n", 2, GENAI),
        ("stop", ("END",), GENAI),
        ("service_tier", "flex", GENAI),
        ("tool_choice", "required", OPENINFERENCE),
        ("reasoning_level", "high", OPENINFERENCE),
        ("logit_bias", {"50256": -100}, OPENINFERENCE),
        ("seed", 7, "pydantic-ai 2.68.0"),
        ("seed", 7, "openinference.instrumentation.smolagents 0.1.43"),
    ],
)
def test_a_parameter_that_the_instrumentation_would_have_recorded_was_not_given(name, value, instrumentation):
    paired = pair({}, {name: value}, instrumentation)

    assert (dict(paired.recorded), dict(paired.live), paired.skipped) == ({}, {name: value}, ())


@pytest.mark.parametrize(
    ("name", "value", "instrumentation"),
    [
        ("tool_choice", "required", GENAI),
        ("tool_choice", "required", "openinference.instrumentation.smolagents 0.1.43"),
        ("stop", ("Observation:",), "openinference.instrumentation.smolagents 0.1.43"),
        ("reasoning_level", "high", GENAI),
        ("seed", 7, "opentelemetry.instrumentation.openai.v1 0.62.4"),
        ("stop", ("END",), "pydantic-ai 2.68.0"),
        ("seed", 7, "opentelemetry.instrumentation.langchain 0.62.4"),
        ("temperature", 0.7, "something.else 1.0"),
        ("temperature", 0.7, ""),
    ],
)
def test_a_parameter_that_may_not_have_been_recorded_is_told_as_not_compared(name, value, instrumentation):
    paired = pair({}, {name: value}, instrumentation)

    assert (dict(paired.live), paired.skipped) == ({}, (name,))


def test_an_unknown_instrumentation_that_records_one_of_the_usual_parameters_records_them_all():
    assert pair({"temperature": 0}, {"temperature": 0, "seed": 7}, "something.else").live == {
        "temperature": 0,
        "seed": 7,
    }


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ({"max_completion_tokens": 9}, {"max_tokens": 9}),
        ({"reasoning_effort": "low"}, {"reasoning_level": "low"}),
        ({"stop": "END"}, {"stop": ("END",)}),
        ({"temperature": 0, "stream_options": {"include_usage": True}}, {"temperature": 0}),
        ({"temperature": 0, "streaming": False, "max_retries": 2}, {"temperature": 0}),
        ({"service_tier": "default"}, {}),
        ({}, {"n": 1, "tool_choice": "auto", "parallel_tool_calls": True, "service_tier": "auto"}),
        ({}, {"output_type": "text", "response_format": {"type": "text"}}),
        ({"output_type": "json"}, {"output_type": "json", "response_format": {"type": "json_object"}}),
    ],
)
def test_names_forms_and_defaults_make_no_difference(recorded, live):
    paired = pair(recorded, live, GENAI)

    assert (dict(paired.recorded), paired.skipped) == (dict(paired.live), ())


def test_a_form_of_answer_is_compared_in_the_form_that_the_record_holds():
    schema = {"type": "json_schema", "json_schema": {"name": "answer"}}
    live = {"output_type": "json", "response_format": schema}

    by_word = pair({"output_type": "json"}, live, GENAI)
    whole = pair({"response_format": schema}, live, OPENINFERENCE)
    none = pair({}, live, OPENINFERENCE)

    assert (by_word.live, by_word.skipped) == ({"output_type": "json"}, ("response_format",))
    assert (whole.live, whole.skipped) == ({"response_format": schema}, ())
    assert (none.live, none.skipped) == ({"response_format": schema}, ())


FROM_THE_ANSWER = "openinference.instrumentation.openai_agents 2.6.0"


@pytest.mark.parametrize(
    "answered", [{"top_p": 1.0}, {"temperature": 1}, {"tool_choice": "auto"}, {"truncation": "disabled"}]
)
def test_what_an_answer_says_of_itself_where_nothing_was_asked_for_is_no_parameter(answered):
    assert pair({**answered, "seed": 7}, {"seed": 7}, FROM_THE_ANSWER).recorded == {"seed": 7}
    assert pair(answered, {}, OPENINFERENCE).recorded == ({} if "tool_choice" in answered else answered)


@pytest.mark.parametrize("given", [{"temperature": 0.0}, {"max_tokens": 64}, {"tool_choice": "required"}])
def test_what_an_answer_can_only_say_because_it_was_asked_for_is_one(given):
    assert pair(given, {}, FROM_THE_ANSWER).recorded == given
