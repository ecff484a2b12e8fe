"""CrewAI's own spans: the conventions' keys, and `crewai.*` for crews, flows, guardrails, memory and knowledge.

The scope `crewai.telemetry` is product telemetry for the vendor, and no record of a run.
"""

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from runreel.canonical import freeze
from runreel.semconv.dialect import Dialect, Source, Switch, arguments_source, read_keys
from runreel.semconv.view import ABSENT, Found, View
from runreel.values import Kind, Value

_VENDOR: Final = "crewai.telemetry"
# What a span is, where no operation says so; the most special key first.
_TELLING: Final[tuple[tuple[str, Kind], ...]] = (
    ("crewai.policy.decision", "decision"),
    ("crewai.guardrail.", "decision"),
    ("crewai.human_feedback.", "decision"),
    ("crewai.mcp.tool_name", "tool"),
    ("crewai.memory.", "memory"),
    ("crewai.knowledge.", "retrieval"),
    ("crewai.llm.call_type", "llm"),
    ("crewai.agent.", "agent"),
    ("crewai.task.", "agent"),
    ("crewai.method.", "agent"),
    ("crewai.crew.", "agent"),
    ("crewai.flow.", "agent"),
)

_GIVEN: Final = ("crewai.crew.inputs", "crewai.flow.inputs", "crewai.task.description")
_LONGEST: Final = 10_000  # of a parameter's schema as text, in characters
_NOTHING: Final = (None, "null", "{}")


def _claims(view: View) -> bool:
    scope = view.span.scope.name
    return scope in ("crewai", _VENDOR) or view.names.begin("crewai.")


def _kind(view: View) -> tuple[Kind, str] | None:
    if view.span.scope.name == _VENDOR:
        return "other", "scope"
    operation = view.text("gen_ai.operation.name")
    if operation in ("execute_task", "execute_method"):
        return "agent", "gen_ai.operation.name"
    if operation:
        return None
    keys = tuple(view.span.attributes)
    return next(((kind, start) for start, kind in _TELLING if any(key.startswith(start) for key in keys)), None)


def _definitions(view: View) -> Found:
    """The tools; CrewAI writes the schema of each parameter of a model call's tools as the text of a Python dict."""
    found = read_keys(view, ("gen_ai.tool.definitions",), "definitions")
    listed = found.value if isinstance(found.value, tuple) else None
    return found if listed is None else replace(found, value=tuple(_definition(one) for one in listed))


def _definition(tool: Value) -> Value:
    schema = tool.get("parameters") if isinstance(tool, Mapping) else None
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(tool, Mapping) or not isinstance(schema, Mapping) or not isinstance(properties, Mapping):
        return tool
    made = {name: _schema(one) for name, one in properties.items()}
    return {**tool, "parameters": {**schema, "properties": made}}


def _schema(value: Value) -> Value:
    """Return the map that a text is the Python spelling of; any other value as it is."""
    if not isinstance(value, str) or not value.startswith("{") or len(value) > _LONGEST:
        return value
    try:
        found = ast.literal_eval(value)
        return freeze(found) if isinstance(found, dict) else value
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return value


def _given(view: View) -> Found:
    found = read_keys(view, [key for key in _GIVEN if view.get(key) not in _NOTHING], "value")
    if found.state != "absent":
        return found
    asked = read_keys(view, ("gen_ai.input.messages",), "messages")
    texts = [part.get("content") for part in _parts_in(asked.value)]
    return ABSENT if texts and all(text in _NOTHING for text in texts) else asked


def _parts_in(messages: Value) -> list[Mapping[str, Value]]:
    listed = [one.get("parts") for one in messages if isinstance(one, Mapping)] if isinstance(messages, tuple) else []
    return [part for parts in listed if isinstance(parts, tuple) for part in parts if isinstance(part, Mapping)]


_ALWAYS: Final = (
    "leave CrewAI's tracing on at the sender; where a value was cut, raise CREWAI_OTEL_MAX_ATTR_BYTES "
    "(384 KiB if unset)"
)

DIALECT = Dialect(
    name="crewai",
    title="CrewAI",
    claims=_claims,
    kind=_kind,
    scalars={
        "agent.name": (
            "crewai.agent.role",
            "gen_ai.workflow.name",
            "crewai.task.name",
            "crewai.method.name",
            "crewai.crew.name",
            "crewai.flow.name",
            "gen_ai.agent.name",
        ),
        "llm.usage.reasoning": ("gen_ai.usage.reasoning.output_tokens", "gen_ai.usage.reasoning_tokens"),
        "tool.name": ("gen_ai.tool.name", "crewai.mcp.tool_name"),
        "decision.name": ("crewai.policy.name", "crewai.guardrail.type", "crewai.human_feedback.method_name"),
        "decision.reason": ("crewai.policy.reason", "crewai.guardrail.error"),
        "run.agent_id": ("crewai.crew.name", "crewai.flow.name", "crewai.agent.role"),
    },
    contents={
        "agent.input": Source((*_GIVEN, "gen_ai.input.messages"), read=_given),
        "agent.output": Source(
            ("crewai.crew.output", "crewai.flow.result", "crewai.task.output", "crewai.method.result")
        ),
        "llm.tool_definitions": Source(("gen_ai.tool.definitions",), read=_definitions),
        "tool.input": arguments_source("crewai.mcp.tool_args"),
        "tool.output": Source(("crewai.mcp.tool_result",)),
        "retrieval.input": Source(("crewai.knowledge.query", "crewai.knowledge.task_prompt")),
        "retrieval.output": Source(("crewai.knowledge.retrieved_knowledge",), "documents"),
        "memory.input": Source(("crewai.memory.query", "crewai.memory.value")),
        "memory.output": Source(("crewai.memory.results", "crewai.memory.content"), "json"),
        "decision.output": Source(
            ("crewai.policy.decision", "crewai.guardrail.result", "crewai.human_feedback.outcome")
        ),
    },
    extras=lambda view, kind: (
        {"op": "search" if view.text("crewai.memory.query") else "create"}
        if kind == "memory" and not view.text("gen_ai.operation.name")
        else {}
    ),
    coded={"memory.op": ("crewai.memory.query", "crewai.memory.value")},
    switches=(Switch("crewai", _ALWAYS, _ALWAYS),),
    # The model that answered is a copy of the one that was asked for; the crew's input is `null` where it has none.
    hides=frozenset({"llm.model", "llm.tool_definitions", "agent.input"}),
)
