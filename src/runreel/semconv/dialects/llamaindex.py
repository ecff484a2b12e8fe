"""LlamaIndex's own instrumentation: spans named after methods, everything they know in span events.

A model call is a span with chat or completion events; `predict` around it is none. Workflow steps say what they got in
a summary that is cut at 200 characters: a tool's arguments and result are taken from the model's side instead.
"""

import re
from collections.abc import Mapping
from typing import Final

from runreel.semconv import messages as shapes
from runreel.semconv.content import understand
from runreel.semconv.dialect import Dialect, Source, Switch
from runreel.semconv.view import ABSENT, Found, View, nothing
from runreel.values import Kind, Value

SCOPE: Final = "llamaindex.opentelemetry.tracer"
Fields = Mapping[str, Value]

_KINDS: Final[Mapping[str, Kind]] = {
    "LLMChatStartEvent": "llm",
    "LLMChatEndEvent": "llm",
    "LLMCompletionStartEvent": "llm",
    "LLMCompletionEndEvent": "llm",
    "EmbeddingStartEvent": "llm",
    "EmbeddingEndEvent": "llm",
    "SparseEmbeddingStartEvent": "llm",
    "SparseEmbeddingEndEvent": "llm",
    "RetrievalStartEvent": "retrieval",
    "RetrievalEndEvent": "retrieval",
    "ReRankStartEvent": "retrieval",
    "ReRankEndEvent": "retrieval",
    "QueryStartEvent": "agent",
    "QueryEndEvent": "agent",
    "SynthesizeStartEvent": "agent",
    "SynthesizeEndEvent": "agent",
    "StreamChatStartEvent": "agent",
    "StreamChatEndEvent": "agent",
    "AgentChatWithStepStartEvent": "agent",
    "AgentChatWithStepEndEvent": "agent",
    "workflow.output": "agent",
}
_TOOL_STEP: Final = ".call_tool"
_SUMMARY: Final = "llamaindex.step.input_summary"
_TOOL = re.compile(r"\btool_(name|id)='((?:[^'\\]|\\.)*)'")
_ROLES: Final[Mapping[str, str]] = {"chatbot": "assistant", "model": "assistant", "function": "tool"}
_NOT_PARAMS: Final = frozenset({"tools", "formatted", "messages", "model"})


def _claims(view: View) -> bool:
    return view.span.scope.name == SCOPE or "llamaindex.run_id" in view.span.attributes


def _kind(view: View) -> tuple[Kind, str] | None:
    if view.span.name.endswith(_TOOL_STEP) and view.text("llamaindex.step.input_event") == "ToolCall":
        return "tool", "llamaindex.step.input_event"
    return next(((_KINDS[event.name], event.name) for event in view.span.events if event.name in _KINDS), None)


def _event(view: View, *names: str) -> Fields:
    """Return the fields of the first event of one of the names."""
    return next((event.attributes for event in view.span.events if event.name in names), {})


def _parsed(view: View, value: Value) -> Value:
    ok, found = view.memo.parse(value) if isinstance(value, str) else (False, None)
    return found if ok else value


def _message(item: Value, view: View) -> shapes.Message:
    """Turn a message of blocks into ours; older ones have their content bare, and calls among other arguments."""
    if not isinstance(item, Mapping):
        return {"role": "user", "parts": shapes.parts(item, view.memo)}
    said = str(item.get("role") or "user")
    role = _ROLES.get(said, said)
    more = item.get("additional_kwargs")
    extra: Fields = more if isinstance(more, Mapping) else {}
    blocks = item.get("blocks")
    content = item.get("content")
    parts = [_block(one, view) for one in (blocks if isinstance(blocks, tuple) else shapes.parts(content, view.memo))]
    if role == "tool" and (call_id := extra.get("tool_call_id")) is not None:
        texts = [one.get("content") for one in parts if isinstance(one, Mapping) and one.get("type") == "text"]
        response: Value = texts[0] if len(texts) == len(parts) == 1 else tuple(parts)
        return {"role": role, "parts": ({"type": "tool_call_response", "id": call_id, "response": response},)}
    if not any(isinstance(one, Mapping) and one.get("type") == "tool_call" for one in parts):
        calls = _parsed(view, extra.get("tool_calls"))
        listed = calls if isinstance(calls, tuple) else ()
        parts += [shapes.tool_call(one, view.memo) for one in listed if isinstance(one, Mapping)]
    return {"role": role, "parts": tuple(parts)}


def _block(one: Value, view: View) -> Value:
    if not isinstance(one, Mapping):
        return shapes.part(one, view.memo)
    kind = one.get("block_type")
    if kind == "tool_call":
        made = {"id": one.get("tool_call_id"), "name": one.get("tool_name")}
        return shapes.tool_call({**made, "arguments": one.get("tool_kwargs")}, view.memo)
    if kind == "thinking":
        return {"type": "reasoning", "content": one.get("content")}
    if kind == "image" and isinstance(one.get("url"), str):
        return shapes.media(one["url"], "image")
    if kind == "image" and isinstance(one.get("image"), str):
        return {"type": "blob", "modality": "image", "mime_type": one.get("image_mimetype"), "content": one["image"]}
    rest = {key: value for key, value in one.items() if key != "block_type"}
    return shapes.part({"type": kind, **rest}, view.memo)


def _input(view: View) -> Found:
    chat = _event(view, "LLMChatStartEvent") or _event(view, "LLMChatEndEvent")
    if chat:
        listed = _parsed(view, chat.get("messages"))
        if not isinstance(listed, tuple):
            return Found(listed, "cut", "not_json: the messages are no JSON to their end", "events", ("messages",))
        return Found(tuple(_message(one, view) for one in listed), "whole", "", "events", ("messages",))
    prompt = (_event(view, "LLMCompletionStartEvent") or _event(view, "LLMCompletionEndEvent")).get("prompt")
    chunks = _event(view, "EmbeddingEndEvent", "SparseEmbeddingEndEvent").get("chunks")
    return _said(view, chunks if prompt is None else prompt, "user", "prompt")


def _output(view: View) -> Found:
    chat, done = _event(view, "LLMChatEndEvent"), _event(view, "LLMCompletionEndEvent")
    if chat:
        blocks, content = _parsed(view, chat.get("response.message.blocks")), chat.get("response.message.content")
        calls = chat.get("response.message.additional_kwargs.tool_calls")
        item: dict[str, Value] = {"role": chat.get("response.message.role") or "assistant", "content": content}
        item |= {"blocks": blocks, "additional_kwargs": {"tool_calls": calls}}
        if blocks is None and content is None and calls is None:
            return ABSENT
        made = dict(_message(item, view))
        if reasons := _finish_reasons(view):
            made["finish_reason"] = shapes.finish(reasons[0])
        return Found((made,), "whole", "", "events", ("response.message.blocks",))
    vectors = _event(view, "EmbeddingEndEvent", "SparseEmbeddingEndEvent").get("embeddings")
    if vectors is not None:
        return Found(shapes.embedded(_parsed(view, vectors)), "whole", "", "events", ("embeddings",))
    return _said(view, done.get("response.text"), "assistant", "response.text")


def _said(view: View, value: Value, role: str, key: str) -> Found:
    if value is None:
        return ABSENT
    found = understand("messages", value if isinstance(value, tuple) else (value,), role, view.memo)
    return Found(found.value, found.state, found.reason, "events", (key,))


def _definitions(view: View) -> Found:
    tools = _parsed(view, _event(view, "LLMChatStartEvent").get("additional_kwargs.tools"))
    if not isinstance(tools, tuple):
        return ABSENT
    return Found(shapes.definitions(tools, view.memo), "whole", "", "events", ("additional_kwargs.tools",))


def _answer(view: View) -> Fields:
    return _event(view, "LLMChatEndEvent", "LLMCompletionEndEvent")


def _finish_reasons(view: View) -> tuple[str, ...]:
    answer = _answer(view)
    choices = _parsed(view, answer.get("response.raw.choices"))
    listed = [
        one.get("finish_reason") for one in (choices if isinstance(choices, tuple) else ()) if isinstance(one, Mapping)
    ]
    single = answer.get("response.raw.stop_reason")
    return tuple(one for one in (*listed, single) if isinstance(one, str) and one != "null")


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind == "tool":
        found = dict(_TOOL.findall(view.text(_SUMMARY)))
        return {"name": found.get("name"), "call_id": found.get("id")}
    if kind in ("agent", "retrieval"):
        return {"name": view.span.name.partition(".")[0]}
    return _llm_extras(view) if kind == "llm" else {}


def _llm_extras(view: View) -> Mapping[str, Value]:
    start = _event(view, "LLMChatStartEvent", "LLMCompletionStartEvent", "EmbeddingStartEvent")
    answer = _answer(view)

    def first(*keys: str) -> Value:
        found = (answer.get(f"response.raw.{key}") for key in keys)
        return next((one for one in found if not nothing(one) and one != "null"), None)

    embedding = any(event.name.startswith(("Embedding", "SparseEmbedding")) for event in view.span.events)
    out: dict[str, Value] = {
        "model": first("model", "model_version"),
        "model_requested": _named(start.get("model_dict.model")) or _named(start.get("model_dict.model_name")),
        "operation": "embeddings" if embedding else "chat" if _event(view, "LLMChatStartEvent") else "text_completion",
        "response_id": first("id", "response_id"),
        "system_fingerprint": first("system_fingerprint"),
        "finish_reasons": _finish_reasons(view),
        "stream": any(event.name.endswith("InProgressEvent") for event in view.span.events) or None,
        "usage.input_tokens": first("usage.prompt_tokens", "usage.input_tokens"),
        "usage.output_tokens": first("usage.completion_tokens", "usage.output_tokens"),
        "usage.cache_read": first("usage.prompt_tokens_details.cached_tokens", "usage.cache_read_input_tokens"),
        "usage.reasoning": first("usage.completion_tokens_details.reasoning_tokens"),
    }
    for name in ("temperature", "max_tokens", "top_p", "seed"):
        out[f"params.{name}"] = start.get(f"model_dict.{name}")
    for key, value in start.items():
        name = key.removeprefix("additional_kwargs.")
        if name != key and name not in _NOT_PARAMS and "." not in name and value != "null":
            out[f"params.{name}"] = _parsed(view, value)
    return out


def _named(value: Value) -> Value:
    return None if value == "unknown" else value


def _query(view: View) -> Found:
    names = ("RetrievalStartEvent", "RetrievalEndEvent", "ReRankStartEvent")
    for name in names:
        fields = _event(view, name)
        for key in ("str_or_query_bundle.query_str", "str_or_query_bundle", "query.query_str", "query"):
            if not nothing(value := fields.get(key)):
                return Found(value, "whole", "", "events", (key,))
    return ABSENT


def _documents(view: View) -> Found:
    raw = _event(view, "RetrievalEndEvent", "ReRankEndEvent").get("nodes")
    if raw is None:
        return ABSENT
    found = understand("documents", raw, "", view.memo)
    if not isinstance(found.value, tuple):
        return Found(found.value, found.state, found.reason, "events", ("nodes",))
    kept = ("id", "score", "content", "metadata")
    slim = tuple(
        {key: one[key] for key in kept if key in one} if isinstance(one, Mapping) else one for one in found.value
    )
    return Found(slim, found.state, found.reason, "events", ("nodes",))


def _asked(view: View) -> Found:
    for name in ("QueryStartEvent", "QueryEndEvent", "SynthesizeStartEvent", "StreamChatStartEvent"):
        fields = _event(view, name)
        for key in ("query", "query.query_str", "user_msg"):
            if not nothing(value := fields.get(key)):
                return Found(value, "whole", "", "events", (key,))
    return ABSENT


def _replied(view: View) -> Found:
    value = _event(view, "QueryEndEvent", "SynthesizeEndEvent").get("response.response")
    return ABSENT if nothing(value) else Found(value, "whole", "", "events", ("response.response",))


_ALWAYS = (
    "nothing to switch on: this instrumentation always sends content, in span events; raise "
    "OTEL_SPAN_EVENT_COUNT_LIMIT at the sender if events were left out (a long stream drops the first ones)"
)
_NOT_STREAMED: Final = (
    "set streaming=False on the agent at the sender: the span of a streamed answer ends before the answer, which then "
    "never arrives (OpenInference's instrumentation waits for it)"
)

DIALECT = Dialect(
    name="llamaindex",
    title="LlamaIndex",
    claims=_claims,
    kind=_kind,
    contents={
        "agent.input": Source(("QueryStartEvent",), read=_asked),
        "agent.output": Source(("QueryEndEvent",), read=_replied),
        "llm.input": Source(("LLMChatStartEvent", "LLMCompletionStartEvent", "EmbeddingEndEvent"), read=_input),
        "llm.output": Source(("LLMChatEndEvent", "LLMCompletionEndEvent", "EmbeddingEndEvent"), read=_output),
        "llm.tool_definitions": Source(("LLMChatStartEvent",), read=_definitions),
        "retrieval.input": Source(("RetrievalStartEvent", "ReRankStartEvent"), read=_query),
        "retrieval.output": Source(("RetrievalEndEvent", "ReRankEndEvent"), read=_documents),
    },
    extras=_extras,
    coded={
        "agent.name": ("span name",),
        "retrieval.name": ("span name",),
        "tool.name": (_SUMMARY,),
        "tool.call_id": (_SUMMARY,),
        "llm.model": ("LLMChatEndEvent",),
        "llm.model_requested": ("LLMChatStartEvent",),
        "llm.operation": ("LLMChatStartEvent",),
        "llm.response_id": ("LLMChatEndEvent",),
        "llm.system_fingerprint": ("LLMChatEndEvent",),
        "llm.finish_reasons": ("LLMChatEndEvent",),
        "llm.stream": ("LLMChatInProgressEvent",),
        "llm.params.extra": ("LLMChatStartEvent",),
        "llm.usage.input_tokens": ("LLMChatEndEvent",),
        "llm.usage.output_tokens": ("LLMChatEndEvent",),
        "llm.usage.cache_read": ("LLMChatEndEvent",),
        "llm.usage.reasoning": ("LLMChatEndEvent",),
    },
    switches=(Switch(SCOPE, _ALWAYS, _NOT_STREAMED),),
)
