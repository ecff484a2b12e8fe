"""Whatever a sender puts under the keys that dialects read: nothing fails, and what came is a step or none."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import HOSTILE
from otlp_build import T0
from runreel.canonical import freeze
from runreel.semconv.dialects import DIALECTS, OWN
from runreel.semconv.reading import read
from runreel.semconv.recognise import recognise
from runreel.semconv.switches import content_switch, model_switch
from runreel.semconv.view import View
from runreel.values import Event
from span_kit import make_log, make_span

TABLES = [
    keys
    for one in (OWN, *DIALECTS)
    for keys in (*one.scalars.values(), *one.coded.values(), *(source.keys for source in one.contents.values()))
]
KEYS = sorted({key.replace("*", "0.message.content") for keys in TABLES for key in keys})
SCOPES = sorted({switch.scope for one in DIALECTS for switch in one.switches} | {"", "aiohttp"})
NAMES = [
    "call_llm",
    "invocation",
    "execute_tool (merged)",
    "handoff to b",
    "claude_code.llm_request",
    "claude_code.tool",
    "a span",
]
OPERATIONS = ["", "chat", "execute_tool", "invoke_agent", "retrieval", "memory.search", "ai.generateText.doGenerate"]
KINDS = ["", "LLM", "TOOL", "AGENT", "RETRIEVER"]
EVENTS = [
    "gen_ai.user.message",
    "gen_ai.tool.message",
    "gen_ai.choice",
    "gen_ai.client.inference.operation.details",
    "tool.output",
    "api_request_body",
    "api_response_body",
]
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(["{}", "[]"])
FIELDS = st.sampled_from(
    ["role", "parts", "content", "type", "text", "toolUse", "function_call", "tool-call", "input", "args", "kwargs"]
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS | st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)
VALUES = TREES | TREES.map(json.dumps) | st.sampled_from(OPERATIONS + KINDS) | st.sampled_from(HOSTILE)
MAPS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=10)


@settings(max_examples=300, deadline=None)
@given(
    attributes=MAPS,
    scope=st.sampled_from(SCOPES),
    name=st.sampled_from(NAMES),
    operation=st.sampled_from(OPERATIONS),
    kind=st.sampled_from(KINDS),
    event=st.sampled_from(EVENTS),
    body=st.dictionaries(FIELDS | st.sampled_from(["message", "finish_reason", "id", "body"]), VALUES, max_size=5),
)
def test_no_span_makes_recognition_or_reading_fail(
    attributes: dict[str, object],
    scope: str,
    name: str,
    operation: str,
    kind: str,
    event: str,
    body: dict[str, object],
) -> None:
    known = {"gen_ai.operation.name": operation, "openinference.span.kind": kind, "ai.operationId": operation}
    frozen = {key: freeze(value) for key, value in (known | attributes).items()}
    span = make_span(frozen, scope=scope, name=name, events=(Event(event, T0, freeze(body)),))
    log = make_log(freeze(body), event_name=event, body=freeze(body))

    facts = recognise(span)
    found = read(View(span, (log,)))

    assert facts.dialect == found.dialect
    assert isinstance(found.name, str)
    assert isinstance(content_switch(scope, "input") + model_switch(scope), str)
