"""OpenLLMetry (Traceloop): messages as standard attributes today, as indexed `gen_ai.prompt.N` keys before 0.53.

Its SDK and its framework instrumentations write `traceloop.*` beside: what an entity was given and answered, as JSON
with LangChain's wrappers around it.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv import langchain
from runreel.semconv import messages as shapes
from runreel.semconv.content import tool_arguments, understand
from runreel.semconv.dialect import Dialect, Source, Switch, read_keys, read_source
from runreel.semconv.dialects import otel
from runreel.semconv.indexed import branches, indexed
from runreel.semconv.view import ABSENT, Found, View, best
from runreel.values import Kind, Value

_SCOPE: Final = re.compile(
    r"opentelemetry\.instrumentation\.(?:agno|alephalpha|anthropic|bedrock|chromadb|cohere|crewai|google_generativeai|"
    r"groq|haystack|lancedb|langchain|llamaindex|marqo|mcp|milvus|mistralai|ollama|openai|openai_agents|pinecone|qdrant|"
    r"replicate|sagemaker|together|transformers|vertexai|voyageai|watsonx|weaviate|writer)(?:\.(?:v\d|instrumentation))?"
)
# These write keys like ours and are no part of it.
_OTHERS: Final = ("opentelemetry.instrumentation.genai.", "litellm", "openlit")
_INDEXED: Final = ("gen_ai.prompt.0", "gen_ai.completion.0")
_KEYS: Final = ("traceloop.span.kind", "traceloop.entity.", "llm.request.type", *_INDEXED)
_REQUESTS: Final[Mapping[str, Kind]] = {
    "chat": "llm",
    "completion": "llm",
    "embedding": "llm",
    "rerank": "retrieval",
}
_ENTITIES: Final[Mapping[str, Kind]] = {"workflow": "agent", "agent": "agent", "task": "agent"}
_IN: Final = "traceloop.entity.input"
_OUT: Final = "traceloop.entity.output"
_MCP: Final = "opentelemetry.instrumentation.mcp"
_PROPERTIES: Final = "traceloop.association.properties."
_FUNCTIONS: Final = "llm.request.functions"
_RESULT_EVENT: Final = "db.query.result"


def _claims(view: View) -> bool:
    scope = view.span.scope
    if scope.name.startswith(_OTHERS):
        return False
    if view.names.begin(_KEYS):
        return True
    ours = not scope.schema_url and _SCOPE.fullmatch(scope.name) is not None
    return ours and view.names.begin(("gen_ai.", "llm.", "traceloop.", "mcp.", "db."))


def _kind(view: View) -> tuple[Kind, str] | None:
    attributes = view.span.attributes
    entity = view.text("traceloop.span.kind")
    if entity == "tool":
        return "tool", "traceloop.span.kind"
    if entity == "task" and _is_route(view):
        return "decision", _OUT
    found = otel.DIALECT.kind(view)
    if found is not None and found[1] == "gen_ai.operation.name":
        return found
    if entity in _ENTITIES:
        return _ENTITIES[entity], "traceloop.span.kind"
    request = view.text("llm.request.type")
    if request in _REQUESTS:
        return _REQUESTS[request], "llm.request.type"
    if any(event.name == _RESULT_EVENT for event in view.span.events) or "db.vector.query.top_k" in attributes:
        return "retrieval", _RESULT_EVENT
    if view.names.begin(_INDEXED):
        return "llm", "gen_ai.prompt.*"
    return None


def _entity(view: View, key: str) -> Mapping[str, Value]:
    """Return the JSON object that the SDK wrote around a value, {} where there is none."""
    raw = view.text(key)
    ok, parsed = view.memo.parse_container(raw) if raw.startswith("{") else (False, None)
    return parsed if ok and isinstance(parsed, Mapping) else {}


def _is_route(view: View) -> bool:
    metadata = _entity(view, _IN).get("metadata")
    node = metadata.get("langgraph_node") if isinstance(metadata, Mapping) else None
    node = node or view.get(_PROPERTIES + "langgraph_node")
    return langchain.is_route(view.text("traceloop.entity.name"), node, _entity(view, _OUT).get("outputs"))


def _message(tree: Mapping[str, Value], view: View, role: str) -> Mapping[str, Value]:
    """Turn one `gen_ai.prompt.N` or `gen_ai.completion.N` into ours. Content of several parts is JSON text."""
    made: dict[str, Value] = dict(tree)
    made.setdefault("role", role)
    made["tool_calls"] = tuple(branches(tree.get("tool_calls")))
    content = tree.get("content")
    if isinstance(content, str) and content.startswith("[{") and made["role"] != "tool":
        ok, parsed = view.memo.parse(content)
        typed = isinstance(parsed, tuple) and all(isinstance(one, Mapping) and "type" in one for one in parsed)
        made["content"] = parsed if ok and typed else content
    return shapes.message(made, role, view.memo)


def _indexed_messages(view: View, prefix: str, role: str) -> Found:
    source, trees, complete = indexed(view, prefix)
    if not trees:
        return ABSENT
    keys = (f"{prefix}.*",)
    made = tuple(_message(tree, view, role) for tree in trees)
    if not complete:
        return Found(made, "cut", f"missing_index: {prefix} has holes", source, keys)
    if not any("content" in tree or "tool_calls" in tree for tree in trees):
        return Found(made, "withheld", f"content_off: {prefix} came without content", source, keys)
    reason = shapes.holes(made)
    return Found(made, "withheld" if reason else "whole", reason and f"{reason} ({prefix})", source, keys)


def _input(view: View) -> Found:
    found = _indexed_messages(view, "gen_ai.prompt", "user")
    if found is not ABSENT:
        return found
    attributes = view.span.attributes
    if "gen_ai.output.messages" in attributes and "gen_ai.input.messages" not in attributes:
        reason = "content_off: the answer came and the request did not; requests with an image are left out whole"
        return Found(None, "withheld", reason, "attributes", ("gen_ai.input.messages",))
    found = read_source(view, otel.DIALECT.contents["llm.input"])
    return replace(found, value=_call_ids(found.value)) if isinstance(found.value, tuple) else found


def _call_ids(listed: tuple[Value, ...]) -> Value:
    """Give calls in a history the ids that their results name: the Agents SDK's own item ids stand there instead."""
    parts = [part for one in listed for part in _parts(one)]
    calls = [part.get("id") for part in parts if part.get("type") == "tool_call"]
    told = [part.get("id") for part in parts if part.get("type") == "tool_call_response"]
    strangers = [one for one in calls if one not in told]
    unasked = [one for one in told if one not in calls]
    if not strangers or len(strangers) != len(unasked):
        return listed
    ids = dict(zip(strangers, unasked, strict=True))
    return tuple(
        {**one, "parts": tuple({**part, "id": ids.get(part.get("id"), part.get("id"))} for part in _parts(one))}
        if isinstance(one, Mapping) and any(part.get("id") in ids for part in _parts(one))
        else one
        for one in listed
    )


def _parts(one: Value) -> list[Mapping[str, Value]]:
    inner = one.get("parts") if isinstance(one, Mapping) else None
    return [part for part in inner if isinstance(part, Mapping)] if isinstance(inner, tuple) else []


def _output(view: View) -> Found:
    return _indexed_messages(view, "gen_ai.completion", "assistant")


def _definitions(view: View) -> Found:
    source, trees, complete = indexed(view, _FUNCTIONS)
    if not trees:
        return ABSENT
    listed: list[Value] = []
    for tree in trees:
        one: dict[str, Value] = dict(tree)
        schema = one.get("parameters")
        ok, parsed = view.memo.parse(schema) if isinstance(schema, str) else (False, None)
        listed.append({**one, "parameters": parsed} if ok else one)
    made = shapes.definitions(tuple(listed), view.memo)
    if not complete:
        return Found(
            made, "cut", "missing_index: llm.request.functions has holes", source, ("llm.request.functions.*",)
        )
    return Found(made, "whole", "", source, ("llm.request.functions.*",))


def _wrapped(view: View, keys: tuple[str, ...]) -> tuple[Found, Value]:
    """Return the most complete value among the keys, and what its JSON holds."""
    found = read_keys(view, keys, "value")
    if isinstance(found.value, str) and found.state == "whole" and found.value.startswith("{"):
        ok, parsed = view.memo.parse_container(found.value)
        if ok:
            return found, parsed
        if found.keys[0].startswith("traceloop."):
            return replace(found, state="cut", reason="not_json: the text starts as JSON and is none to its end"), None
    return found, None


def _tool_input(view: View) -> Found:
    """The arguments: bare, or inside what LangChain or a decorated function was called with."""
    found, whole = _wrapped(view, ("gen_ai.tool.call.arguments", _IN))
    if not isinstance(whole, Mapping):
        bare = tool_arguments(found.value, view.memo) if found.state == "whole" else found
        return replace(bare, source=found.source, keys=found.keys)
    inputs, text, kwargs = whole.get("inputs"), whole.get("input_str"), whole.get("kwargs")
    if isinstance(inputs, Mapping):
        return replace(found, value=inputs)
    if isinstance(text, str):
        return replace(found, value=langchain.arguments(text, view.memo), text=text)
    if set(whole) == {"tool_name", "arguments"} and view.span.scope.name.startswith(_MCP):
        return replace(found, value=whole["arguments"])
    if set(whole) == {"args", "kwargs"} and not whole["args"]:
        return replace(found, value=kwargs)
    return replace(found, value=whole, text=found.value if isinstance(found.value, str) else None)


def _tool_output(view: View) -> Found:
    found, whole = _wrapped(view, ("gen_ai.tool.call.result", _OUT))
    output = whole.get("output") if isinstance(whole, Mapping) else None
    if isinstance(whole, Mapping) and "output" in whole and set(whole) <= {"output", "kwargs", "tags"}:
        told = langchain.tool_result(output)
        return replace(found, value=told[0] if told else output)
    if isinstance(whole, Mapping) and "result" in whole and view.span.scope.name.startswith(_MCP):
        return replace(found, value=whole["result"])
    return found


def _chain(view: View, key: str, inner: str, role: str) -> Found:
    """What an agent or task was given or answered: messages where it holds LangChain's, else the value as it is."""
    found, whole = _wrapped(view, (key,))
    if isinstance(whole, Mapping) and inner in whole:
        return replace(found, value=langchain.messages(whole[inner], role, view.memo))
    return found


def _query(view: View) -> Found:
    found, whole = _wrapped(view, (_IN, "db.query.text", "db.statement"))
    if isinstance(whole, Mapping) and "query" in whole:
        return replace(found, value=whole["query"])
    return found


def _documents(view: View) -> Found:
    """The documents: in the retriever's answer, or one event each for a vector store's."""
    candidates: list[Found] = []
    found, whole = _wrapped(view, (_OUT,))
    if isinstance(whole, Mapping) and "documents" in whole:
        listed = understand("documents", whole["documents"], "", view.memo)
        candidates.append(replace(listed, source=found.source, keys=found.keys))
    elif found.state != "whole" and found is not ABSENT:
        candidates.append(found)
    hits = [event.attributes for event in view.span.events if event.name == _RESULT_EVENT]
    if hits:
        rows = tuple(_hit(attributes) for attributes in hits)
        listed = understand("documents", rows, "", view.memo)
        candidates.append(replace(listed, source="events", keys=(f"{_RESULT_EVENT}.*",)))
    return best(candidates)


def _hit(attributes: Mapping[str, Value]) -> Mapping[str, Value]:
    row = {key.removeprefix(_RESULT_EVENT + "."): one for key, one in attributes.items()}
    return {"content" if key == "document" else key: one for key, one in row.items()}


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind == "tool":
        return {"call_id": _call_id(view)}
    if kind == "decision" and view.text("traceloop.span.kind") == "task":
        return {"type": "route", "name": view.text("traceloop.entity.name")}
    if kind != "llm":
        return {}
    reasons = [tree.get("finish_reason") for tree in indexed(view, "gen_ai.completion")[1]]
    calls = [
        call.get("arguments")
        for tree in indexed(view, "gen_ai.completion")[1]
        for call in branches(tree.get("tool_calls"))
    ]
    return {
        "finish_reasons": tuple(one for one in reasons if isinstance(one, str) and one),
        "tool_call_texts": tuple(calls),
        "params.response_schema": view.get("gen_ai.request.structured_output_schema"),
    }


def _call_id(view: View) -> Value:
    for key in ("gen_ai.tool.call.arguments", _IN):
        kwargs = _entity(view, key).get("kwargs")
        if isinstance(kwargs, Mapping) and isinstance(kwargs.get("tool_call_id"), str):
            return kwargs["tool_call_id"]
    for key in ("gen_ai.tool.call.result", _OUT):
        told = langchain.tool_result(_entity(view, key).get("output"))
        if told and told[1]:
            return told[1]
    return None


_ON = (
    "set TRACELOOP_TRACE_CONTENT=true at the sender, or leave it unset "
    "(requests that hold an image are never sent whole: use OpenInference or OpenTelemetry's own instrumentation there)"
)
_USAGE = "gen_ai.usage."

DIALECT = Dialect(
    name="openllmetry",
    title="OpenLLMetry",
    claims=_claims,
    kind=_kind,
    scalars={
        "agent.name": ("gen_ai.agent.name", "traceloop.entity.name", "traceloop.workflow.name"),
        "llm.operation": ("gen_ai.operation.name", "llm.request.type"),
        "llm.params.frequency_penalty": ("gen_ai.request.frequency_penalty", "llm.frequency_penalty"),
        "llm.params.presence_penalty": ("gen_ai.request.presence_penalty", "llm.presence_penalty"),
        "llm.params.top_k": ("gen_ai.request.top_k", "llm.top_k"),
        "llm.params.stop": ("gen_ai.request.stop_sequences", "llm.chat.stop_sequences"),
        "llm.params.reasoning_level": ("gen_ai.request.reasoning_effort", "llm.request.reasoning_effort"),
        "llm.stream": ("gen_ai.is_streaming", "llm.is_streaming"),
        "llm.usage.cache_read": (_USAGE + "cache_read.input_tokens", _USAGE + "cache_read_input_tokens"),
        "llm.usage.cache_write": (_USAGE + "cache_creation.input_tokens", _USAGE + "cache_creation_input_tokens"),
        "llm.usage.reasoning": (_USAGE + "reasoning_tokens", "llm.usage.reasoning_tokens"),
        "llm.system_fingerprint": ("gen_ai.openai.response.system_fingerprint", "gen_ai.openai.system_fingerprint"),
        "llm.prompt_name": ("traceloop.prompt.key",),
        "llm.prompt_version": ("traceloop.prompt.version", "traceloop.prompt.version_hash"),
        "tool.name": ("gen_ai.tool.name", "traceloop.entity.name"),
        "retrieval.name": ("traceloop.entity.name",),
        "retrieval.index_name": (
            "db.collection.name",
            _PROPERTIES + "ls_vector_store_provider",
            _PROPERTIES + "ls_retriever_name",
        ),
        "decision.name": ("traceloop.entity.name",),
        "run.conversation_id": (
            "gen_ai.conversation.id",
            _PROPERTIES + "thread_id",
            _PROPERTIES + "session_id",
            _PROPERTIES + "chat_id",
        ),
        "run.user_ref": (_PROPERTIES + "user_id", "gen_ai.user", "llm.user"),
    },
    contents={
        "agent.input": Source((_IN,), read=lambda view: _chain(view, _IN, "inputs", "user")),
        "agent.output": Source((_OUT,), read=lambda view: _chain(view, _OUT, "outputs", "assistant")),
        "llm.input": Source(("gen_ai.prompt.*",), read=_input),
        "llm.output": Source(("gen_ai.completion.*",), read=_output),
        "llm.tool_definitions": Source(("llm.request.functions.*",), read=_definitions),
        "tool.input": Source(("gen_ai.tool.call.arguments", _IN), read=_tool_input),
        "tool.output": Source(("gen_ai.tool.call.result", _OUT), read=_tool_output),
        "retrieval.input": Source((_IN, "db.query.text", "db.statement"), read=_query),
        "retrieval.output": Source((_OUT,), read=_documents),
        "decision.input": Source((_IN,), read=lambda view: _chain(view, _IN, "inputs", "user")),
        "decision.output": Source((_OUT,), read=lambda view: _chain(view, _OUT, "outputs", "assistant")),
    },
    extras=_extras,
    coded={
        "llm.finish_reasons": ("gen_ai.completion.*",),
        "llm.tool_call_texts": ("gen_ai.completion.*",),
        "llm.params.extra": ("gen_ai.request.structured_output_schema",),
        "tool.call_id": (_IN, _OUT),
        "decision.type": (_OUT,),
    },
    switches=tuple(
        Switch(f"opentelemetry.instrumentation.{name}", _ON, _ON)
        for name in (
            "anthropic",
            "bedrock",
            "crewai",
            "groq",
            "langchain",
            "llamaindex",
            "mcp",
            "mistralai",
            "openai.",
            "openai_agents",
            "cohere",
            "ollama",
            "chromadb",
            "pinecone",
            "qdrant",
        )
    ),
)
