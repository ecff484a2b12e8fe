"""Failures from the field, replayed: streams left half-way (C14), sub-agents in other processes (C16), arguments that
are no JSON (C17), images (C19), odd messages and parameters (C20)."""

import base64
import json

import pytest

from otlp_build import ROOT, agent, answer, call, llm, msg, req, span, tool
from recorded_runs import run_of
from runreel import otlp
from runreel.errors import RefusedError
from runreel.replay import processes
from runreel.replay.engine import replay
from runreel.replay.tape import build
from runreel.runs.assemble import assemble
from schedule_kit import hosted


def shape(replayed):
    return [(one.type, one.name, one.recorded) for one in replayed.divergences]


ASK = """
import json
import httpx

def ask(text):
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}], "temperature": 0, "seed": 7}
    answer = httpx.post("https://gateway.example.com/v1/chat/completions", json=body)
    return answer.json()["choices"][0]["message"]
"""


# --- C14: the stream was left half-way --------------------------------------------------------------------------------


def half_a_stream():
    cut = [msg("assistant", call("get_weather", '{"city": "Lisb'), finish_reason="error")]
    more = {"gen_ai.response.finish_reasons": ["error"], "gen_ai.request.stream": True, "gen_ai.request.seed": 7}
    part = llm("00000000000000b1", ROOT, [msg("user", "q")], cut, **more)
    for key in ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"):
        part.attributes.remove(next(one for one in part.attributes if one.key == key))
    never = tool("00000000000000c1", "00000000000000b9", "get_weather", {"city": "Lisbon"}, "21.5", at=50)
    return part, never


STREAMING = """
import json
import httpx

body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "q"}], "temperature": 0, "seed": 7,
        "stream": True}
heard, ended = "", []
with httpx.stream("POST", "https://gateway.example.com/v1/chat/completions", json=body) as response:
    for line in response.iter_lines():
        if line == "data: [DONE]":
            ended.append(line)
        elif line:
            choice = json.loads(line.removeprefix("data: "))["choices"][0]
            for one in choice["delta"].get("tool_calls", ()):
                heard += one["function"]["arguments"]
            ended += [choice["finish_reason"]] if choice["finish_reason"] else []
print(heard, ended)
"""


def test_c14_an_interrupted_stream_is_interrupted_again_after_the_same_pieces(script, capfd):
    part, _ = half_a_stream()

    replayed = replay(run_of(part), script(STREAMING))

    assert (replayed.verdict, shape(replayed)) == ("same", [])
    assert capfd.readouterr().out == '{"city": "Lisb []\n'


def test_c14_a_run_whose_model_call_was_never_exported_is_refused_with_what_is_missing():
    with pytest.raises(RefusedError, match="missing_model_call") as caught:
        build(run_of(*half_a_stream()))

    assert "span 00000000000000b9, above this step, never arrived" in str(caught.value)


# --- C16: sub-agents in other processes -------------------------------------------------------------------------------


def with_a_sub_agent(*, boundary):
    """An orchestrator and a child of the same trace in another service, behind a tool of its own or not."""
    above = "00000000000000c9" if boundary else ROOT
    behind = [
        agent("00000000000000a5", above, at=100, ms=200),
        llm("00000000000000b5", "00000000000000a5", [msg("user", "inner")], [msg("assistant", "inner answer")], at=120),
    ]
    own = [agent(ms=5000), llm("00000000000000b1", ROOT, [msg("user", "q")], [msg("assistant", "fine")], at=1000)]
    if boundary:
        own.append(tool("00000000000000c9", ROOT, "delegate", {"to": "child-a"}, "inner answer", at=90))
        own[-1].end_time_unix_nano += 10**9
    spans = []
    for service, some in (("child-a", behind), ("orchestrator", own)):
        request = req(*some, res={"service.name": service})
        spans += otlp.decode("traces", request.SerializeToString(), "protobuf", "default").spans
    return assemble(spans)


def test_c16_a_sub_agent_behind_a_tool_is_a_recorded_boundary_and_the_report_says_so(script):
    run = with_a_sub_agent(boundary=True)
    source = ASK + "def delegate(to): raise AssertionError\ndelegate('child-a')\nask('q')\n"

    replayed = replay(run, script(source.replace(', "seed": 7', "")))

    assert (replayed.verdict, shape(replayed)) == ("same", [])
    (said,) = [note for note in replayed.notes if "another process (child-a)" in note]
    assert said.endswith("behind a recorded call, whose answer stands for them")


def test_c16_a_sub_agent_that_was_not_started_again_is_said_to_be_no_part_of_the_replay(script):
    run = with_a_sub_agent(boundary=False)
    source = ASK + "ask('q')\n"

    replayed = replay(run, script(source.replace(', "seed": 7', "")))

    assert ("missing_call", "gpt-4o-mini") in {one[:2] for one in shape(replayed)}
    (said,) = [note for note in replayed.notes if "another process (child-a)" in note]
    assert "not asked for: that process was no part of this replay" in said


def test_c16_steps_of_another_process_that_were_asked_for_are_listed():
    run = with_a_sub_agent(boundary=False)
    entries = build(run).entries
    (inner,) = [entry.seq for entry in entries if run.steps[entry.seq].fields.get("process")]

    (said,) = processes.notes_on(run, entries, {inner})

    assert said == f"the record has steps of another process (child-a): step {inner} answered from the record"


# --- C17: arguments that are not the expected JSON --------------------------------------------------------------------

ARGUMENTS = [
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


def broken_arguments():
    calls = [call("q", text, f"call_{n}") for n, text in enumerate(ARGUMENTS)]
    models = [
        llm(f"00000000000001{n:02x}", ROOT, [msg("user", f"go {n}")], [msg("assistant", one)], at=n * 20)
        for n, one in enumerate(calls)
    ]
    tools = [
        tool(f"00000000000002{n:02x}", ROOT, "q", text, "error: bad arguments", id=f"call_{n}", at=n * 20 + 15)
        for n, text in enumerate(ARGUMENTS)
    ]
    return run_of(*models, *tools)


def test_c17_the_agent_is_handed_the_same_broken_text_so_that_its_own_repair_runs():
    with hosted(build(broken_arguments())) as (asking, matcher):
        for number, text in enumerate(ARGUMENTS):
            messages = [{"role": "user", "content": f"go {number}"}]
            (one,) = asking.model(messages, seed=None)["tool_calls"]
            assert (one["id"], one["function"]["arguments"]) == (f"call_{number}", text)
    found = [one for one in matcher.finish(stopped=False)[0] if one.kind == "llm"]
    assert found == []


def test_c17_what_a_tool_was_recorded_with_reaches_a_tool_that_is_given_it_again():
    run = broken_arguments()
    with hosted(build(run)) as (asking, _):
        for number, text in enumerate(ARGUMENTS):
            asking.model([{"role": "user", "content": f"go {number}"}], seed=None)
            given = asking.ask_tool("q", text, f"call_{number}")
            assert given == "error: bad arguments", text


# --- C19: images as base64 --------------------------------------------------------------------------------------------

PNG = base64.b64encode(b"\x89PNG" + bytes(range(256)) * 2000).decode()
PICTURE = ["what is this?", {"type": "blob", "modality": "image", "mime_type": "image/png", "content": PNG}]


def live_picture(data=PNG, kind="image/png"):
    url = {"url": f"data:{kind};base64,{data}"}
    parts = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": url}]
    return {"role": "user", "content": parts}


def pictures():
    history = [
        llm(
            f"00000000000001{n:02x}",
            ROOT,
            [msg("user", *PICTURE), *[msg("assistant", "…")] * n],
            [msg("assistant", f"ok {n}")],
            at=20 * n,
        )
        for n in range(10)
    ]
    return run_of(*history)


def test_c19_a_request_with_a_picture_is_the_recorded_one_also_where_the_history_repeats_it():
    with hosted(build(pictures())) as (asking, matcher):
        for number in range(10):
            messages = [live_picture(), *[{"role": "assistant", "content": "…"}] * number]
            assert asking.model(messages, seed=None)["content"] == f"ok {number}"

    assert matcher.finish(stopped=False) == ((), 0)


@pytest.mark.parametrize(
    "changed",
    [live_picture(PNG[:-8] + "AAAAAAA="), live_picture(kind="image/jpeg")],
    ids=["another picture", "another type"],
)
def test_c19_another_picture_is_never_given_the_recorded_answer(changed):
    with hosted(build(pictures())) as (asking, matcher):
        asking.model([changed], seed=None)

    (found,) = [one for one in matcher.finish(stopped=False)[0] if one.type == "input_mismatch"]
    assert found.path.startswith("/messages/0/parts/1")


# --- C20: text beside tool calls, null content, parameters that are not scalars ---------------------------------------

MIXED = msg("assistant", "Let me check.", call("get_weather", {"city": "Lisbon"}))
HISTORY = [
    msg("system", ""),
    msg("user", "weather?"),
    MIXED,
    msg("tool", answer("", "call_1")),
    msg("assistant"),
    msg("developer", "be brief"),
    msg("user", "and now?", name=None),
]
ODD = run_of(llm("00000000000000b1", ROOT, HISTORY, [MIXED]))


def live_history(**changed):
    arguments = '{"city": "Lisbon"}'
    calls = [{"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}]
    messages = [
        {"role": "system", "content": ""},
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": "Let me check.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_1", "content": ""},
        {"role": "assistant", "content": None},
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": "and now?"},
    ]
    for place_, content in changed.items():
        messages[int(place_.removeprefix("at"))]["content"] = content
    return messages


def test_c20_prose_beside_calls_empty_texts_and_no_content_are_the_recorded_request():
    with hosted(build(ODD)) as (asking, matcher):
        message = asking.model(live_history(), seed=None)

    assert (message["content"], len(message["tool_calls"])) == ("Let me check.", 1)
    assert matcher.finish(stopped=False) == ((), 0)


@pytest.mark.parametrize(
    "changed",
    [{"at0": "be kind"}, {"at2": "Let me see."}, {"at2": None}, {"at3": "sunny"}, {"at5": "be long"}, {"at4": "done"}],
)
def test_c20_a_change_in_any_of_them_is_told_with_its_place(changed):
    with hosted(build(ODD)) as (asking, matcher):
        asking.model(live_history(**changed), seed=None)

    (found,) = matcher.finish(stopped=False)[0]
    (place_,) = changed
    assert found.type == "input_mismatch"
    assert found.path.startswith(f"/messages/{place_.removeprefix('at')}/parts")


def test_c20_two_parallel_calls_without_ids_are_answered_by_their_arguments():
    params = {
        "temperature": 0,
        "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
        "stop": ["\n"],
        "logit_bias": {"50256": -100},
    }
    out = "llm.output_messages.0.message"
    spans = [
        span(
            "ChatCompletion",
            "00000000000000b2",
            ROOT,
            attrs={
                "openinference.span.kind": "LLM",
                "llm.model_name": "gpt-4o-mini",
                "llm.invocation_parameters": json.dumps(params),
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": "weather?",
                f"{out}.role": "assistant",
                f"{out}.content": "",
                **{
                    f"{out}.tool_calls.{n}.tool_call.function.{key}": value
                    for n, city in enumerate(("Lisbon", "Oslo"))
                    for key, value in (("name", "get_weather"), ("arguments", json.dumps({"city": city})))
                },
            },
        ),
        *(
            span(
                "get_weather",
                f"00000000000000c{n}",
                ROOT,
                at=20 + n,
                attrs={
                    "openinference.span.kind": "TOOL",
                    "tool.name": "get_weather",
                    "input.value": json.dumps({"city": city}),
                    "output.value": f"{city} ok",
                },
            )
            for n, city in enumerate(("Oslo", "Lisbon"))
        ),
    ]
    with hosted(build(run_of(*spans))) as (asking, matcher):
        body = {"messages": [{"role": "user", "content": "weather?"}], **params}
        message = asking.model(body.pop("messages"), seed=None, **body)
        contents = [asking.use(one, with_id=False) for one in message["tool_calls"]]

    assert contents == ["Lisbon ok", "Oslo ok"]
    assert matcher.finish(stopped=False) == ((), 0)
