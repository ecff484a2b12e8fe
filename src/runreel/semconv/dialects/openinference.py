"""OpenInference: a kind on every span, messages and documents as indexed keys, the whole exchange in `*.value`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv import langchain
from runreel.semconv import messages as shapes
from runreel.semconv.content import tool_arguments, understand
from runreel.semconv.dialect import Dialect, Source, Switch, read_keys
from runreel.semconv.indexed import branches, indexed
from runreel.semconv.view import ABSENT, Found, View, best
from runreel.values import Kind, Value

KIND_KEY: Final = "openinference.span.kind"
_KINDS: Final[Mapping[str, Kind]] = {
    "LLM": "llm",
    "EMBEDDING": "llm",
    "TOOL": "tool",
    "RETRIEVER": "retrieval",
    "RERANKER": "retrieval",
    "AGENT": "agent",
    "CHAIN": "agent",
    "GUARDRAIL": "decision",
    "DECISION": "decision",
}
_FIRST_CHUNK: Final = "First Token Stream Event"
_IN: Final = "llm.input_messages"
_OUT: Final = "llm.output_messages"
_EMBEDDED: Final = "embedding.embeddings"
_DOCUMENTS: Final = ("retrieval.documents", "reranker.output_documents")
# Request fields that have a place of their own in the record.
_NOT_PARAMS: Final = frozenset({"model", "model_name", "_type", "messages", "input", "tools", "functions", "stream"})


def _claims(view: View) -> bool:
    if KIND_KEY in view.span.attributes or view.span.scope.name.startswith("openinference."):
        return True
    return view.names.begin((_IN, _OUT, "llm.invocation_parameters"))


def _kind(view: View) -> tuple[Kind, str] | None:
    named = view.text(KIND_KEY).upper()
    if named == "CHAIN" and langchain.is_route(view.span.name, _metadata(view).get("langgraph_node"), _answer(view)):
        return "decision", "output.value"
    if named in _KINDS:
        return _KINDS[named], KIND_KEY
    # The kind is set first, so it is the first to go when the sender's attribute limit is reached.
    for prefix in (_IN, _OUT, "llm.model_name", "llm.invocation_parameters", "llm.token_count"):
        if view.names.begin(prefix):
            return "llm", prefix
    return None


def _metadata(view: View) -> Mapping[str, Value]:
    ok, found = view.memo.parse(view.text("metadata"))
    return found if ok and isinstance(found, Mapping) else {}


def _answer(view: View) -> Value:
    """Return what a step answered: JSON parsed, a text as it is."""
    raw = view.text("output.value")
    if view.text("output.mime_type") != "application/json" and not raw.startswith(("{", "[")):
        return raw
    ok, parsed = view.memo.parse(raw)
    return parsed if ok else raw


def _message(tree: Mapping[str, Value], view: View, role: str) -> Mapping[str, Value]:
    """Turn one indexed message into ours."""
    flat = _inner(tree, "message")
    pieces = branches(flat.get("contents"))
    content: Value = tuple(_piece(one) for one in pieces) if pieces else flat.get("content")
    listed = [shapes.tool_call(_inner(one, "tool_call"), view.memo) for one in branches(flat.get("tool_calls"))]
    made: dict[str, Value] = {"role": flat.get("role") or role}
    call_id = flat.get("tool_call_id")
    if made["role"] == "tool" and isinstance(call_id, str):
        made["parts"] = ({"type": "tool_call_response", "id": call_id, "response": content},)
    else:
        made["parts"] = (*shapes.parts(content, view.memo), *listed)
    if isinstance(flat.get("name"), str) and made["role"] != "tool":
        made["name"] = flat["name"]
    return made


def _inner(tree: Mapping[str, Value], name: str) -> Mapping[str, Value]:
    inner = tree.get(name)
    return inner if isinstance(inner, Mapping) else {}


def _piece(tree: Mapping[str, Value]) -> Value:
    """Return one content part: text, reasoning, an image or sound by URL, or what came."""
    inner = _inner(tree, "message_content")
    for modality in ("image", "audio"):
        media = _inner(_inner(inner, modality), modality)
        if "url" in media:
            return shapes.media(media["url"], modality)
    return inner


def _read_messages(view: View, prefix: str, role: str, whole_key: str) -> Found:
    """Read indexed messages; where there are none, say what the whole exchange (`*.value`) says of them."""
    source, trees, complete = indexed(view, prefix)
    keys = (f"{prefix}.*",)
    if not trees:
        for layer, key, raw in view.locate((whole_key,)):
            found = understand("value", raw, role, view.memo)
            if found.state == "withheld":
                return Found(None, found.state, f"{found.reason} ({key})", layer, (key,))
        return ABSENT
    made = tuple(_message(tree, view, role) for tree in trees)
    if not complete:
        return Found(made, "cut", f"missing_index: {prefix} has holes", source, keys)
    reason = shapes.holes(made)
    return Found(made, "withheld" if reason else "whole", reason and f"{reason} ({prefix})", source, keys)


def _input(view: View) -> Found:
    found = _read_messages(view, _IN, "user", "input.value")
    if found is not ABSENT:
        return found
    # Text completions have indexed prompts, embeddings indexed texts.
    for prefix, inner in (("llm.prompts", "prompt"), (_EMBEDDED, "embedding")):
        _, trees, _ = indexed(view, prefix)
        texts = [_inner(one, inner).get("text") for one in trees]
        if made := shapes.messages(tuple(text for text in texts if isinstance(text, str)), "user", view.memo):
            return Found(made, "whole", "", "attributes", (f"{prefix}.*",))
    return ABSENT


def _output(view: View) -> Found:
    found = _read_messages(view, _OUT, "assistant", "output.value")
    if found.state == "absent" and (embedded := _vectors(view)) is not None:
        return embedded
    reasons = _finish_reasons(view)
    if not isinstance(found.value, tuple) or not reasons:
        return found
    filled: list[Value] = []
    for index, one in enumerate(found.value):
        if isinstance(one, Mapping) and index < len(reasons) and "finish_reason" not in one:
            one = {**one, "finish_reason": shapes.finish(reasons[index])}
        filled.append(one)
    return Found(tuple(filled), found.state, found.reason, found.source, found.keys)


def _vectors(view: View) -> Found | None:
    """What an embedding answered: a vector for each of its texts."""
    source, trees, complete = indexed(view, _EMBEDDED)
    vectors = tuple(_inner(one, "embedding").get("vector") for one in trees)
    if not vectors or None in vectors:
        return None
    keys = (f"{_EMBEDDED}.*",)
    if not complete:
        return Found(shapes.embedded(vectors), "cut", f"missing_index: {_EMBEDDED} has holes", source, keys)
    return Found(shapes.embedded(vectors), "whole", "", source, keys)


def _definitions(view: View) -> Found:
    source, trees, complete = indexed(view, "llm.tools")
    if not trees:
        return ABSENT
    made = shapes.definitions(tuple(_inner(tree, "tool").get("json_schema") for tree in trees), view.memo)
    if not complete:
        return Found(made, "cut", "missing_index: llm.tools has holes", source, ("llm.tools.*",))
    return Found(made, "whole", "", source, ("llm.tools.*",))


def _raw_response(view: View) -> Mapping[str, Value]:
    raw = view.text("output.value")
    if not raw.startswith("{"):
        return {}
    ok, parsed = view.memo.parse(raw)
    return parsed if ok and isinstance(parsed, Mapping) else {}


def _finish_reasons(view: View) -> tuple[str, ...]:
    single = view.text("llm.finish_reason")
    if single:
        return (single,)
    choices = _raw_response(view).get("choices")
    found = (
        [one.get("finish_reason") for one in choices if isinstance(one, Mapping)] if isinstance(choices, tuple) else []
    )
    return tuple(one for one in found if isinstance(one, str))


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    """Parameters come as one JSON object; the answer's id and fingerprint only inside the raw answer."""
    if kind != "llm":
        return _framework_extras(view, kind)
    out: dict[str, Value] = {"finish_reasons": _finish_reasons(view)}
    ok, params = view.memo.parse(view.text("llm.invocation_parameters"))
    if ok and isinstance(params, Mapping):
        out["model_requested"] = params.get("model")
        out["stream"] = params.get("stream")
        for key, value in params.items():
            if key not in _NOT_PARAMS:
                out[f"params.{key}"] = value
    out["tool_call_texts"] = _call_texts(view)
    answer = _raw_response(view)
    for one in langchain.answers(answer):
        answer = langchain.answer_fields(one)
    for name, key in (("response_id", "id"), ("system_fingerprint",) * 2, ("service_tier",) * 2, ("created",) * 2):
        out[name] = answer.get(key)
    if view.text(KIND_KEY).upper() == "EMBEDDING":
        out["operation"] = "embeddings"
    first = next((event.time_ns for event in view.span.events if event.name == _FIRST_CHUNK), None)
    if first is not None:
        out["time_to_first_chunk"] = max(0, first - view.span.start_ns) / 1e9
    return out


def _framework_extras(view: View, kind: Kind) -> Mapping[str, Value]:
    """What LangChain keeps inside values: the id of a tool's call, the name of a retriever, the kind of a decision."""
    if kind == "tool":
        found = langchain.tool_result(_answer(view))
        return {"call_id": found[1]} if found else {}
    if kind == "retrieval":
        metadata = _metadata(view)
        return {"index_name": metadata.get("ls_vector_store_provider") or metadata.get("ls_retriever_name")}
    if kind == "decision" and view.text(KIND_KEY).upper() == "CHAIN":
        return {"type": "route", "name": view.span.name}
    return {}


def _call_texts(view: View) -> tuple[Value, ...]:
    """Return the arguments of each tool call in the answer as the model wrote them."""
    _, trees, _ = indexed(view, _OUT)
    calls = [call for tree in trees for call in branches(_inner(tree, "message").get("tool_calls"))]
    return tuple(_inner(_inner(call, "tool_call"), "function").get("arguments") for call in calls)


def _tool_input(view: View) -> Found:
    for source, key, raw in view.locate(("input.value", "tool.parameters")):
        found = replace(tool_arguments(raw, view.memo), source=source, keys=(key,))
        if isinstance(found.value, str) and found.state == "whole":
            return replace(found, value=langchain.arguments(found.value, view.memo))
        return found
    return ABSENT


def _tool_output(view: View) -> Found:
    """The result; LangChain wraps it into the message that the model is told."""
    found = read_keys(view, ("output.value",), "value")
    told = langchain.tool_result(_answer(view)) if found.state == "whole" else None
    return replace(found, value=told[0]) if told else found


def _chain_value(view: View, key: str, role: str) -> Found:
    """What an agent or chain was given or answered: messages where it holds LangChain's, else the value as it is."""
    found = read_keys(view, (key,), "value")
    if found.state == "whole" and isinstance(found.value, str) and found.value.startswith(("{", "[")):
        ok, parsed = view.memo.parse(found.value)
        made = langchain.messages(parsed, role, view.memo) if ok else parsed
        if ok and made != parsed:
            return replace(found, value=made)
    return found


def _query(view: View) -> Found:
    """The query: bare, or inside the JSON that a framework wrote around it."""
    found = read_keys(view, ("reranker.query", "input.value"), "value")
    if isinstance(found.value, str) and found.value.startswith("{"):
        ok, parsed = view.memo.parse(found.value)
        whole = parsed if ok and isinstance(parsed, Mapping) else {}
        for inner in (_inner(whole, "query_bundle"), whole):
            for key in ("query_str", "query"):
                if isinstance(inner.get(key), str):
                    return Found(inner[key], found.state, found.reason, found.source, found.keys)
    return found


def _documents(view: View) -> Found:
    candidates: list[Found] = []
    for prefix in _DOCUMENTS:
        source, trees, complete = indexed(view, prefix)
        if trees:
            listed = _with_ids(tuple(tree.get("document", tree) for tree in trees), view)
            found = understand("documents", listed, "", view.memo)
            if not complete:
                found = Found(found.value, "cut", f"missing_index: {prefix} has holes")
            candidates.append(Found(found.value, found.state, found.reason, source, (f"{prefix}.*",)))
    for layer, key, raw in view.locate(("output.value",)):
        found = understand("value", raw, "", view.memo)
        if found.state == "withheld":
            candidates.append(Found(None, "withheld", f"{found.reason} ({key})", layer, (key,)))
    return best(candidates)


def _with_ids(listed: tuple[Value, ...], view: View) -> tuple[Value, ...]:
    """Give documents the ids that LangChain has: they stand in the whole answer only."""
    answer = _answer(view)
    whole = answer.get("documents") if isinstance(answer, Mapping) else None
    if not isinstance(whole, tuple) or len(whole) != len(listed):
        return listed
    out: list[Value] = []
    for one, full in zip(listed, whole, strict=True):
        if isinstance(one, Mapping) and isinstance(full, Mapping) and "id" not in one and full.get("id"):
            one = {"id": full["id"], **one}
        out.append(one)
    return tuple(out)


def _hide(what: str) -> str:
    plural = f"{what}S"
    return (
        f"set OPENINFERENCE_HIDE_{plural}=false at the sender "
        f"(and OPENINFERENCE_HIDE_{what}_MESSAGES, OPENINFERENCE_HIDE_{what}_TEXT), "
        f"or hide_{plural.lower()}=False in its TraceConfig"
    )


DIALECT = Dialect(
    name="openinference",
    title="OpenInference",
    claims=_claims,
    kind=_kind,
    scalars={
        "agent.name": ("agent.name", "graph.node.name"),
        "llm.model": ("llm.model_name", "embedding.model_name"),
        "llm.provider": ("llm.provider", "llm.system"),
        "llm.usage.input_tokens": ("llm.token_count.prompt",),
        "llm.usage.output_tokens": ("llm.token_count.completion",),
        "llm.usage.cache_read": ("llm.token_count.prompt_details.cache_read",),
        "llm.usage.cache_write": ("llm.token_count.prompt_details.cache_write",),
        "llm.usage.reasoning": ("llm.token_count.completion_details.reasoning",),
        "llm.prompt_name": ("prompt.id",),
        "llm.prompt_version": ("llm.prompt_template.version",),
        "tool.name": ("tool.name",),
        "tool.call_id": ("tool.id", "tool_call.id"),
        "tool.description": ("tool.description",),
        "run.agent_id": ("agent.name",),
        "run.conversation_id": ("session.id",),
        "run.user_ref": ("user.id",),
    },
    contents={
        "agent.input": Source(("input.value",), read=lambda view: _chain_value(view, "input.value", "user")),
        "agent.output": Source(("output.value",), read=lambda view: _chain_value(view, "output.value", "assistant")),
        "llm.input": Source((f"{_IN}.*", "llm.prompts.*", f"{_EMBEDDED}.*"), read=_input),
        "llm.output": Source((f"{_OUT}.*", f"{_EMBEDDED}.*"), read=_output),
        "llm.tool_definitions": Source(("llm.tools.*",), read=_definitions),
        "llm.response_raw": Source(("output.value",), "json"),
        "tool.input": Source(("input.value", "tool.parameters"), read=_tool_input),
        "tool.output": Source(("output.value",), read=_tool_output),
        "retrieval.input": Source(("reranker.query", "input.value"), read=_query),
        "retrieval.output": Source(tuple(f"{prefix}.*" for prefix in _DOCUMENTS), read=_documents),
        "decision.input": Source(("input.value",)),
        "decision.output": Source(("output.value",)),
    },
    extras=_extras,
    coded={
        "llm.model_requested": ("llm.invocation_parameters",),
        "llm.params.extra": ("llm.invocation_parameters",),
        "llm.stream": ("llm.invocation_parameters",),
        "llm.finish_reasons": ("llm.finish_reason", "output.value"),
        "llm.tool_call_texts": (f"{_OUT}.*",),
        "llm.response_id": ("output.value",),
        "llm.system_fingerprint": ("output.value",),
        "llm.service_tier": ("output.value",),
        "llm.created": ("output.value",),
        "llm.operation": (KIND_KEY,),
        "tool.call_id": ("output.value",),
        "retrieval.index_name": ("metadata",),
        "decision.type": ("output.value",),
        "llm.time_to_first_chunk": (_FIRST_CHUNK,),
    },
    switches=(Switch("openinference.", _hide("INPUT"), _hide("OUTPUT")),),
)
