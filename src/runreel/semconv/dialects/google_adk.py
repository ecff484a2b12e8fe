"""Google's Agent Development Kit, telemetry schemas 1 and 2.

Schema 1 writes a model call twice: `call_llm` with request and answer as Gemini has them, and below it
`generate_content` with an event a message. Schema 2 writes it once, as the conventions have it. Content that is
switched off is `{}` or `<elided>`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv import messages as shapes
from runreel.semconv.content import tool_arguments, understand
from runreel.semconv.dialect import Dialect, Source, Switch, arguments_source, read_keys
from runreel.semconv.message_events import Body, answered, read_body, sent
from runreel.semconv.view import ABSENT, Found, Memo, View
from runreel.values import Kind, Value

_OWN: Final = "gcp.vertex.agent."
_REQUEST: Final = f"{_OWN}llm_request"
_ANSWER: Final = f"{_OWN}llm_response"
_ARGUMENTS: Final = f"{_OWN}tool_call_args"
_RESULT: Final = f"{_OWN}tool_response"
_MERGED: Final = "(merged tools)"
_MESSAGES: Final = "gen_ai.output.messages"
_TRANSFER: Final = "transfer_to_agent"
# Tools by which a model steers the agent, or gives its answer: they reach nothing outside, and run again.
_STEERING: Final[Mapping[str, str]] = {_TRANSFER: "handoff", "exit_loop": "escalate"}
_NO_CALLS: Final = frozenset({_MERGED, "set_model_response"})
_OFF: Final = "content_off: the sender put {} in its place"
_PARAMS: Final[Mapping[str, str]] = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "max_output_tokens": "max_tokens",
    "candidate_count": "n",
    "stop_sequences": "stop",
    "seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
}
# Of the request's config: what has a place of its own, and what is about the connection.
_NOT_PARAMS: Final = frozenset({"system_instruction", "tools", "http_options", "labels"})


def _claims(view: View) -> bool:
    scope = view.span.scope.name
    return scope == "gcp.vertex.agent" or view.names.begin(_OWN)


def _kind(view: View) -> tuple[Kind, str] | None:
    tool = view.text("gen_ai.tool.name")
    if tool in _NO_CALLS or view.span.name == "execute_tool (merged)":
        return "other", "gen_ai.tool.name"
    if tool in _STEERING:
        return "decision", "gen_ai.tool.name"
    if view.text("gen_ai.operation.name"):
        return None
    if view.span.name == "call_llm":
        return "llm", "span name"
    if view.span.name == "invocation" or view.span.name.startswith("agent_run"):
        return "agent", "span name"
    return None


def _json(view: View, key: str) -> Found:
    """Return one of the JSON texts; `{}` stands where content would."""
    for source, _, raw in view.locate((key,)):
        found = understand("json", raw, "", view.memo)
        if found.value == {}:
            found = Found(None, "withheld", _OFF)
        reason = found.reason and f"{found.reason} ({key})"
        return replace(found, reason=reason, source=source, keys=(key,))
    return ABSENT


def _map(value: Value) -> Mapping[str, Value]:
    return value if isinstance(value, Mapping) else {}


def _content(value: Value, role: str, memo: Memo) -> shapes.Message:
    """Return the message of one of Gemini's contents: `{role, parts}`, where the model's role is `model`."""
    if not isinstance(value, Mapping):
        return {"role": role, "parts": shapes.parts(value, memo)}
    parts = shapes.parts(value.get("parts"), memo)
    answers = [isinstance(one, Mapping) and one.get("type") == "tool_call_response" for one in parts]
    said = value.get("role") or role
    return {"role": "assistant" if said == "model" else "tool" if answers and all(answers) else said, "parts": parts}


def _body(body: Body, role: str, memo: Memo) -> shapes.Message:
    content = body.get("content")
    return _content(content, role, memo) if isinstance(content, Mapping) else read_body(body, role, memo)


def _input(view: View) -> Found:
    found = _json(view, _REQUEST)
    if not isinstance(found.value, Mapping):
        return found if found is not ABSENT else sent(view, _body)
    system = _map(found.value.get("config")).get("system_instruction")
    contents = found.value.get("contents")
    listed = contents if isinstance(contents, tuple) else ()
    made = [_content(one, "user", view.memo) for one in listed]
    if system is not None:
        inner = system.get("parts") if isinstance(system, Mapping) else system
        made.insert(0, {"role": "system", "parts": shapes.parts(inner, view.memo)})
    return replace(found, value=tuple(made))


def _output(view: View) -> Found:
    pieces = read_keys(view, (_MESSAGES,), "messages", "assistant")
    if isinstance(pieces.value, tuple):
        return replace(pieces, value=_joined(pieces.value))
    found = _json(view, _ANSWER)
    if not isinstance(found.value, Mapping):
        return found if found is not ABSENT else answered(view, _body)
    if "content" not in found.value:
        return replace(found, value=None, state="absent", reason="empty: the answer has no content")
    made = dict(_content(found.value["content"], "assistant", view.memo))
    reason = found.value.get("finish_reason")
    if reason is not None:
        made["finish_reason"] = shapes.finish(reason)
    return replace(found, value=(made,))


def _joined(pieces: tuple[Value, ...]) -> tuple[Value, ...]:
    """Put the pieces of a stream together: each is written as a message, all but the last without a finish reason."""
    out: list[Mapping[str, Value]] = []
    for piece in pieces:
        if not isinstance(piece, Mapping):
            return pieces
        if out and not out[-1].get("finish_reason") and piece.get("role") == out[-1].get("role"):
            parts = (*_listed(out[-1].get("parts")), *_listed(piece.get("parts")))
            out[-1] = {**out[-1], **piece, "parts": shapes.joined(parts)}
        else:
            out.append(piece)
    return tuple(out)


def _definitions(view: View) -> Found:
    found = _json(view, _REQUEST)
    config = _map(_map(found.value).get("config"))
    tools = config.get("tools")
    declared = [
        one
        for tool in (tools if isinstance(tools, tuple) else ())
        for one in _listed(_map(tool).get("function_declarations"))
    ]
    made = shapes.definitions(tuple(declared), view.memo)
    return Found(made, "whole", "", found.source, found.keys) if made else ABSENT


def _listed(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else ()


def _tool_input(view: View) -> Found:
    for source, key, raw in view.locate((_ARGUMENTS,)):
        if raw == "{}":
            return Found(None, "withheld", f"{_OFF} ({key})", source, (key,))
        return replace(tool_arguments(raw, view.memo), source=source, keys=(key,))
    return ABSENT


def _tool_output(view: View) -> Found:
    for source, key, raw in view.locate((_RESULT,)):
        if raw == "{}":
            return Found(None, "withheld", f"{_OFF} ({key})", source, (key,))
        return replace(understand("value", raw, "", view.memo), source=source, keys=(key,))
    return ABSENT


def _chosen(view: View) -> Found:
    """The agent that a transfer goes to, from the arguments of the pseudo-tool."""
    for source, key, raw in view.locate(("gen_ai.tool.call.arguments", _ARGUMENTS)):
        found = tool_arguments(raw, view.memo)
        name = found.value.get("agent_name") if isinstance(found.value, Mapping) else None
        if isinstance(name, str):
            return Found(name, "whole", "", source, (key,))
    return ABSENT


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind == "decision":
        return {"type": _STEERING.get(view.text("gen_ai.tool.name"), "handoff")}
    if kind != "llm":
        return {}
    config = _map(_map(_json(view, _REQUEST).value).get("config"))
    out: dict[str, Value] = {
        f"params.{_PARAMS.get(key, key)}": value for key, value in config.items() if key not in _NOT_PARAMS
    }
    answer = _map(_json(view, _ANSWER).value)
    usage = _map(answer.get("usage_metadata"))
    out["model"] = answer.get("model_version")
    out["usage.reasoning"] = usage.get("thoughts_token_count")
    return out


_SETTING: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_ON: Final = (
    f"set {_SETTING}=SPAN_ONLY at the sender (`true` means log events only there); with "
    "ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN=1: leave ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS at its default, true"
)

DIALECT = Dialect(
    name="google_adk",
    title="Google ADK",
    claims=_claims,
    kind=_kind,
    scalars={
        "run.conversation_id": (f"{_OWN}session_id",),
    },
    contents={
        "llm.input": Source((_REQUEST, "gen_ai.*.message"), read=_input),
        "llm.output": Source((_MESSAGES, _ANSWER, "gen_ai.choice"), read=_output),
        "llm.tool_definitions": Source((_REQUEST,), read=_definitions),
        "tool.input": Source((_ARGUMENTS,), read=_tool_input),
        "tool.output": Source((_RESULT,), read=_tool_output),
        "decision.input": arguments_source("gen_ai.tool.call.arguments", _ARGUMENTS),
        "decision.output": Source((_ARGUMENTS,), read=_chosen),
    },
    extras=_extras,
    coded={
        "llm.model": (_ANSWER,),
        "llm.params.extra": (_REQUEST,),
        "llm.usage.reasoning": (_ANSWER,),
        "decision.type": ("gen_ai.tool.name",),
    },
    switches=(Switch("gcp.vertex.agent", _ON, _ON),),
)
