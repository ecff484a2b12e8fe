"""Says what is out of the ordinary about one span, in marks that are counted when it arrives and kept with it."""

import re
from collections.abc import Iterator
from typing import Final

from runreel.semconv.dialects import STANDARD
from runreel.semconv.view import View, says_truncated
from runreel.values import Facts, Span

UNKNOWN_DIALECT: Final = "unknown_dialect"
"""The span looks like GenAI, and no dialect claims it."""
UNKNOWN_OPERATION: Final = "unknown_operation"
"""`gen_ai.operation.name` says something that the conventions, as known here, do not."""
DROPPED_ATTRIBUTES: Final = "dropped_attributes"
"""The sender says that it left attributes out: it has a limit."""
CUT_VALUE: Final = "cut_value"
"""A value ends early, or the sender says that it cut it."""

_OPERATION: Final = "gen_ai.operation.name"
_STRUCTURAL: Final = "structural"
# Words between the dots of a key, and in the name of a scope. `agent` is none of them: it is a word of monitoring too.
_KEY_WORDS: Final = frozenset({"ai", "completion", "embedding", "genai", "gen_ai", "llm", "prompt", "rag"})
_SCOPE_WORDS: Final = re.compile(
    r"(?<![a-z])(?:ai|agents|anthropic|autogen|bedrock|cohere|dspy|gemini|genai|gen_ai|haystack|langchain|langgraph|"
    r"llama_?index|llms?|mistral(?:ai)?|ollama|openai|vertexai)(?![a-z])",
    re.IGNORECASE,
)
_KEY_PARTS: Final = re.compile(r"[.:/]")
# What tells the kind of a span where its operation does not.
_FALL_BACKS: Final = frozenset({"gen_ai.tool.name", "gen_ai.request.model", "gen_ai.response.model"})


def marks(span: Span, facts: Facts) -> Iterator[str]:
    """Yield the marks of a span, by its facts where they know. Cheap: no content is parsed."""
    if facts.dialect == _STRUCTURAL and _looks_like_genai(span):
        yield UNKNOWN_DIALECT
    if (facts.kind == "other" or facts.kind_source in _FALL_BACKS) and _names_no_known_operation(span):
        yield UNKNOWN_OPERATION
    if span.dropped.attributes:
        yield DROPPED_ATTRIBUTES
    if any(gap.cause.startswith("not_json") for gap in facts.gaps) or _said_cut(span):
        yield CUT_VALUE


def _looks_like_genai(span: Span) -> bool:
    if _SCOPE_WORDS.search(span.scope.name):
        return True
    return any(not _KEY_WORDS.isdisjoint(_KEY_PARTS.split(key)) for key in span.attributes)


def _names_no_known_operation(span: Span) -> bool:
    operation = span.attributes.get(_OPERATION)
    if not isinstance(operation, str) or not operation:
        return False
    # A dialect may have its reasons to see no step in an operation that the conventions know.
    known = STANDARD.kind(View(span))
    return known is None or known[1] != _OPERATION


def _said_cut(span: Span) -> bool:
    return any(
        value is True if key.endswith((".truncated", "_truncated")) else says_truncated(value)
        for key, value in span.attributes.items()
    )
