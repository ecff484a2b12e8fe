"""Genkit: the action in `genkit:*` attributes, its input and output as JSON."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv import messages as shapes
from runreel.semconv.content import understand
from runreel.semconv.dialect import Dialect, Source, Switch, read_keys
from runreel.semconv.view import ABSENT, Found, View
from runreel.values import Kind, Value

_IN: Final = "genkit:input"
_OUT: Final = "genkit:output"
_NAME: Final = "genkit:name"
SUBTYPE: Final = "genkit:metadata:subtype"
_V2: Final = ".v2"  # newer tools: their result stands under `output`, beside parts for the model
_KINDS: Final[Mapping[str, Kind]] = {
    "model": "llm",
    "embedder": "llm",
    "tool": "tool",
    "retriever": "retrieval",
    "reranker": "retrieval",
    "flow": "agent",
    "executable-prompt": "agent",
    "prompt": "agent",
}
_ROLES: Final[Mapping[str, str]] = {"model": "assistant"}
_NOT_PARAMS: Final = frozenset({"apiKey"})
_RENAMED: Final[Mapping[str, str]] = {
    "maxOutputTokens": "max_tokens",
    "topK": "top_k",
    "topP": "top_p",
    "stopSequences": "stop",
}


def _claims(view: View) -> bool:
    return view.span.scope.name == "genkit-tracer" or view.names.begin("genkit:")


def _kind(view: View) -> tuple[Kind, str] | None:
    for key in (SUBTYPE, "genkit:type"):
        named = view.text(key).removesuffix(_V2)
        if named in _KINDS:
            return _KINDS[named], key
    return None


def _json(view: View, key: str) -> tuple[Found, Mapping[str, Value]]:
    found = read_keys(view, (key,), "json")
    return found, found.value if isinstance(found.value, Mapping) else {}


def _message(item: Value, view: View) -> shapes.Message:
    """Turn `{role, content: [parts]}` into ours; a part is told apart by its one key."""
    if not isinstance(item, Mapping):
        return {"role": "user", "parts": shapes.parts(item, view.memo)}
    said = str(item.get("role") or "user")
    content = item.get("content")
    listed = content if isinstance(content, tuple) else (content,) if content is not None else ()
    return {"role": _ROLES.get(said, said), "parts": tuple(_part(one, view) for one in listed)}


def _part(one: Value, view: View) -> Value:
    if not isinstance(one, Mapping):
        return shapes.part(one, view.memo)
    if isinstance(call := one.get("toolRequest"), Mapping):
        return shapes.tool_call(
            {"id": call.get("ref"), "name": call.get("name"), "arguments": call.get("input")}, view.memo
        )
    if isinstance(told := one.get("toolResponse"), Mapping):
        return {"type": "tool_call_response", "id": told.get("ref") or "", "response": told.get("output")}
    if isinstance(media := one.get("media"), Mapping):
        return shapes.media(media.get("url"), str(media.get("contentType") or "image").partition("/")[0])
    if "reasoning" in one:
        return {"type": "reasoning", "content": one["reasoning"]}
    return shapes.part(one, view.memo)


def _input(view: View) -> Found:
    found, whole = _json(view, _IN)
    listed = whole.get("messages", whole.get("input"))
    if found.state != "whole" or not isinstance(listed, tuple):
        return found if found.state != "whole" else ABSENT
    return replace(found, value=tuple(_message(one, view) for one in listed))


def _output(view: View) -> Found:
    found, whole = _json(view, _OUT)
    answer = whole.get("message")
    listed = whole.get("embeddings")
    if found.state == "whole" and isinstance(listed, tuple):
        vectors = tuple(one.get("embedding") if isinstance(one, Mapping) else one for one in listed)
        return replace(found, value=shapes.embedded(vectors))
    if found.state != "whole" or not isinstance(answer, Mapping):
        return found if found.state != "whole" else ABSENT
    made = dict(_message(answer, view))
    if isinstance(reason := whole.get("finishReason"), str):
        made["finish_reason"] = shapes.finish(reason)
    return replace(found, value=(made,))


def _definitions(view: View) -> Found:
    tools = _json(view, _IN)[1].get("tools")
    if not isinstance(tools, tuple):
        return ABSENT
    return Found(shapes.definitions(tools, view.memo), "whole", "", "attributes", (_IN,))


def _tool_output(view: View) -> Found:
    found = _value(view, _OUT)
    if view.text(SUBTYPE).endswith(_V2) and isinstance(found.value, Mapping) and "output" in found.value:
        return replace(found, value=found.value["output"])
    return found


def _value(view: View, key: str) -> Found:
    """A value; a text is written as JSON too, in quotes."""
    found = read_keys(view, (key,), "json")
    if isinstance(found.value, str) and found.state == "whole":
        ok, parsed = view.memo.parse(found.value)
        return replace(found, value=parsed) if ok else found
    return found


def _query(view: View) -> Found:
    found, whole = _json(view, _IN)
    query = whole.get("query")
    parts = query.get("content") if isinstance(query, Mapping) else query
    if isinstance(parts, tuple):
        texts = [one.get("text") for one in parts if isinstance(one, Mapping)]
        parts = texts[0] if len(texts) == 1 else parts
    return found if parts is None else replace(found, value=parts)


def _documents(view: View) -> Found:
    found, whole = _json(view, _OUT)
    listed = whole.get("documents")
    if found.state != "whole" or not isinstance(listed, tuple):
        return found if found.state != "whole" else ABSENT
    flat = tuple(_flat(one) for one in listed)
    return replace(understand("documents", flat, "", view.memo), source=found.source, keys=found.keys)


def _flat(one: Value) -> Value:
    """Bring a document's text parts to one text."""
    content = one.get("content") if isinstance(one, Mapping) else None
    if not isinstance(one, Mapping) or not isinstance(content, tuple):
        return one
    texts = [text for part in content if isinstance(part, Mapping) and isinstance(text := part.get("text"), str)]
    return {**one, "content": "".join(texts)}


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    name = view.text(_NAME)
    if kind != "llm":
        return {"name": name}
    provider, slash, model = name.partition("/")
    asked, answer = _json(view, _IN)[1], _json(view, _OUT)[1]
    usage = _map(answer, "usage")
    thought = usage.get("thoughtsTokens")
    written = usage.get("outputTokens")
    raw = _map(answer, "raw") or _map(answer, "custom")
    out: dict[str, Value] = {
        "model_requested": model if slash else name,
        "model": raw.get("model"),
        "response_id": raw.get("id"),
        "system_fingerprint": raw.get("systemFingerprint"),
        "provider": provider if slash else None,
        "finish_reasons": tuple(one for one in (answer.get("finishReason"),) if isinstance(one, str)),
        "operation": "embeddings" if view.text(SUBTYPE) == "embedder" else "chat",
        "usage.input_tokens": usage.get("inputTokens"),
        "usage.output_tokens": written,
        "usage.cache_read": usage.get("cachedContentTokens"),
        "usage.reasoning": thought,
    }
    if isinstance(written, int | float) and isinstance(thought, int | float):  # Python's Genkit counts in floats
        out["usage.output_tokens"] = written + thought
    config = asked.get("config")
    for key, value in config.items() if isinstance(config, Mapping) else ():
        if key not in _NOT_PARAMS:
            out[f"params.{_RENAMED.get(key, key)}"] = value
    return out


def _map(whole: Mapping[str, Value], key: str) -> Mapping[str, Value]:
    inner = whole.get(key)
    return inner if isinstance(inner, Mapping) else {}


_ALWAYS = (
    "nothing to switch on: Genkit always writes genkit:input and genkit:output; look for a processor that removes them"
)

DIALECT = Dialect(
    name="genkit",
    title="Genkit",
    claims=_claims,
    kind=_kind,
    scalars={
        "run.conversation_id": ("genkit:metadata:sessionId", "genkit:sessionId"),
        "run.agent_id": ("genkit:metadata:flow:name",),
    },
    contents={
        "agent.input": Source((_IN,), read=lambda view: _value(view, _IN)),
        "agent.output": Source((_OUT,), read=lambda view: _value(view, _OUT)),
        "llm.input": Source((_IN,), read=_input),
        "llm.output": Source((_OUT,), read=_output),
        "llm.tool_definitions": Source((_IN,), read=_definitions),
        "tool.input": Source((_IN,), read=lambda view: _value(view, _IN)),
        "tool.output": Source((_OUT,), read=_tool_output),
        "retrieval.input": Source((_IN,), read=_query),
        "retrieval.output": Source((_OUT,), read=_documents),
    },
    extras=_extras,
    coded={
        "agent.name": (_NAME,),
        "tool.name": (_NAME,),
        "retrieval.name": (_NAME,),
        "llm.model": (_OUT,),
        "llm.response_id": (_OUT,),
        "llm.system_fingerprint": (_OUT,),
        "llm.model_requested": (_NAME,),
        "llm.provider": (_NAME,),
        "llm.finish_reasons": (_OUT,),
        "llm.operation": (SUBTYPE,),
        "llm.params.extra": (_IN,),
        "llm.usage.input_tokens": (_OUT,),
        "llm.usage.output_tokens": (_OUT,),
        "llm.usage.cache_read": (_OUT,),
        "llm.usage.reasoning": (_OUT,),
    },
    switches=(Switch("genkit-tracer", _ALWAYS, _ALWAYS),),
)
