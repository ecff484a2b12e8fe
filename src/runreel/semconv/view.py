"""One span as the dialects see it, and what can be said about a content value before anyone interprets it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from runreel.canonical import freeze, parse_json
from runreel.semconv.names import Names, names_of
from runreel.values import LogEvent, RefState, Span, Value

DETAILS_EVENT: Final = "gen_ai.client.inference.operation.details"
EXCEPTION_EVENT: Final = "gen_ai.client.operation.exception"

# What senders put where content would stand: it is withheld, never content.
PLACEHOLDERS: Final = frozenset({"__REDACTED__", "<REDACTED>", "[REDACTED]", "<elided>"})
_WITHHELD_BY_US = re.compile(r"<WITHHELD:([a-z_]+)>")
_TAIL_CHARS: Final = 160
# A tail that some senders write where they cut a text.
_CUT_TAIL = re.compile(r"(?:\[|\(|<)\s*(?:output |content )?truncated\b[^\n\])>]{0,80}[\])>]\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """A content value, and how much of it there is.

    `state` is as in Ref; `reason` says why it is not whole, starting with a word that programs may read
    (`not_json: ...`). A cut value is kept as the text that came. `text` is the text that the value was parsed from,
    where its spelling matters.
    """

    value: Value = None
    state: RefState = "absent"
    reason: str = ""
    source: str = ""
    keys: tuple[str, ...] = ()
    text: str | None = None


ABSENT: Final = Found()
_RANK: Mapping[RefState, int] = {"whole": 0, "cut": 1, "withheld": 2, "external": 3, "absent": 4}


def best(found: Sequence[Found]) -> Found:
    """Return the most complete of several readings of one field; the first of equals."""
    return min(found, key=lambda one: _RANK[one.state], default=ABSENT)


class Memo:
    """Parses and understands each text once: the histories of a run repeat their tools and arguments at every turn."""

    __slots__ = ("_parsed", "understood")

    def __init__(self) -> None:
        self._parsed: dict[str, tuple[bool, Value]] = {}
        self.understood: dict[tuple[str, str, str], Found] = {}

    def parse(self, text: str) -> tuple[bool, Value]:
        """Return (True, value) for JSON text, (False, None) for any other."""
        known = self._parsed.get(text)
        if known is None:
            try:
                known = (True, parse_json(text))
            except (ValueError, RecursionError):
                known = (False, None)
            self._parsed[text] = known
        return known

    def parse_container(self, text: str) -> tuple[bool, Value]:
        """Parse what an instrumentation wrote around content: Python's NaN and repeated keys are let pass."""
        known = self.parse(text)
        if not known[0]:
            try:
                known = self._parsed[text] = (True, freeze(json.loads(text)))
            except (ValueError, RecursionError):
                return known
        return known


class View:
    """A span with the log events that belong to it. Span attributes come first, then its content events, then logs."""

    __slots__ = ("_names", "layers", "logs", "memo", "span")

    def __init__(self, span: Span, logs: Sequence[LogEvent] = (), memo: Memo | None = None) -> None:
        self.span = span
        self.logs = logs
        self.memo = memo or Memo()
        layers: list[tuple[str, Mapping[str, Value]]] = [("attributes", span.attributes)]
        layers += [("events", event.attributes) for event in span.events if event.name == DETAILS_EVENT]
        layers += [("logs", log.attributes) for log in logs if event_name(log) == DETAILS_EVENT]
        self.layers = layers
        self._names: Names | None = None

    @property
    def names(self) -> Names:
        """The names of the span's attributes."""
        if self._names is None:
            self._names = names_of(self.span.attributes)
        return self._names

    def locate(self, keys: Sequence[str]) -> Iterator[tuple[str, str, Value]]:
        """Yield (source, key, value) of every place that holds one of the keys, by layer, then in the keys' order."""
        for source, attributes in self.layers:
            for key in keys:
                value = attributes.get(key)
                if value is not None:
                    yield source, key, value

    def first(self, key: str) -> Value:
        """Return what stands under a key in the first layer that has something there."""
        for _, attributes in self.layers:
            value = attributes.get(key)
            if value is not None:
                return value
        return None

    def get(self, *keys: str) -> Value:
        """Return the first value that says something: `None`, "", "None" and empty collections do not. 0 does."""
        for _, attributes in self.layers:
            for key in keys:
                value = attributes.get(key)
                if value is not None and not nothing(value):
                    return value
        return None

    def text(self, *keys: str) -> str:
        """Return the first text among the keys, else ""."""
        value = self.get(*keys)
        return value if isinstance(value, str) else ""


def nothing(value: Value) -> bool:
    """Say whether a scalar's value is one of the spellings of "no value"."""
    if isinstance(value, str):
        return value in ("", "None")
    if isinstance(value, (int, float)):  # asked a dozen times a span: before what is asked slowly
        return False
    return value is None or (isinstance(value, (tuple, Mapping)) and not value)


def event_name(log: LogEvent) -> str:
    """Return a log record's event name; older senders put it into an attribute."""
    if log.event_name:
        return log.event_name
    name = log.attributes.get("event.name")
    return name if isinstance(name, str) else ""


def withheld(value: Value) -> str:
    """Return why a text is no content but a placeholder, else ""."""
    if not isinstance(value, str) or len(value) > 60:
        return ""
    if value in PLACEHOLDERS:
        return f"placeholder: the sender put {value} in its place"
    ours = _WITHHELD_BY_US.fullmatch(value)
    return f"{ours[1]}: withheld when it was taken in" if ours else ""


def looks_like_json(text: str) -> bool:
    """Say whether a text wants to be a JSON object or array."""
    return text.lstrip()[:1] in ("{", "[")


def unfinished(text: str) -> bool:
    """Say cheaply whether a text starts as a JSON object or array and does not end as one."""
    start, end = text.lstrip()[:1], text.rstrip()[-1:]
    return (start == "{" and end != "}") or (start == "[" and end != "]")


def says_truncated(value: Value) -> bool:
    """Say whether a text ends with a remark that it was cut."""
    # Every attribute of every span is asked, so what is cheapest to see comes first: how such a remark ends.
    if not isinstance(value, str) or not ((end := value[-1:]) in "])>" or end.isspace()):
        return False
    if "truncated" not in value[-_TAIL_CHARS:].lower():
        return False
    return _CUT_TAIL.search(value, max(0, len(value) - _TAIL_CHARS)) is not None
