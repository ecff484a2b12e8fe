"""LangSmith's OpenTelemetry export: a kind on every span, inputs and outputs as JSON in two attributes.

Its `gen_ai.operation.name` says `embeddings` of a retriever and `chain` of an agent: only `langsmith.span.kind` counts.
The JSON is LangChain's, or that of the SDK which was wrapped.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.semconv import langchain
from runreel.semconv import messages as shapes
from runreel.semconv.content import understand
from runreel.semconv.dialect import Dialect, Source, Switch, read_keys
from runreel.semconv.view import ABSENT, Found, View
from runreel.values import Kind, Value

KIND_KEY: Final = "langsmith.span.kind"
_KINDS: Final[Mapping[str, Kind]] = {
    "llm": "llm",
    "embedding": "llm",
    "tool": "tool",
    "retriever": "retrieval",
    "chain": "agent",
    "agent": "agent",
    "prompt": "agent",
    "parser": "agent",
}
_IN: Final = "gen_ai.prompt"
_OUT: Final = "gen_ai.completion"
_META: Final = "langsmith.metadata."
_PARAMS: Final[Mapping[str, str]] = {
    "ls_temperature": "temperature",
    "ls_max_tokens": "max_tokens",
    "ls_stop": "stop",
}
# Of the keyword arguments of a wrapped SDK call: what has a place of its own in the record.
_NOT_PARAMS: Final = frozenset({"messages", "model", "tools", "input", "prompt", "stream", "functions"})


def _claims(view: View) -> bool:
    scope = view.span.scope.name
    return scope == "langsmith" or KIND_KEY in view.span.attributes


def _kind(view: View) -> tuple[Kind, str] | None:
    named = view.text(KIND_KEY)
    if named == "chain":
        node = view.get(_META + "langgraph_node")
        name = view.text("langsmith.trace.name") or view.span.name
        if langchain.is_route(name, node, _json(view, _OUT).get("output")):
            return "decision", _OUT
    return (_KINDS[named], KIND_KEY) if named in _KINDS else None


def _json(view: View, key: str) -> Mapping[str, Value]:
    raw = view.text(key)
    ok, parsed = view.memo.parse_container(raw) if raw.startswith("{") else (False, None)
    return parsed if ok and isinstance(parsed, Mapping) else {}


def _read(view: View, key: str) -> tuple[Found, Mapping[str, Value]]:
    """Return a content value and the object that its JSON holds. `{}` is what hiding leaves behind."""
    found = read_keys(view, (key,), "json")
    if found.state == "whole" and found.value == {}:
        return replace(found, value=None, state="withheld", reason=f"content_off: {key} is empty"), {}
    return found, found.value if isinstance(found.value, Mapping) else {}


def _input(view: View) -> Found:
    found, whole = _read(view, _IN)
    if found.state != "whole":
        return found
    made = langchain.messages(whole.get("messages", whole.get("input", whole.get("prompt"))), "user", view.memo)
    listed = shapes.messages(made, "user", view.memo)
    return replace(found, value=listed, state="whole" if listed else "absent")


def _output(view: View) -> Found:
    found, whole = _read(view, _OUT)
    if found.state != "whole":
        return found
    made = langchain.messages(whole, "assistant", view.memo)
    if made is not whole and isinstance(made, tuple):
        return replace(found, value=made)
    choices = whole.get("choices")
    if isinstance(choices, tuple):
        listed = [_choice(one, view) for one in choices if isinstance(one, Mapping)]
        return replace(found, value=tuple(listed))
    answer = whole.get("output", whole.get("content"))
    inner = langchain.messages(answer, "assistant", view.memo)
    return replace(found, value=shapes.messages(whole if "role" in whole else inner, "assistant", view.memo))


def _choice(one: Mapping[str, Value], view: View) -> shapes.Message:
    inner = one.get("message")
    made = shapes.message(inner, "assistant", view.memo) if isinstance(inner, Mapping) else {"role": "assistant"}
    return {**made, "finish_reason": shapes.finish(one.get("finish_reason"))}


def _chain(view: View, key: str, role: str) -> Found:
    """What a chain was given or answered; what is no object stands under `output` or `input`."""
    found, whole = _read(view, key)
    for inner in ("output", "input"):
        if set(whole) == {inner}:
            return replace(found, value=langchain.messages(whole[inner], role, view.memo))
    return replace(found, value=langchain.messages(whole, role, view.memo)) if whole else found


def _tool_input(view: View) -> Found:
    found, whole = _read(view, _IN)
    given = whole.get("input")
    if set(whole) == {"input"} and isinstance(given, str):
        return replace(found, value=langchain.arguments(given, view.memo), text=given)
    return found


def _tool_output(view: View) -> Found:
    found, whole = _read(view, _OUT)
    if "output" not in whole:
        return found
    told = langchain.tool_result(whole["output"])
    return replace(found, value=told[0] if told else whole["output"])


def _query(view: View) -> Found:
    found, whole = _read(view, _IN)
    return replace(found, value=whole["query"]) if "query" in whole else found


def _documents(view: View) -> Found:
    found, whole = _read(view, _OUT)
    listed = whole.get("documents", whole.get("output"))
    if found.state != "whole" or not isinstance(listed, tuple):
        return found if found.state != "whole" else ABSENT
    made = understand("documents", listed, "", view.memo)
    return replace(made, source=found.source, keys=found.keys)


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind == "decision":
        return {"type": "route", "name": view.text("langsmith.trace.name") or view.span.name}
    if kind == "tool":
        told = langchain.tool_result(_json(view, _OUT).get("output"))
        return {"call_id": told[1]} if told else {}
    return _llm_extras(view) if kind == "llm" else {}


def _llm_extras(view: View) -> Mapping[str, Value]:
    """Model, id and finish reason stand in the answer, details of usage in its metadata or beside it."""
    given, answer = _json(view, _IN), _json(view, _OUT)
    metas = [langchain.answer_fields(one) for one in langchain.answers(answer)]
    choices = answer.get("choices")
    listed = metas or [one for one in (choices if isinstance(choices, tuple) else ()) if isinstance(one, Mapping)]
    first: Mapping[str, Value] = metas[0] if metas else answer
    reasons = tuple(reason for one in listed if isinstance(reason := one.get("finish_reason"), str))
    out: dict[str, Value] = {
        "model": first.get("model_name") or first.get("model"),
        "response_id": first.get("id"),
        "system_fingerprint": first.get("system_fingerprint"),
        "service_tier": first.get("service_tier"),
        "finish_reasons": reasons,
        "stream": view.get(_META + "stream"),
        "operation": "embeddings" if view.text(KIND_KEY) == "embedding" else None,
    }
    for key, name in _PARAMS.items():
        out[f"params.{name}"] = view.get(_META + key)
    if "messages" in given and not isinstance(given["messages"], str):
        out |= {f"params.{key}": one for key, one in given.items() if key not in _NOT_PARAMS and key.isidentifier()}
    return {**out, **_details(view)}


def _details(view: View) -> Mapping[str, Value]:
    usage = _json(view, _META + "usage_metadata")
    read = _inner(view, "gen_ai.usage.input_token_details") or usage.get("input_token_details")
    written = _inner(view, "gen_ai.usage.output_token_details") or usage.get("output_token_details")
    inputs = read if isinstance(read, Mapping) else {}
    outputs = written if isinstance(written, Mapping) else {}
    return {
        "usage.cache_read": inputs.get("cache_read"),
        "usage.cache_write": inputs.get("cache_creation"),
        "usage.reasoning": outputs.get("reasoning"),
    }


def _inner(view: View, key: str) -> Value:
    raw = view.get(key)
    if isinstance(raw, str):
        ok, parsed = view.memo.parse(raw)
        return parsed if ok else None
    return raw


def _definitions(view: View) -> Found:
    found = read_keys(view, ("gen_ai.tool.definitions",), "definitions")
    tools = _json(view, _IN).get("tools")
    if found is ABSENT and isinstance(tools, tuple):
        return replace(understand("definitions", tools, "", view.memo), source="attributes", keys=(_IN,))
    return found


DIALECT = Dialect(
    name="langsmith",
    title="LangSmith",
    claims=_claims,
    kind=_kind,
    scalars={
        "agent.name": ("langsmith.trace.name",),
        "llm.model_requested": ("gen_ai.request.model", _META + "ls_model_name"),
        "llm.provider": (_META + "ls_provider", "gen_ai.system"),
        "llm.prompt_name": (_META + "lc_hub_repo",),
        "llm.prompt_version": (_META + "lc_hub_commit_hash",),
        "tool.name": ("gen_ai.tool.name", "langsmith.trace.name"),
        "tool.call_id": ("gen_ai.tool.call.id",),
        "retrieval.name": ("langsmith.trace.name",),
        "retrieval.index_name": (_META + "ls_vector_store_provider", _META + "ls_retriever_name"),
        "run.conversation_id": (_META + "thread_id", _META + "session_id", _META + "conversation_id"),
        "run.user_ref": (_META + "user_id",),
        "run.code_version": (_META + "revision_id",),
    },
    contents={
        "agent.input": Source((_IN,), read=lambda view: _chain(view, _IN, "user")),
        "agent.output": Source((_OUT,), read=lambda view: _chain(view, _OUT, "assistant")),
        "llm.input": Source((_IN,), read=_input),
        "llm.output": Source((_OUT,), read=_output),
        "llm.tool_definitions": Source(("gen_ai.tool.definitions", _IN), read=_definitions),
        "llm.response_raw": Source((_OUT,), "json"),
        "tool.input": Source((_IN,), read=_tool_input),
        "tool.output": Source((_OUT,), read=_tool_output),
        "retrieval.input": Source((_IN,), read=_query),
        "retrieval.output": Source((_OUT,), read=_documents),
        "decision.input": Source((_IN,), read=lambda view: _chain(view, _IN, "user")),
        "decision.output": Source((_OUT,), read=lambda view: _chain(view, _OUT, "assistant")),
    },
    extras=_extras,
    coded={
        "llm.model": (_OUT,),
        "llm.response_id": (_OUT,),
        "llm.system_fingerprint": (_OUT,),
        "llm.service_tier": (_OUT,),
        "llm.finish_reasons": (_OUT,),
        "llm.stream": (_META + "stream",),
        "llm.params.temperature": (_META + "ls_temperature",),
        "llm.params.max_tokens": (_META + "ls_max_tokens",),
        "llm.params.stop": (_META + "ls_stop",),
        "llm.params.extra": (_IN,),
        "llm.usage.cache_read": ("gen_ai.usage.input_token_details", _META + "usage_metadata"),
        "llm.usage.cache_write": ("gen_ai.usage.input_token_details", _META + "usage_metadata"),
        "llm.usage.reasoning": ("gen_ai.usage.output_token_details", _META + "usage_metadata"),
        "llm.operation": (KIND_KEY,),
        "tool.call_id": (_OUT,),
        "decision.type": (_OUT,),
    },
    switches=(
        Switch(
            "langsmith",
            "set LANGSMITH_HIDE_INPUTS=false at the sender, or hide_inputs=False in its Client",
            "set LANGSMITH_HIDE_OUTPUTS=false at the sender, or hide_outputs=False in its Client",
        ),
    ),
)
