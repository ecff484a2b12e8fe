import pytest

from runreel.semconv.reading import Reading, read
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import capture, make_event, make_span, of_kind, runs_of

CALL: dict[str, Value] = {
    "gen_ai.system": "openai",
    "gen_ai.operation.name": "chat",
    "gen_ai.endpoint": "openai.chat.completions",
    "gen_ai.request.model": "m",
    "gen_ai.request.max_tokens": -1,
    "gen_ai.request.seed": "",
    "gen_ai.request.is_stream": False,
}


def one(prompt: str, completion: str = "Yes.", **more: Value) -> Reading:
    events = (
        make_event("gen_ai.content.prompt", gen_ai__prompt=prompt),
        make_event("gen_ai.content.completion", gen_ai__completion=completion),
    )
    return read(View(make_span(CALL | more, scope="openlit.otel.tracing", events=events)))


def test_lines_are_messages_and_lines_without_a_role_belong_to_the_one_before() -> None:
    found = one("system: Be brief.\nuser: Is it\nuser-friendly: yes?\nassistant: Hm.")

    assert found.dialect == "openlit"
    assert [(message["role"], message["parts"][0]["content"]) for message in found.input.value] == [  # type: ignore[index,call-overload,union-attr]
        ("system", "Be brief."),
        ("user", "Is it\nuser-friendly: yes?"),
        ("assistant", "Hm."),
    ]
    assert found.output.value == ({"role": "assistant", "parts": ({"type": "text", "content": "Yes."},)},)


@pytest.mark.parametrize("prompt", ['[{"role": "user", "content": "Rain?"}]', "Rain?"])
def test_newer_forms_and_bare_text_are_read_too(prompt: str) -> None:
    assert one(prompt).input.value == ({"role": "user", "parts": ({"type": "text", "content": "Rain?"},)},)


def test_fillers_are_no_parameters() -> None:
    fields = one("user: a").fields

    assert fields["params"] == {}
    assert fields["stream"] is False


def test_a_limit_that_was_set_is_kept() -> None:
    limited = read(View(make_span(CALL | {"gen_ai.request.max_tokens": 64}, scope="openlit.otel.tracing")))

    assert limited.fields["params"] == {"max_tokens": 64}


def test_without_content_the_setting_is_named() -> None:
    (run,) = runs_of((make_span(CALL, scope="openlit.otel.tracing"),))

    fixes = [gap.fix for gap in run.gaps if gap.field in ("input", "output")]
    assert fixes
    assert all("unset OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in fix for fix in fixes)


def test_a_real_export_holds_its_system_message_once_and_leaves_other_scopes_theirs() -> None:
    (run,) = runs_of(*capture("openlit/on"))

    first, *_ = of_kind(run, "llm")
    asked = run.value(first.input)
    assert isinstance(asked, tuple)
    assert [one["role"] for one in asked] == ["system", "user"]  # type: ignore[index,call-overload]
    assert {step.dialect for step in of_kind(run, "llm")} == {"openlit"}
    assert {step.dialect for step in of_kind(run, "tool")} == {"otel"}
    assert not any("unknown" in step.fields for step in run.steps)
