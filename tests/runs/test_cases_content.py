"""Failures from the field: values cut by the sender (C13), arguments that are no JSON (C17), pictures (C19), prose
beside tool calls and parameters that are no scalars (C20). Through the whole chain, redactor and all."""

import base64
import json
from typing import Any

import pytest

from case_kit import run_from, store
from otlp_build import ROOT, TID, agent, answer, call, llm, msg, req, span, tool
from runreel.errors import RefusedError
from runreel.replay.tape import build
from runreel.values import Value
from span_kit import counts, of_kind, runs_of, spans_of

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.response.model": "m-1"}
OPENINFERENCE = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o-mini"}
SAID = [msg("assistant", "ok")]


# --- C13: cut values ---


def cut_at(length: int) -> Any:
    asked = json.dumps([msg("user", "mail dana.fields@example.com " + "x" * 300), msg("assistant", "y" * 300)])
    said = {"gen_ai.input.messages": asked[:length], "gen_ai.output.messages": json.dumps(SAID)}
    return span("chat", "00000000000000b1", ROOT, attrs={**CHAT, **said})


@pytest.mark.parametrize("length", [1, 60, 80, 100, 200, 400, 700])
def test_a_request_cut_anywhere_is_kept_as_text_redacted_and_named_and_never_replayed(length: int) -> None:
    runs, _ = store(req(agent(), cut_at(length)))
    run = runs.run("default", TID)
    (step,) = of_kind(run, "llm")

    assert (step.input.state, run.replayable) == ("cut", "none")
    assert "dana.fields@example.com" not in repr(run)
    assert isinstance(run.value(step.input), str)
    (gap,) = [gap for gap in run.gaps if gap.needed_for == "frozen"]
    assert (gap.step, gap.field) == (step.seq, "input")
    assert "not_json: " in gap.cause
    assert "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT" in gap.fix
    with pytest.raises(RefusedError, match="cannot be replayed frozen"):
        build(run)


def flat(messages: int, kept: int) -> Any:
    attrs = [*OPENINFERENCE.items()]
    for index in range(messages):
        place = f"llm.input_messages.{index}.message"
        attrs += [(f"{place}.role", "user"), (f"{place}.content", f"m{index}")]
    attrs += [("llm.output_messages.0.message.role", "assistant"), ("llm.output_messages.0.message.content", "a")]
    dropped = max(0, len(attrs) - kept)
    return span("ChatCompletion", "00000000000000b2", ROOT, attrs=attrs[-kept:], dropped_attributes_count=dropped)


def test_attributes_that_the_sender_dropped_are_a_gap_with_the_limit_to_raise() -> None:
    lost = span(
        "ChatCompletion",
        "00000000000000b2",
        ROOT,
        attrs={**OPENINFERENCE, "llm.input_messages.0.message.role": "user"},
        dropped_attributes_count=14,
    )
    run = run_from(agent(), lost)

    (step,) = of_kind(run, "llm")
    assert step.fields["dropped_attributes"] == 14
    gaps = {gap.cause.partition(":")[0]: gap.fix for gap in run.gaps if gap.step == step.seq}
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in gaps["dropped_attributes"]


def test_a_list_whose_first_messages_are_gone_is_cut_and_no_shorter_conversation() -> None:
    run = run_from(agent(), flat(70, 100))

    (step,) = of_kind(run, "llm")
    assert step.input.state == "cut"
    assert run.replayable == "none"
    assert run_from(agent(), flat(40, 100)).replayable == "full"


@pytest.mark.parametrize("remark", ["... [truncated, original 11534336 bytes]", "...(truncated)", "<truncated>"])
def test_a_result_that_says_it_was_cut_is_cut(remark: str) -> None:
    run = run_from(agent(), tool("00000000000000c1", ROOT, "read", {"p": "a"}, "first part" + remark))

    assert of_kind(run, "tool")[0].output.state == "cut"
    assert run.replayable != "full"


# --- C17: arguments that are no JSON ---

ARGS = [
    '{"city": "Lis',
    '"SELECT * FROM t"',
    "",
    "null",
    "[1,2]",
    '{"a": NaN}',
    '{"a":1}{"b":2}',
    "{'city': 'Lisbon'}",
    '{"q": "\\d+"}',
    '{"a": 1, "a": 2}',
]


@pytest.mark.parametrize("text", ARGS)
def test_arguments_stay_as_the_model_wrote_them_and_replay_so(text: str) -> None:
    asked = [msg("user", "go"), msg("assistant", call("q", text, "c1"))]
    told = msg("tool", answer("error: bad arguments", "c1"))
    run = run_from(
        agent(),
        llm("00000000000000b1", ROOT, asked[:1], asked[1:]),
        tool("00000000000000c1", ROOT, "q", text, "error: bad arguments", id="c1", at=20),
        llm("00000000000000b2", ROOT, [*asked, told], SAID, at=40),
    )

    (step,) = of_kind(run, "tool")
    assert counts(run) == (2, 1)
    assert (run.value(step.input), step.fields["arguments_text"]) == (text, text)
    assert step.fields["pairing"] == "call_id"
    assert run.replayable == "full"
    (entry,) = [one for one in build(run).entries if one.kind == "tool"]
    assert entry.request == text


def test_an_object_and_its_text_are_the_same_arguments_and_broken_text_never_is() -> None:
    def key(arguments: Any) -> str:
        attrs = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "q"}
        attrs |= {"gen_ai.tool.call.arguments": arguments, "gen_ai.tool.call.result": "x"}
        return of_kind(run_from(agent(), span("t", "00000000000000c1", ROOT, attrs=attrs)), "tool")[0].input.sha256

    assert key({"a": 1}) == key('{"a": 1}') == key('{ "a":1.0 }')
    keys = [key(text) for text in ("", "{}", "null", '"{}"', '{"a": 1', "{'a': 1}")]
    assert len(set(keys)) == len(keys)


# --- C19: pictures ---

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 200).decode()
PARTS = [
    "what is this? mail dana.fields@example.com",
    {"type": "blob", "modality": "image", "mime_type": "image/png", "content": PNG},
]


def test_a_picture_is_stored_once_whatever_carries_it_and_read_back_exactly() -> None:
    url = "data:image/png;base64," + PNG
    content = "llm.input_messages.0.message.contents.0.message_content"
    request = {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]}
    other = {
        **OPENINFERENCE,
        "input.value": json.dumps(request),
        "llm.input_messages.0.message.role": "user",
        f"{content}.type": "image",
        f"{content}.image.image.url": url,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "a square",
    }
    history = [
        llm(f"00000000000001{i:02x}", ROOT, [msg("user", *PARTS)] + [msg("assistant", "…")] * i, SAID, at=30 + 20 * i)
        for i in range(5)
    ]
    first = llm("00000000000000b1", ROOT, [msg("user", *PARTS)], [msg("assistant", "a square")])
    runs, memory = store(req(agent(), first, span("ChatCompletion", "00000000000000b2", ROOT, attrs=other), *history))
    run = runs.run("default", TID)

    named = {one for row in memory.payloads("default", _payloads(memory)).values() for one in row.parts}
    pictures = [part for part in memory.parts("default", list(named)).values() if part.media_type == "image/png"]
    assert [part.data for part in pictures] == [base64.b64decode(PNG)]
    for step in of_kind(run, "llm"):
        blobs = [one for one in _parts(run.value(step.input)) if one.get("type") == "blob"]
        assert [one["content"] for one in blobs] == [PNG]
    texts = [one["content"] for one in _parts(run.value(of_kind(run, "llm")[0].input)) if one["type"] == "text"]
    assert str(texts[0]).startswith("what is this? mail <EMAIL_")
    assert run.replayable == "full"


def _payloads(memory: Any) -> list[str]:
    from runreel.runs.join import named

    rows, logs = memory.rows("default", [TID])
    return list(named(rows, logs))


def _parts(messages: Value) -> list[dict[str, Value]]:
    assert isinstance(messages, tuple)
    return [dict(part) for one in messages for part in one["parts"]]  # type: ignore[index,call-overload,union-attr]


# --- C20: prose beside calls, null content, parameters that are no scalars ---


def test_prose_and_calls_stay_in_order_and_empty_null_and_no_parts_stay_apart() -> None:
    mixed = msg("assistant", "Let me check.", call("get_weather", {"city": "Lisbon"}))
    history = [
        msg("system", ""),
        msg("user", "weather?"),
        mixed,
        msg("tool", answer("", "call_1")),
        msg("assistant"),
        msg("developer", "be brief"),
        msg("user", "and now?", name=None),
        {"role": "assistant", "parts": [{"type": "text", "content": None}]},
    ]
    run = run_from(agent(), llm("00000000000000b1", ROOT, history, [mixed]))
    (step,) = of_kind(run, "llm")
    kept, said = run.value(step.input), run.value(step.output)

    assert isinstance(kept, tuple)
    assert isinstance(said, tuple)
    messages: list[Any] = list(kept)
    assert [one["role"] for one in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "developer",
        "user",
        "assistant",
    ]
    assert messages[0]["parts"] == ({"type": "text", "content": ""},)
    assert messages[3]["parts"][0]["response"] == ""
    assert messages[4]["parts"] == ()
    assert messages[7]["parts"] not in ((), ({"type": "text", "content": ""},))
    assert [part["type"] for part in messages[2]["parts"]] == ["text", "tool_call"]


def test_parallel_calls_without_ids_pair_by_name_arguments_and_order_and_say_so() -> None:
    out = "llm.output_messages.0.message"
    params = {
        "temperature": 0,
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters": {}}}],
        "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
        "stop": ["\n"],
        "logit_bias": {"50256": -100},
        "response_format": None,
    }
    attrs = {
        **OPENINFERENCE,
        "llm.invocation_parameters": json.dumps(params),
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "weather?",
        f"{out}.role": "assistant",
        f"{out}.content": "",
    }
    for place, city in enumerate(("Lisbon", "Oslo")):
        function = f"{out}.tool_calls.{place}.tool_call.function"
        attrs |= {f"{function}.name": "get_weather", f"{function}.arguments": json.dumps({"city": city})}
    run = run_from(
        agent(),
        span("ChatCompletion", "00000000000000b2", ROOT, attrs=attrs),
        tool("00000000000000c1", ROOT, "get_weather", {"city": "Oslo"}, "cold", id="", at=20),
        tool("00000000000000c2", ROOT, "get_weather", {"city": "Lisbon"}, "warm", id="", at=40),
    )

    (step,) = of_kind(run, "llm")
    kept = step.fields["params"]
    assert isinstance(kept, dict)
    assert (kept["temperature"], kept["logit_bias"]) == (0, {"50256": -100})
    assert kept["tool_choice"] == {"type": "function", "function": {"name": "get_weather"}}
    assert counts(run) == (1, 2)
    assert [one.fields["pairing"] for one in of_kind(run, "tool")] == ["inferred", "inferred"]
    assert [one.fields["asked_by"] for one in of_kind(run, "tool")] == [step.seq, step.seq]


@pytest.mark.parametrize(
    ("sent", "recorded"),
    [
        ("auto", "auto"),
        ("required", "required"),
        ('{"type":"function","function":{"name":"search"}}', {"type": "function", "function": {"name": "search"}}),
    ],
)
def test_which_tools_a_model_had_to_call_is_a_parameter_of_its_request(sent: str, recorded: Value) -> None:
    said = {"gen_ai.request.tool_choice": sent}

    (run,) = runs_of(spans_of(agent(), llm("00000000000000b1", ROOT, [msg("user", "q")], SAID, **said)))

    (step,) = of_kind(run, "llm")
    assert step.fields["params"]["tool_choice"] == recorded
