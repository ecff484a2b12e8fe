import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.canonical import freeze
from runreel.semconv import keys
from runreel.semconv.reading import coerce, read
from runreel.semconv.registry import FieldType
from runreel.semconv.view import Memo, View
from runreel.values import Event, Kind, Span, StepError, Value
from span_kit import make_event, make_log, make_span

CHAT: dict[str, Value] = {"gen_ai.operation.name": "chat"}


def reading_of(span: Span, *logs: object) -> object:
    return read(View(span, logs))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("attributes", "kind", "source"),
    [
        ({"gen_ai.operation.name": "chat"}, "llm", "gen_ai.operation.name"),
        ({"gen_ai.operation.name": "embeddings"}, "llm", "gen_ai.operation.name"),
        ({"gen_ai.operation.name": "execute_tool"}, "tool", "gen_ai.operation.name"),
        ({"gen_ai.operation.name": "retrieval"}, "retrieval", "gen_ai.operation.name"),
        ({"gen_ai.operation.name": "invoke_workflow"}, "agent", "gen_ai.operation.name"),
        ({"gen_ai.operation.name": "plan"}, "decision", "gen_ai.operation.name"),
        ({"gen_ai.operation.name": "search_memory"}, "memory", "gen_ai.operation.name"),
        ({"gen_ai.operation.name": "never heard of", "gen_ai.tool.name": "f"}, "tool", "gen_ai.tool.name"),
        ({"gen_ai.operation.name": "never heard of", "gen_ai.request.model": "m"}, "llm", "gen_ai.request.model"),
        ({"gen_ai.operation.name": "never heard of"}, "other", ""),
        ({"gen_ai.operation.name": 7}, "other", ""),
        ({"mcp.method.name": "tools/call"}, "tool", "mcp.method.name"),
        ({"mcp.method.name": "tools/list", "gen_ai.tool.name": "f"}, "other", ""),
        ({"openinference.span.kind": "LLM", "gen_ai.operation.name": "execute_tool"}, "llm", "openinference.span.kind"),
        ({"openinference.span.kind": "chain"}, "agent", "openinference.span.kind"),
        ({"llm.input_messages.0.message.role": "user"}, "llm", "llm.input_messages"),
        ({keys.STEP_KIND: "retrieval", "gen_ai.operation.name": "chat"}, "retrieval", keys.STEP_KIND),
        ({keys.STEP_KIND: "nonsense", "gen_ai.operation.name": "chat"}, "llm", "gen_ai.operation.name"),
        ({keys.DECISION_CHOSEN: "refund"}, "decision", keys.DECISION_CHOSEN),
        ({keys.MEMORY_OP: "search"}, "memory", keys.MEMORY_OP),
        ({"http.request.method": "GET"}, "other", ""),
        ({}, "other", ""),
    ],
)
def test_what_a_span_is(attributes: dict[str, Value], kind: Kind, source: str) -> None:
    found = read(View(make_span(attributes)))

    assert (found.kind, found.kind_source) == (kind, source)


def test_params_usage_and_contract_are_gathered() -> None:
    llm = read(View(make_span({**CHAT, "gen_ai.request.temperature": 0, "gen_ai.usage.input_tokens": "5"})))
    tool = read(View(make_span({"gen_ai.tool.name": "f", keys.TOOL_CONTRACT_DECISION: "coerce"})))

    assert llm.fields["params"] == {"temperature": 0}
    assert llm.fields["usage"] == {"input_tokens": 5}
    assert tool.fields["contract"] == {"decision": "coerce"}


def test_usage_that_nobody_gives_is_none_and_not_zero() -> None:
    assert read(View(make_span(CHAT))).fields["usage"] is None


@pytest.mark.parametrize("key", ["cache_write", "cache_creation"])
def test_both_spellings_of_cache_writes_are_read(key: str) -> None:
    found = read(View(make_span({**CHAT, f"gen_ai.usage.{key}.input_tokens": 7})))

    assert found.fields["usage"] == {"cache_write": 7}


def test_both_spellings_of_top_k_are_read_on_a_retrieval() -> None:
    for key in ("gen_ai.retrieval.top_k", "gen_ai.request.top_k"):
        span = make_span({"gen_ai.operation.name": "retrieval", key: 3.0 if "request" in key else 3})

        assert read(View(span)).fields["top_k"] == 3


def test_request_parameters_that_the_conventions_lack_are_merged() -> None:
    span = make_span({**CHAT, "gen_ai.request.seed": 7, keys.LLM_REQUEST_EXTRA: '{"tool_choice": "auto", "seed": 8}'})

    assert read(View(span)).fields["params"] == {"seed": 8, "tool_choice": "auto"}


def test_other_attributes_of_our_own_are_kept_by_name() -> None:
    span = make_span({"gen_ai.tool.name": "f", "replay.result.type": "json", keys.TOOL_VERSION: "3", keys.RUN_ID: "r"})

    found = read(View(span))

    assert found.fields["replay"] == {"result.type": "json"}
    assert found.fields["version"] == "3"


@pytest.mark.parametrize(
    ("fields", "interrupted"),
    [
        ({"gen_ai.response.finish_reasons": ("error",), "gen_ai.request.stream": True}, True),
        ({"gen_ai.response.finish_reasons": ("error",)}, True),
        ({"gen_ai.request.stream": True}, True),
        ({"gen_ai.request.stream": True, "gen_ai.response.finish_reasons": ("stop",)}, False),
        ({"gen_ai.request.stream": True, "gen_ai.usage.output_tokens": 3}, False),
        ({}, False),
    ],
)
def test_a_stream_without_its_end_is_interrupted(fields: dict[str, Value], interrupted: bool) -> None:
    assert read(View(make_span(CHAT | fields))).fields["interrupted"] is interrupted


def test_a_failed_call_is_an_error_and_not_an_interruption() -> None:
    found = read(
        View(make_span({**CHAT, "gen_ai.request.stream": True, "error.type": "Timeout"}, status=2, message="late"))
    )

    assert found.error == StepError("Timeout", "late")
    assert found.fields["interrupted"] is False


def test_a_stream_whose_reader_walked_away_is_interrupted_and_no_failure() -> None:
    left = {**CHAT, "error.type": "_OTHER", "gen_ai.request.stream": True}

    found = read(View(make_span(left, status=2, message="abandoned stream")))

    assert (found.error, found.fields["interrupted"]) == (None, True)


def test_an_error_is_its_last_exception() -> None:
    first = make_event("exception", exception__type="A", exception__message="a")
    last = make_event("exception", exception__type="B", exception__message="b", exception__stacktrace="at x")

    found = read(View(make_span({"gen_ai.tool.name": "f"}, status=2, message="boo", events=(first, last))))

    assert found.error == StepError("B", "b", "at x")


def test_an_exception_that_was_handled_is_no_error() -> None:
    handled = make_event("exception", exception__type="A")

    assert read(View(make_span({"gen_ai.tool.name": "f"}, events=(handled,)))).error is None


def test_an_error_may_come_as_a_log_event() -> None:
    log = make_log(
        {"exception.type": "RateLimitError", "exception.message": "429"}, event_name="gen_ai.client.operation.exception"
    )

    found = read(View(make_span({**CHAT, "error.type": "RateLimitError"}, status=2), (log,)))

    assert found.error == StepError("RateLimitError", "429")


def test_content_on_a_log_event_is_read_and_whole_content_wins_over_cut() -> None:
    messages = ({"role": "user", "parts": ({"type": "text", "content": "hi"},)},)
    log = make_log({"gen_ai.input.messages": messages, "gen_ai.output.messages": messages})

    absent = read(View(make_span(CHAT), (log,)))
    cut = read(View(make_span({**CHAT, "gen_ai.input.messages": json.dumps(messages)[:30]}), (log,)))

    assert absent.input.value == cut.input.value == messages
    assert (absent.input.state, absent.input.source) == ("whole", "logs")


def test_content_stored_elsewhere_is_external() -> None:
    found = read(View(make_span({**CHAT, "gen_ai.input.messages_ref": "s3://somewhere/x.json"})))

    assert (found.input.state, found.input.value) == ("external", None)
    assert "s3://somewhere/x.json" in found.input.reason, "whoever looks for it must know where"


@pytest.mark.parametrize(
    ("type_", "value", "wanted"),
    [
        ("integer", 3, 3),
        ("integer", 3.0, 3),
        ("integer", "3", 3),
        ("integer", 3.5, None),
        ("integer", True, None),
        ("integer", "three", None),
        ("integer", float("inf"), None),
        ("number", "1e2", 100.0),
        ("number", 0, 0),
        ("boolean", "true", True),
        ("boolean", "False", False),
        ("boolean", "perhaps", None),
        ("boolean", 1, True),
        ("boolean", 0.5, None),
        ("texts", "stop", ("stop",)),
        ("texts", '["stop"]', ("stop",)),
        ("texts", ("a", 1), ("a",)),
        ("texts", 7, None),
        ("text", 7, None),
        ("json", '{"a": [1]}', {"a": (1,)}),
        ("json", "no json", "no json"),
        ("json", (1,), (1,)),
    ],
)
def test_values_become_the_fields_type_or_nothing(type_: FieldType, value: Value, wanted: Value) -> None:
    found = coerce(type_, value, Memo())

    assert (found, type(found)) == (wanted, type(wanted))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "gen_ai.operation.name",
        "openinference.span.kind",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.definitions",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.retrieval.documents",
        "gen_ai.response.finish_reasons",
        "gen_ai.tool.name",
        "llm.input_messages.0.message.content",
        "llm.input_messages.0.message.tool_calls.0.tool_call",
        "llm.input_messages.0.message.contents.0.message_content.image.image.url",
        "llm.output_messages.1.message.role",
        "llm.invocation_parameters",
        "llm.tools.0.tool.json_schema",
        "retrieval.documents.0.document.content",
        "input.value",
        "output.value",
        "gen_ai.system",
        "gen_ai.prompt",
        "gen_ai.completion",
        "gen_ai.prompt.0.content",
        "gen_ai.prompt.0.tool_calls.0.arguments",
        "gen_ai.completion.0.function_call",
        "llm.request.type",
        "llm.request.functions.0.parameters",
        "traceloop.span.kind",
        "traceloop.entity.input",
        "traceloop.entity.output",
        "traceloop.entity.name",
        "langsmith.span.kind",
        "langsmith.metadata.usage_metadata",
        "langfuse.observation.type",
        "langfuse.observation.input",
        "langfuse.observation.output",
        "langfuse.observation.usage_details",
        "langfuse.observation.model.parameters",
        "mcp.method.name",
        "genkit:metadata:subtype",
        "genkit:input",
        "genkit:output",
        "hidden_params",
        "gen_ai.endpoint",
        "metadata",
        "replay.kind",
        "replay.seq",
        "replay.decision.options",
    ]
)
KIND_WORDS = st.sampled_from(
    [
        "chat",
        "execute_tool",
        "retrieval",
        "LLM",
        "TOOL",
        "RETRIEVER",
        "create_memory",
        "plan",
        "task",
        "generation",
        "model",
        "retriever",
        "llm",
        "tool",
    ]
)


@given(st.dictionaries(KEYS, VALUES | KIND_WORDS, max_size=8))
def test_no_attribute_value_makes_reading_fail(attributes: dict[str, object]) -> None:
    span = make_span({key: freeze(value) for key, value in attributes.items()}, status=2)

    found = read(View(span, (make_log(span.attributes),)))

    assert isinstance(found.name, str)


EVENT_NAMES = st.sampled_from(
    [
        "gen_ai.user.message",
        "gen_ai.tool.message",
        "gen_ai.choice",
        "gen_ai.content.prompt",
        "gen_ai.content.completion",
        "db.query.result",
        "LLMChatStartEvent",
        "LLMChatEndEvent",
        "LLMCompletionEndEvent",
        "EmbeddingEndEvent",
        "RetrievalEndEvent",
        "QueryEndEvent",
    ]
)
EVENT_KEYS = st.sampled_from(
    [
        "content",
        "message",
        "tool_calls",
        "id",
        "gen_ai.prompt",
        "gen_ai.completion",
        "messages",
        "prompt",
        "chunks",
        "embeddings",
        "nodes",
        "query",
        "response.message.blocks",
        "response.message.additional_kwargs.tool_calls",
        "response.raw.choices",
        "response.raw.usage.prompt_tokens",
        "response.response",
        "additional_kwargs.tools",
        "db.query.result.document",
    ]
)
SCOPES = st.sampled_from(
    ["", "llamaindex.opentelemetry.tracer", "litellm", "openlit.otel.tracing", "langsmith", "langfuse-sdk"]
)


@given(EVENT_NAMES, EVENT_NAMES, st.dictionaries(EVENT_KEYS, VALUES, max_size=6), SCOPES)
def test_no_event_makes_reading_fail(first: str, second: str, raw: dict[str, object], scope: str) -> None:
    fields = {key: freeze(value) for key, value in raw.items()}
    known = {"gen_ai.system": "x", "gen_ai.operation.name": "chat"}
    span = make_span(known, scope=scope, events=(Event(first, attributes=fields), Event(second, attributes=fields)))

    found = read(View(span, (make_log({}, event_name=first, body=fields), make_log({}, event_name=second, body="{"))))

    assert isinstance(found.name, str)
