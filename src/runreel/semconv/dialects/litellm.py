"""LiteLLM's callback: messages as JSON whose parts lack tool calls, or as indexed `gen_ai.prompt.N` keys.

Of the spans that it writes for one call, `litellm_request` is the step; `raw_gen_ai_request` below it holds the same
once more, as Python's text.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv import messages as shapes
from runreel.semconv.dialect import Dialect, Source, Switch, read_keys, read_source
from runreel.semconv.dialects import openllmetry
from runreel.semconv.indexed import indexed
from runreel.semconv.view import ABSENT, Found, View
from runreel.values import Kind, Value

SCOPE: Final = "litellm"
_KEYS: Final = ("hidden_params", "gen_ai.cost.", "llm.openai.messages")


def _claims(view: View) -> bool:
    return view.span.scope.name == SCOPE or view.names.begin(_KEYS)


def _kind(view: View) -> tuple[Kind, str] | None:
    """Only the request span is a model call; the spans of the raw request, the proxy and its services are structure."""
    if view.span.name in ("litellm_request", "Received Proxy Server Request") or view.text("gen_ai.request.model"):
        told = view.names.begin(("gen_ai.request.model", "gen_ai.prompt"))
        return ("llm", "gen_ai.request.model") if told else None
    return None


def _read(view: View, key: str, role: str, more: tuple[Value, ...] = ()) -> Found:
    """Read messages; calls and the id of a call stand beside their parts, in the provider's form."""
    found = read_keys(view, (key,), "messages", role)
    if found.state not in ("whole", "withheld") or not isinstance(found.value, tuple):
        return found
    made = [_message(one, view) for one in found.value if isinstance(one, Mapping)]
    if more and made and not any(_is_call(part) for part in _parts(made[0])):
        made[0] = {**made[0], "parts": (*_parts(made[0]), *more)}
    reason = shapes.holes(made)
    return replace(found, value=tuple(made), state="withheld" if reason else "whole", reason=reason)


def _message(one: Mapping[str, Value], view: View) -> shapes.Message:
    made = {key: value for key, value in one.items() if key not in ("tool_calls", "tool_call_id")}
    parts = _parts(one)
    calls = one.get("tool_calls")
    if isinstance(calls, tuple) and not any(_is_call(part) for part in parts):
        parts = (*parts, *(shapes.tool_call(call, view.memo) for call in calls if isinstance(call, Mapping)))
    if one.get("role") == "tool" and isinstance(call_id := one.get("tool_call_id"), str):
        told: dict[str, Value] = {"type": "tool_call_response", "id": call_id}
        texts = [part.get("content") for part in parts if isinstance(part, Mapping) and part.get("type") == "text"]
        if parts:
            told["response"] = texts[0] if len(texts) == len(parts) == 1 else parts
        parts = (told,)
    return {**made, "parts": parts}


def _parts(one: Mapping[str, Value]) -> tuple[Value, ...]:
    parts = one.get("parts")
    return parts if isinstance(parts, tuple) else ()


def _is_call(part: Value) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "tool_call"


def _output(view: View) -> Found:
    """The answer; its tool calls, without ids, are `gen_ai.completion.N.function_call`: N counts calls, not answers."""
    listed = [tree.get("function_call") for tree in indexed(view, "gen_ai.completion")[1]]
    calls = tuple(shapes.tool_call(one, view.memo) for one in listed if isinstance(one, Mapping))
    found = _read(view, "gen_ai.output.messages", "assistant", calls)
    return found if found is not ABSENT else read_source(view, openllmetry.DIALECT.contents["llm.output"])


def _input(view: View) -> Found:
    found = _read(view, "gen_ai.input.messages", "user")
    return found if found is not ABSENT else read_source(view, openllmetry.DIALECT.contents["llm.input"])


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    """The finish reason is a plain text here; LiteLLM's word for a stream is `llm.is_streaming`, a text as well."""
    if kind != "llm":
        return {}
    listed = [tree.get("function_call") for tree in indexed(view, "gen_ai.completion")[1]]
    texts = tuple(one.get("arguments") for one in listed if isinstance(one, Mapping))
    return {
        "tool_call_texts": texts,
        "stream": {"true": True, "false": False}.get(str(view.get("llm.is_streaming")).lower()),
    }


def _definitions(view: View) -> Found:
    tools = view.get("gen_ai.request.tools", "llm.request.tools")
    if tools is None:
        return ABSENT
    ok, parsed = view.memo.parse(tools) if isinstance(tools, str) else (True, tools)
    return (
        Found(shapes.definitions(parsed, view.memo), "whole", "", "attributes", ("llm.request.tools",))
        if ok
        else ABSENT
    )


_ON = (
    "leave turn_off_message_logging unset (or false) in litellm_settings at the sender, and message_logging of its "
    "callback on"
)

DIALECT = Dialect(
    name="litellm",
    title="LiteLLM",
    claims=_claims,
    kind=_kind,
    scalars={
        "llm.params.n": ("gen_ai.request.choice.count",),
        "run.user_ref": ("metadata.user_api_key_user_id", "llm.user"),
    },
    contents={
        "llm.input": Source(("gen_ai.input.messages", "gen_ai.prompt.*"), read=_input),
        "llm.output": Source(("gen_ai.output.messages", "gen_ai.completion.*"), read=_output),
        "llm.tool_definitions": Source(("llm.request.tools",), read=_definitions),
    },
    extras=_extras,
    coded={"llm.stream": ("llm.is_streaming",)},
    switches=(Switch(SCOPE, _ON, _ON),),
    base=openllmetry.DIALECT,
    hides=frozenset({"llm.input", "llm.output"}),
)
