"""Vercel's AI SDK: up to version 6, and the legacy mode of 7, under `ai.*`; version 7 as the conventions have it.

`ai.generateText` and its like are the whole exchange with the tools in it, a sum and no model call; the calls are the
`doGenerate` and `doStream` below it.
"""

from collections.abc import Mapping
from typing import Final

from runreel.semconv import messages as shapes
from runreel.semconv.content import understand
from runreel.semconv.dialect import Dialect, Source, Switch, arguments_source
from runreel.semconv.view import ABSENT, Found, View
from runreel.values import Kind, Value

_OPERATION: Final = "ai.operationId"
_NAME: Final = "operation.name"
_CALLS: Final = (".doGenerate", ".doStream", ".doEmbed")
_OUTER: Final = frozenset(
    {
        "ai.generateText",
        "ai.streamText",
        "ai.generateObject",
        "ai.streamObject",
        "ai.embed",
        "ai.embedMany",
        "ai.rerank",
    }
)
_FINGERPRINT: Final = ("ai.operationId", "ai.model.id", "ai.prompt.toolChoice", "ai.telemetry.functionId")
_TEXT: Final = "ai.response.text"
_OBJECT: Final = "ai.response.object"
_TOOL_CALLS: Final = "ai.response.toolCalls"
_REASONING: Final = "ai.response.reasoning"
_ANSWER: Final = (_TEXT, _OBJECT, _TOOL_CALLS, _REASONING)
_VECTORS: Final = ("ai.embedding", "ai.embeddings")
_DETAILS: Final = "ai.usage.inputTokenDetails."


def _operation(view: View) -> str:
    """Return what the SDK did, `ai.embed.doEmbed`: some processors keep only `operation.name` or the span's name, where
    the function's id may stand behind it."""
    named = (view.text(_OPERATION), view.text(_NAME), view.span.name)
    words = (one.split(maxsplit=1) for one in named)
    return next((found[0] for found in words if found and found[0].startswith("ai.")), "")


def _claims(view: View) -> bool:
    return view.span.scope.name == "ai" or any(key in view.span.attributes for key in _FINGERPRINT)


def _kind(view: View) -> tuple[Kind, str] | None:
    operation = _operation(view)
    source = _OPERATION if view.text(_OPERATION) else _NAME if view.text(_NAME) else "name"
    if operation.endswith(_CALLS):
        return "llm", source
    if operation == "ai.toolCall":
        return "tool", source
    if operation.endswith(".doRerank"):
        return "retrieval", source
    return ("agent", source) if operation in _OUTER else None


def _prompt(view: View) -> Found:
    """What the whole exchange was given: `{system, prompt}` or `{system, messages}`."""
    for source, key, raw in view.locate(("ai.prompt",)):
        found = understand("json", raw, "", view.memo)
        if not isinstance(found.value, Mapping):
            return Found(found.value, found.state, found.reason, source, (key,))
        asked = found.value.get("messages", found.value.get("prompt"))
        made = shapes.messages(asked, "user", view.memo)
        if found.value.get("system") is not None:
            made = (*shapes.messages(found.value["system"], "system", view.memo), *made)
        return Found(made, "whole", "", source, (key,)) if made else ABSENT
    return ABSENT


def _output(view: View) -> Found:
    """The answer, put together from its text, object, reasoning and tool calls, each with a key of its own."""
    found = {key: raw for _, key, raw in view.locate(_ANSWER)}
    if not found:
        return _vectors(view)
    keys = tuple(found)
    reasoning, text, calls = found.get(_REASONING), found.get(_TEXT, found.get(_OBJECT)), found.get(_TOOL_CALLS)
    called = understand("json", calls, "", view.memo)
    if called.state != "whole":
        return Found(called.value, called.state, f"{called.reason} ({_TOOL_CALLS})", "attributes", (_TOOL_CALLS,))
    listed = called.value if isinstance(called.value, tuple) else ()
    parts = [
        *({"type": "reasoning", "content": reasoning} for _ in range(reasoning not in (None, ""))),
        *({"type": "text", "content": text} for _ in range(text is not None and (text != "" or not listed))),
        *({"type": "tool-call", **one} for one in listed if isinstance(one, Mapping)),
    ]
    if not parts:
        return Found(None, "absent", f"empty: there is no answer ({', '.join(keys)})")
    made: dict[str, Value] = {"role": "assistant", "parts": shapes.parts(tuple(parts), view.memo)}
    reason = view.text("ai.response.finishReason")
    if reason:
        made["finish_reason"] = shapes.finish(reason)
    holes = shapes.holes((made,))
    return Found((made,), "withheld" if holes else "whole", holes, "attributes", keys)


def _vectors(view: View) -> Found:
    """What an embedding answered: one vector as JSON, or a list of them."""
    for source, key, raw in view.locate(_VECTORS):
        listed = raw if isinstance(raw, tuple) else (raw,)
        vectors = tuple(understand("json", one, "", view.memo) for one in listed)
        worst = next((one for one in vectors if one.state != "whole"), None)
        if worst is not None:
            return Found(None, worst.state, f"{worst.reason} ({key})", source, (key,))
        return Found(shapes.embedded(tuple(one.value for one in vectors)), "whole", "", source, (key,))
    return ABSENT


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind != "llm":
        return {}
    operation = _operation(view)
    out: dict[str, Value] = {"params.tool_choice": _parsed(view, "ai.prompt.toolChoice")}
    if operation.endswith(".doStream"):
        out["stream"] = True
    if operation.endswith(".doEmbed"):
        out["operation"] = "embeddings"
    first = view.get("ai.response.msToFirstChunk")
    if isinstance(first, int | float):
        out["time_to_first_chunk"] = first / 1000
    calls = _parsed(view, _TOOL_CALLS)
    out["tool_call_texts"] = tuple(
        text if isinstance(text, str) else None
        for one in (calls if isinstance(calls, tuple) else ())
        if isinstance(one, Mapping)
        for text in (one.get("input", one.get("args")),)
    )
    return out


def _parsed(view: View, key: str) -> Value:
    raw = view.get(key)
    ok, parsed = view.memo.parse(raw) if isinstance(raw, str) else (True, raw)
    return parsed if ok else raw


_IN: Final = "pass experimental_telemetry: {isEnabled: true, recordInputs: true} to the call (version 7: telemetry)"
_OUT: Final = "pass experimental_telemetry: {isEnabled: true, recordOutputs: true} to the call (version 7: telemetry)"

DIALECT = Dialect(
    name="vercel_ai",
    title="Vercel AI SDK",
    claims=_claims,
    kind=_kind,
    scalars={
        "agent.name": ("gen_ai.agent.name", "ai.telemetry.functionId", _OPERATION),
        "llm.model": ("gen_ai.response.model", "ai.response.model"),
        "llm.model_requested": ("gen_ai.request.model", "ai.model.id"),
        "llm.provider": ("gen_ai.provider.name", "gen_ai.system", "ai.model.provider"),
        "llm.params.temperature": ("gen_ai.request.temperature", "ai.settings.temperature"),
        "llm.params.top_p": ("gen_ai.request.top_p", "ai.settings.topP"),
        "llm.params.top_k": ("gen_ai.request.top_k", "ai.settings.topK"),
        "llm.params.max_tokens": (
            "gen_ai.request.max_tokens",
            "ai.settings.maxOutputTokens",
            "ai.settings.maxTokens",
        ),
        "llm.params.seed": ("gen_ai.request.seed", "ai.settings.seed"),
        "llm.params.stop": ("gen_ai.request.stop_sequences", "ai.settings.stopSequences"),
        "llm.params.frequency_penalty": ("gen_ai.request.frequency_penalty", "ai.settings.frequencyPenalty"),
        "llm.params.presence_penalty": ("gen_ai.request.presence_penalty", "ai.settings.presencePenalty"),
        "llm.usage.input_tokens": (
            "gen_ai.usage.input_tokens",
            "ai.usage.inputTokens",
            "ai.usage.promptTokens",
            "ai.usage.tokens",
        ),
        "llm.usage.output_tokens": (
            "gen_ai.usage.output_tokens",
            "ai.usage.outputTokens",
            "ai.usage.completionTokens",
        ),
        "llm.usage.cache_read": (
            "gen_ai.usage.cache_read.input_tokens",
            f"{_DETAILS}cacheReadTokens",
            "ai.usage.cachedInputTokens",
        ),
        "llm.usage.cache_write": (
            "gen_ai.usage.cache_write.input_tokens",
            "gen_ai.usage.cache_creation.input_tokens",
            f"{_DETAILS}cacheWriteTokens",
        ),
        "llm.usage.reasoning": ("ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"),
        "llm.finish_reasons": ("gen_ai.response.finish_reasons", "ai.response.finishReason"),
        "llm.response_id": ("gen_ai.response.id", "ai.response.id"),
        "tool.name": ("ai.toolCall.name",),
        "tool.call_id": ("ai.toolCall.id",),
        "run.agent_id": ("ai.telemetry.functionId",),
        "run.conversation_id": ("ai.telemetry.metadata.sessionId",),
        "run.user_ref": ("ai.telemetry.metadata.userId",),
    },
    contents={
        "agent.input": Source(("ai.prompt",), read=_prompt),
        "agent.output": Source(_ANSWER, read=_output),
        "llm.input": Source(("ai.prompt.messages", "ai.value", "ai.values"), "messages"),
        "llm.output": Source((*_ANSWER, *_VECTORS), read=_output),
        "llm.tool_definitions": Source(("ai.prompt.tools",), "definitions"),
        "tool.input": arguments_source("ai.toolCall.args"),
        "tool.output": Source(("ai.toolCall.result",)),
    },
    extras=_extras,
    coded={
        "llm.params.extra": ("ai.prompt.toolChoice",),
        "llm.stream": (_OPERATION, _NAME),
        "llm.operation": (_OPERATION, _NAME),
        "llm.time_to_first_chunk": ("ai.response.msToFirstChunk",),
        "llm.tool_call_texts": (_TOOL_CALLS,),
    },
    switches=(Switch("ai", _IN, _OUT),),
)
