"""Says what is out of the ordinary about one span or log event: in marks, which are counted when it arrives and kept
with it, and in words, for who reads its run.

What the conventions, as known here, do not have is never an error: it is kept as it came, and said here.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from runreel.semconv.conventions import CONTENT, EVENTS, PARTS, ROLES, known_key, newer
from runreel.semconv.dialects import STANDARD
from runreel.semconv.dialects.otel import OPERATIONS, TELLING
from runreel.semconv.names import names_of
from runreel.semconv.view import DETAILS_EVENT, View, event_name, says_truncated
from runreel.values import Facts, LogEvent, Span, Value

UNKNOWN_DIALECT: Final = "unknown_dialect"
"""The span looks like GenAI, and no dialect claims it."""
UNKNOWN_OPERATION: Final = "unknown_operation"
"""`gen_ai.operation.name` says something that the conventions, as known here, do not."""
KIND_MISMATCH: Final = "kind_mismatch"
"""`gen_ai.operation.name` says one kind of step, and everything else on the span another one."""
UNKNOWN_KEY: Final = "unknown_key"
"""An attribute `gen_ai.*` that the conventions, as known here, and known senders do not have."""
UNKNOWN_PART: Final = "unknown_part"
"""A part of a message is of a type that is not known here."""
UNKNOWN_ROLE: Final = "unknown_role"
"""A message is by somebody who is not known here."""
UNKNOWN_EVENT: Final = "unknown_event"
"""An event `gen_ai.*` that is not known here."""
NEWER_SCHEMA: Final = "newer_schema"
"""The schema URL names a later version of the conventions than was read here."""
DROPPED_ATTRIBUTES: Final = "dropped_attributes"
"""The sender says that it left attributes out: it has a limit."""
CUT_VALUE: Final = "cut_value"
"""A value ends early, or the sender says that it cut it."""

MEANINGS: Final[Mapping[str, str]] = {
    UNKNOWN_DIALECT: "they look like steps, and no dialect known here claims them",
    UNKNOWN_OPERATION: "their operation is not known here, and nothing else says what they are",
}
"""What a mark says of spans that are no steps for it, in words."""

_OPERATION: Final = "gen_ai.operation.name"
_STRUCTURAL: Final = "structural"
# Words between the dots of a key, and in the name of a scope. `agent` is none of them: it is a word of monitoring too.
_KEY_WORDS: Final = frozenset({"ai", "completion", "embedding", "genai", "gen_ai", "llm", "prompt", "rag"})
_SCOPE_WORDS: Final = re.compile(
    r"(?<![a-z])(?:ai|agents|anthropic|autogen|bedrock|cohere|dspy|gemini|genai|gen_ai|haystack|langchain|langgraph|"
    r"llama_?index|llms?|mistral(?:ai)?|ollama|openai|vertexai)(?![a-z])",
    re.IGNORECASE,
)
_CUT: Final = (".truncated", "_truncated")
_KEY_PARTS: Final = re.compile(r"[.:/]")
# Finds the types and roles that a text may hold, those in arguments and results too: most texts need no more.
_SAID: Final = re.compile(r'"(type|role)"\s*:\s*"([^"\\]{1,80})')
_WORD_CHARS: Final = len('"type"')
_KNOWN: Final = frozenset({*(("type", part) for part in PARTS), *(("role", role) for role in ROLES)})


Read = dict[tuple[str, str], str]
"""By trace and attribute: how the text began that stood there last, up to where all types and roles in it are known."""


def marks(span: Span, facts: Facts, read: Read | None = None) -> Iterator[str]:
    """Yield the marks of a span, by its facts where they know. Cheap: content is parsed only where a type or a role
    that is not known stands somewhere in it; `read` is what was read of the spans before, of the same batch."""
    if facts.dialect == _STRUCTURAL and _looks_like_genai(span):
        yield UNKNOWN_DIALECT
    if (facts.kind == "other" or facts.kind_source in TELLING) and unknown_operation(View(span)):
        yield UNKNOWN_OPERATION
    operation = span.attributes.get(_OPERATION)
    said = OPERATIONS.get(operation) if isinstance(operation, str) else None
    if facts.dialect == STANDARD.name and said is not None and said != facts.kind:
        yield KIND_MISMATCH
    details = [event.attributes for event in span.events if event.name == DETAILS_EVENT]
    yield from _news(span.attributes, *details, trace_id=span.key.trace_id, read=read)
    if any(_unknown_event(event.name) for event in span.events):
        yield UNKNOWN_EVENT
    if facts.dialect != _STRUCTURAL and newer(span.scope.schema_url):
        yield NEWER_SCHEMA
    if span.dropped.attributes:
        yield DROPPED_ATTRIBUTES
    if any(gap.cause.startswith("not_json") for gap in facts.gaps) or _said_cut(span):
        yield CUT_VALUE


def log_marks(log: LogEvent) -> Iterator[str]:
    """Yield the marks of a log event."""
    name = event_name(log)
    if _unknown_event(name):
        yield UNKNOWN_EVENT
    if name == DETAILS_EVENT:
        yield from _news(log.attributes)


def news(view: View) -> tuple[str, ...]:
    """Return what of a span is not known here, in words for people: `operation converse`, `part hologram`."""
    found: dict[str, None] = {}
    if operation := unknown_operation(view):
        found[f"operation {operation}"] = None
    for _, attributes in view.layers:
        for key in attributes:
            if not known_key(key):
                found[f"key {key}"] = None
        for part, role in _strangers(attributes):
            found[f"part {part}" if part else f"role {role}"] = None
    events = [*(event.name for event in view.span.events), *map(event_name, view.logs)]
    found.update(dict.fromkeys(f"event {name}" for name in events if _unknown_event(name)))
    if newer(view.span.scope.schema_url):
        found[f"schema {view.span.scope.schema_url}"] = None
    return tuple(sorted(found))


def unknown_operation(view: View) -> str:
    """Return the span's operation where the conventions, as known here, have none of that name, else ""."""
    operation = view.span.attributes.get(_OPERATION)
    if not isinstance(operation, str) or not operation:
        return ""
    # A dialect may have its reasons to see no step in an operation that the conventions know.
    return "" if operation in OPERATIONS else operation


def _looks_like_genai(span: Span) -> bool:
    if _SCOPE_WORDS.search(span.scope.name):
        return True
    return any(not _KEY_WORDS.isdisjoint(_KEY_PARTS.split(key)) for key in span.attributes)


def _unknown_event(name: str) -> bool:
    return name.startswith("gen_ai.") and name not in EVENTS


def _news(*layers: Mapping[str, Value], trace_id: str = "", read: Read | None = None) -> Iterator[str]:
    if any(map(_unknown_key, layers)):
        yield UNKNOWN_KEY
    strangers = [one for attributes in layers for one in _strangers(attributes, trace_id, read)]
    if any(part for part, _ in strangers):
        yield UNKNOWN_PART
    if any(role for _, role in strangers):
        yield UNKNOWN_ROLE


def _unknown_key(attributes: Mapping[str, Value]) -> bool:
    return names_of(attributes).once(known_key, lambda: not all(map(known_key, attributes)))


def _strangers(
    attributes: Mapping[str, Value], trace_id: str = "", read: Read | None = None
) -> Iterator[tuple[str, str]]:
    """Yield (type of a part, "") and ("", role) of what is not known here in the conventions' content attributes."""
    for key in CONTENT:
        value: object = attributes.get(key)
        if isinstance(value, str):
            if _all_known(value, (trace_id, key), {} if read is None else read):
                continue
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                continue
        yield from _in_messages(value)


def _all_known(text: str, place: tuple[str, str], read: Read) -> bool:
    """Say whether every type and role in a text is known, as far as its JSON is valid.

    An agent sends its history again with each step. What follows the last `"type"` or `"role"` does not change what
    was found before it, so the next text that starts so is read from there.
    """
    before = read.get(place, "")
    start = len(before) - _WORD_CHARS if before and text.startswith(before) else 0
    found = _SAID.findall(text, start)
    if not _KNOWN.issuperset(found):
        return False
    if found:
        read[place] = text[: text.rfind(f'"{found[-1][0]}"') + _WORD_CHARS]
    return True


def _in_messages(value: object) -> Iterator[tuple[str, str]]:
    for one in value if isinstance(value, list | tuple) else (value,):
        if not isinstance(one, Mapping):
            continue
        if "role" not in one and "parts" not in one:
            yield from _in_parts((one,))  # system instructions are parts
            continue
        role = one.get("role")
        if isinstance(role, str) and role and role not in ROLES:
            yield "", role
        yield from _in_parts(one.get("parts", one.get("content")))


def _in_parts(value: object) -> Iterator[tuple[str, str]]:
    for one in value if isinstance(value, list | tuple) else ():
        kind = one.get("type") if isinstance(one, Mapping) else None
        if isinstance(kind, str) and kind and kind not in PARTS:
            yield kind, ""


def _said_cut(span: Span) -> bool:
    said = names_of(span.attributes).once(_said_cut, lambda: [key for key in span.attributes if key.endswith(_CUT)])
    for key, value in span.attributes.items():
        if key in said:
            if value is True:
                return True
        elif isinstance(value, str) and says_truncated(value):
            return True
    return False
