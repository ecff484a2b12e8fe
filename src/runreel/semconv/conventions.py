"""What is known here of OpenTelemetry's GenAI conventions and of what senders add to them, so that news can be told.

Reading does not need these lists: what they do not have is read by what else it has, and kept. They say what is new.
"""

import re
from typing import Final

from runreel.semconv.dialects import DIALECTS, OWN

NEWEST_SCHEMA: Final = (1, 44)
"""The newest version of the conventions that was read, as (major, minor)."""

# Keys that carry no field of ours: they are stored with the span, as every attribute is.
_CONVENTIONS: Final = (
    "gen_ai.agent.description",
    "gen_ai.conversation.compacted",
    "gen_ai.embeddings.dimension.count",
    "gen_ai.evaluation.explanation",
    "gen_ai.evaluation.name",
    "gen_ai.evaluation.score.label",
    "gen_ai.evaluation.score.value",
    "gen_ai.memory.record.count",
    "gen_ai.openai.request.response_format",
    "gen_ai.request.encoding_formats",
    "gen_ai.request.stream_cursor",
    "gen_ai.response.status",
    "gen_ai.token.type",
    "gen_ai.usage.total_tokens",
)
_FAMILIES: Final = (
    "gen_ai.main_agent.",
    "gen_ai.prompt.variable.",
    "gen_ai.skill.",
    "gen_ai.usage.audio.",
    "gen_ai.usage.image.",
    "gen_ai.usage.text.",
)
# What the instrumentations of `tests/data` and of `semconv`'s dialects write beside the conventions.
_SENDERS: Final = (
    "gen_ai.agent.tools",
    "gen_ai.content.completion",
    "gen_ai.content.prompt",
    "gen_ai.endpoint",
    "gen_ai.handoff.from_agent",
    "gen_ai.handoff.to_agent",
    "gen_ai.openai.api_base",
    "gen_ai.request.user",
    "gen_ai.sdk.version",
    "gen_ai.serialized.name",
    "gen_ai.tool.args",
    "gen_ai.tool.json_schema",
    "gen_ai.tool.status",
    "gen_ai.tool.version",
    "gen_ai.usage.cost",
)
_SENDERS_FAMILIES: Final = (
    "gen_ai.aggregated_usage.",
    "gen_ai.client.",
    "gen_ai.cost.",
    "gen_ai.event.",
    "gen_ai.execute_tool.",
    "gen_ai.invoke_agent.",
    "gen_ai.invoke_workflow.",
    "gen_ai.server.",
    "gen_ai.task.",
    "gen_ai.usage.details.",
    "gen_ai.workflow.",
)
_TABLES: Final = tuple(
    key
    for one in (OWN, *DIALECTS)
    for keys in (*one.scalars.values(), *one.coded.values(), *(source.keys for source in one.contents.values()))
    for key in keys
)
CONTENT: Final = ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions")
"""The attributes that hold messages and parts."""
_AROUND_CONTENT: Final = (".original_size_bytes", ".size", ".truncated", "_ref")
KEYS: Final = frozenset(
    {key for key in _TABLES if not key.endswith("*")}
    | {*_CONVENTIONS, *_SENDERS}
    | {key + tail for key in (*CONTENT, *_TABLES) for tail in _AROUND_CONTENT}
)
"""Every attribute that is known; those of a family are in `FAMILIES`."""
FAMILIES: Final = (
    *_FAMILIES,
    *_SENDERS_FAMILIES,
    *sorted({key[:-1] for key in _TABLES if key.startswith("gen_ai.") and key.endswith("*")}),
)

EVENTS: Final = frozenset(
    {
        "gen_ai.assistant.message",
        "gen_ai.choice",
        "gen_ai.client.inference.operation.details",
        "gen_ai.client.operation.exception",
        "gen_ai.content.completion",
        "gen_ai.content.completion.chunk",
        "gen_ai.content.prompt",
        "gen_ai.evaluation.result",
        "gen_ai.system.message",
        "gen_ai.tool.message",
        "gen_ai.user.message",
    }
)
"""Events of spans and log events whose names begin as the conventions' do."""

PARTS: Final = frozenset(
    {
        "audio",
        "blob",
        "compaction",
        "data",
        "document",
        "embeddings",
        "file",
        "file_data",
        "function",
        "function_call",
        "function_call_output",
        "image",
        "image_url",
        "input_audio",
        "input_file",
        "input_image",
        "input_text",
        "media",
        "output_text",
        "reasoning",
        "redacted_thinking",
        "refusal",
        "server_tool_call",
        "server_tool_call_response",
        "server_tool_use",
        "text",
        "thinking",
        "tool-call",
        "tool-result",
        "tool_call",
        "tool_call_response",
        "tool_result",
        "tool_use",
        "uri",
        "video",
    }
)
"""Types of parts as senders write them."""
ROLES: Final = frozenset({"assistant", "developer", "function", "human", "ai", "model", "system", "tool", "user"})
"""Whose words a message may be."""

_SCOPES: Final = re.compile(
    r"(?:openinference|opentelemetry)\.(?:instrumentation|util)\.|(?:langfuse-sdk|langsmith|ai|runreel(?:\..*)?|"
    r"gcp\.vertex\.agent|pydantic-ai|strands\.telemetry\.tracer|agent_framework|semantic_kernel\..*|crewai(?:\..*)?|"
    r"Microsoft\.SemanticKernel.*|llamaindex\.opentelemetry\.tracer|com\.anthropic\.claude_code\..*|fastmcp|mcp|"
    r"com\.anthropic\.sdk\..*|mcp-python-sdk|openlit\..*|litellm|genkit-tracer|genkit)$"
)
_VERSION: Final = re.compile(r"/([0-9]{1,6})\.([0-9]{1,6})(?:\.[0-9]{1,6})?(?:-[\w.]+)?/?$", re.ASCII)


def known_key(key: str) -> bool:
    """Say whether a `gen_ai.*` key is one that is known here; keys of other names are nobody's business."""
    return not key.startswith("gen_ai.") or key in KEYS or key.startswith(FAMILIES)


def known_scope(name: str) -> bool:
    """Say whether the name of a scope is that of an instrumentation known here."""
    return _SCOPES.match(name) is not None


def newer(schema_url: str) -> bool:
    """Say whether a schema URL names a later version than was read here. One without a version says nothing."""
    found = _VERSION.search(schema_url)
    return found is not None and (int(found[1]), int(found[2])) > NEWEST_SCHEMA
