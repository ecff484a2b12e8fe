"""OpenTelemetry's own GenAI conventions, as of 1.41 and of the 1.42 that is under way, both spellings.

Content is JSON text or structured, on the span, on its `gen_ai.client.inference.operation.details` events or on log
events of that name. MCP spans are part of these conventions.
"""

from collections.abc import Mapping
from typing import Final

from runreel.semconv import messages as shapes
from runreel.semconv.content import void
from runreel.semconv.dialect import Dialect, Source, Switch, arguments_source, read_keys, result_source
from runreel.semconv.view import Found, View
from runreel.values import Kind, Value

OPERATIONS: Final[Mapping[str, Kind]] = {
    "chat": "llm",
    "generate_content": "llm",
    "text_completion": "llm",
    "embeddings": "llm",
    "fetch_response": "llm",
    "completion": "llm",
    "generate": "llm",
    "execute_tool": "tool",
    "retrieval": "retrieval",
    "vector_db_retrieve": "retrieval",
    "rerank": "retrieval",
    "invoke_agent": "agent",
    "create_agent": "agent",
    "invoke_workflow": "agent",
    "agent_step": "agent",
    "invoke_node": "agent",
    "execute_event_loop_cycle": "agent",
    "plan": "decision",
    "handoff": "decision",
    "goto": "decision",
    "decide": "decision",
    "search_memory": "memory",
    "create_memory": "memory",
    "update_memory": "memory",
    "upsert_memory": "memory",
    "delete_memory": "memory",
    "create_memory_store": "memory",
    "delete_memory_store": "memory",
}
"""What a span is by the operation that it names."""
TELLING: Final[Mapping[str, Kind]] = {
    "gen_ai.tool.name": "tool",
    "gen_ai.tool.call.id": "tool",
    "gen_ai.request.model": "llm",
    "gen_ai.response.model": "llm",
    "gen_ai.retrieval.documents": "retrieval",
    "gen_ai.retrieval.query.text": "retrieval",
    "gen_ai.memory.records": "memory",
    "gen_ai.memory.query.text": "memory",
    "gen_ai.workflow.name": "agent",
    "gen_ai.agent.name": "agent",
    "gen_ai.output.messages": "llm",
    "gen_ai.usage.input_tokens": "llm",
    "gen_ai.usage.output_tokens": "llm",
}
"""What a span is by the first of these keys that it has, where no operation that is known here says so."""
_OF_TOOLS: Final = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
_OF_MODELS: Final = ("gen_ai.output.messages", "gen_ai.input.messages", "gen_ai.usage.output_tokens")
_MODELS: Final = frozenset({*_OF_MODELS, "gen_ai.response.model", "gen_ai.request.model"})
# These write the tool calls of an answer before its prose; the wire has them the other way round.
_CALLS_FIRST: Final = ("opentelemetry.instrumentation.genai.openai", "opentelemetry.instrumentation.openai_v2")


def _claims(view: View) -> bool:
    if view.span.scope.name.startswith("opentelemetry.instrumentation.genai."):
        return True
    return view.names.begin(("gen_ai.", "mcp."))


def _kind(view: View) -> tuple[Kind, str] | None:
    attributes = view.span.attributes
    operation = view.text("gen_ai.operation.name")
    if operation in OPERATIONS:
        return _belied(OPERATIONS[operation], attributes) or (OPERATIONS[operation], "gen_ai.operation.name")
    if attributes.get("mcp.method.name") == "tools/call":
        return "tool", "mcp.method.name"
    if "mcp.method.name" in attributes:
        return None
    return next(((kind, key) for key, kind in TELLING.items() if key in attributes), None)


def _belied(kind: Kind, attributes: Mapping[str, Value]) -> tuple[Kind, str] | None:
    """Return what a span is where everything else on it speaks against its operation: a model call that has all of a
    tool's and nothing of a model's, or the other way round."""
    of_tool = next((key for key in _OF_TOOLS if key in attributes), None)
    of_model = next((key for key in _OF_MODELS if key in attributes), None)
    if kind == "llm" and of_tool and _MODELS.isdisjoint(attributes) and "gen_ai.tool.name" in attributes:
        return "tool", of_tool
    if kind == "tool" and of_model and not of_tool and "gen_ai.tool.name" not in attributes:
        return "llm", of_model
    return None


def _messages(view: View, keys: tuple[str, ...], role: str) -> Found:
    found = read_keys(view, keys, "messages", role)
    if isinstance(found.value, tuple) and view.span.scope.name.startswith(_CALLS_FIRST):
        ordered = shapes.wire_order([one for one in found.value if isinstance(one, Mapping)])
        found = Found(ordered, found.state, found.reason, found.source, found.keys)
    return found


def _input(view: View) -> Found:
    """The messages, with the system instructions (an array of parts) before them as the message that they are."""
    found = _messages(view, ("gen_ai.input.messages",), "user")
    for source, key, raw in view.locate(("gen_ai.system_instructions",)):
        if void(raw, view.memo):
            continue
        value = raw
        if isinstance(raw, str):
            ok, parsed = view.memo.parse(raw)
            value = parsed if ok and isinstance(parsed, tuple | Mapping) else raw
        system: Value = {"role": "system", "parts": shapes.parts(value, view.memo)}
        if isinstance(found.value, tuple):
            if system in found.value[:1]:  # some say it twice: apart, and in front of the messages
                return found
            return Found((system, *found.value), found.state, found.reason, found.source, (*found.keys, key))
        if found.state == "absent":
            return Found((system,), "withheld", "content_off: only the system instructions came", source, (key,))
    return found


def _output(view: View) -> Found:
    """The answers; newer senders leave the finish reason to `gen_ai.response.finish_reasons`."""
    found = _messages(view, ("gen_ai.output.messages",), "assistant")
    reasons = view.get("gen_ai.response.finish_reasons")
    if not isinstance(found.value, tuple) or not isinstance(reasons, tuple):
        return found
    filled: list[Value] = []
    for index, one in enumerate(found.value):
        if isinstance(one, Mapping) and "finish_reason" not in one and index < len(reasons):
            one = {**one, "finish_reason": shapes.finish(reasons[index])}
        filled.append(one)
    return Found(tuple(filled), found.state, found.reason, found.source, found.keys)


def _memory_input(view: View) -> Found:
    """The query of a search; what was written otherwise."""
    searching = view.text("gen_ai.operation.name") == "search_memory"
    return read_keys(view, ("gen_ai.memory.query.text",) if searching else ("gen_ai.memory.records",), "json")


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    if kind == "memory":
        operation = view.text("gen_ai.operation.name")
        return {"op": operation.partition("_")[0]} if operation else {}
    return {}


_USAGE = "gen_ai.usage."
_SETTING = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_SPAN_ONLY = f"set {_SETTING}=SPAN_ONLY at the sender (`true` is not valid there: it is refused and means no content)"
_LATEST = f"set {_SETTING}=SPAN_ONLY at the sender, beside OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental"
_BY_HAND = (
    "set gen_ai.input.messages and gen_ai.output.messages on model spans, gen_ai.tool.call.arguments and "
    "gen_ai.tool.call.result on tool spans, or wrap the call with runreel.record"
)

DIALECT = Dialect(
    name="otel",
    title="OpenTelemetry GenAI",
    claims=_claims,
    kind=_kind,
    scalars={
        "agent.name": ("gen_ai.agent.name", "gen_ai.workflow.name"),
        "llm.model": ("gen_ai.response.model",),
        "llm.model_requested": ("gen_ai.request.model",),
        "llm.provider": ("gen_ai.provider.name", "gen_ai.system"),
        "llm.operation": ("gen_ai.operation.name",),
        "llm.params.temperature": ("gen_ai.request.temperature",),
        "llm.params.top_p": ("gen_ai.request.top_p",),
        "llm.params.top_k": ("gen_ai.request.top_k",),
        "llm.params.max_tokens": ("gen_ai.request.max_tokens",),
        "llm.params.seed": ("gen_ai.request.seed", "gen_ai.openai.request.seed"),
        "llm.params.stop": ("gen_ai.request.stop_sequences",),
        "llm.params.frequency_penalty": ("gen_ai.request.frequency_penalty",),
        "llm.params.presence_penalty": ("gen_ai.request.presence_penalty",),
        "llm.params.n": ("gen_ai.request.choice.count",),
        "llm.params.reasoning_level": ("gen_ai.request.reasoning.level",),
        "llm.params.output_type": ("gen_ai.output.type",),
        "llm.params.tool_choice": (
            "gen_ai.request.tool_choice",
        ),  # in no version of the conventions; seen in the field
        "llm.params.service_tier": ("openai.request.service_tier", "gen_ai.openai.request.service_tier"),
        "llm.usage.input_tokens": (_USAGE + "input_tokens", _USAGE + "prompt_tokens"),
        "llm.usage.output_tokens": (_USAGE + "output_tokens", _USAGE + "completion_tokens"),
        "llm.usage.cache_read": (_USAGE + "cache_read.input_tokens",),
        "llm.usage.cache_write": (_USAGE + "cache_write.input_tokens", _USAGE + "cache_creation.input_tokens"),
        "llm.usage.reasoning": (_USAGE + "reasoning.output_tokens",),
        "llm.finish_reasons": ("gen_ai.response.finish_reasons",),
        "llm.response_id": ("gen_ai.response.id",),
        "llm.system_fingerprint": ("openai.response.system_fingerprint", "gen_ai.openai.response.system_fingerprint"),
        "llm.service_tier": ("openai.response.service_tier", "gen_ai.openai.response.service_tier"),
        "llm.stream": ("gen_ai.request.stream",),
        "llm.time_to_first_chunk": ("gen_ai.response.time_to_first_chunk",),
        "llm.server_address": ("server.address",),
        "llm.server_port": ("server.port",),
        "llm.prompt_name": ("gen_ai.prompt.name",),
        "llm.prompt_version": ("gen_ai.prompt.version",),
        "llm.previous_response_id": ("gen_ai.request.previous_response.id",),
        "tool.name": ("gen_ai.tool.name",),
        "tool.call_id": ("gen_ai.tool.call.id",),
        "tool.type": ("gen_ai.tool.type",),
        "tool.description": ("gen_ai.tool.description",),
        "retrieval.name": ("gen_ai.data_source.id",),
        "retrieval.index_name": ("gen_ai.data_source.id", "db.collection.name", "aws.bedrock.knowledge_base.id"),
        "retrieval.top_k": ("gen_ai.retrieval.top_k", "gen_ai.request.top_k", "db.vector.query.top_k"),
        "decision.name": ("gen_ai.agent.name",),
        "memory.name": ("gen_ai.operation.name",),
        "memory.store": ("gen_ai.memory.store.id",),
        "memory.key": ("gen_ai.memory.record.id",),
        "run.agent_id": ("gen_ai.agent.id", "gen_ai.agent.name", "agent.name", "service.name"),
        "run.agent_version": ("gen_ai.agent.version",),
        "run.service_version": ("service.version",),
        "run.code_version": ("vcs.ref.head.revision",),
        "run.env": ("deployment.environment.name", "deployment.environment"),
        "run.conversation_id": ("gen_ai.conversation.id", "session.id"),
        "run.user_ref": ("user.id", "enduser.id"),
    },
    contents={
        "agent.input": Source(("gen_ai.input.messages",), "messages"),
        "agent.output": Source(("gen_ai.output.messages",), "messages", "assistant"),
        "llm.input": Source(("gen_ai.input.messages", "gen_ai.system_instructions"), read=_input),
        "llm.output": Source(("gen_ai.output.messages",), read=_output),
        "llm.tool_definitions": Source(("gen_ai.tool.definitions",), "definitions"),
        "tool.input": arguments_source("gen_ai.tool.call.arguments"),
        "tool.output": result_source("gen_ai.tool.call.result"),
        "retrieval.input": Source(("gen_ai.retrieval.query.text",)),
        "retrieval.output": Source(("gen_ai.retrieval.documents",), "documents"),
        "memory.input": Source(("gen_ai.memory.query.text", "gen_ai.memory.records"), read=_memory_input),
        "memory.output": Source(("gen_ai.memory.records",), "json"),
    },
    extras=_extras,
    coded={"memory.op": ("gen_ai.operation.name",)},
    switches=(
        Switch("opentelemetry.instrumentation.genai.", _SPAN_ONLY, _SPAN_ONLY),
        Switch("opentelemetry.instrumentation.google_genai", _SPAN_ONLY, _SPAN_ONLY),
        Switch("opentelemetry.util.genai", _LATEST, _LATEST),
        Switch("", _BY_HAND, _BY_HAND),
    ),
)
