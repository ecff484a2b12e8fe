"""Steps in the making: what `assemble` works on until they are frozen into values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from runreel.canonical import canonical
from runreel.semconv.messages import arguments
from runreel.semconv.reading import Reading
from runreel.semconv.view import ABSENT, Found, Memo
from runreel.values import Span, SpanKey, Value

Order: TypeAlias = tuple[int, int, int, str, str, int]


@dataclass(slots=True, eq=False)
class Draft:
    """One step before its place and its causes are known. Times are the sender's, an impossible end is its start."""

    reading: Reading
    start_ns: int
    end_ns: int
    order: Order
    keys: tuple[SpanKey, ...] = ()
    span: Span | None = None
    parent: "Draft | None" = None
    call_id: str = ""
    fields: dict[str, Value] = field(default_factory=dict)
    input: Found = ABSENT
    output: Found = ABSENT
    definitions: Found = ABSENT
    asked_by: "Draft | None" = None
    shadowed_by: "Draft | None" = None
    synthesised: bool = False
    ended: bool = True

    @property
    def kind(self) -> str:
        return self.reading.kind

    @property
    def counts(self) -> bool:
        """Whether the step stands for itself: another one does not stand for it."""
        return self.shadowed_by is None


@dataclass(slots=True, eq=False)
class Call:
    """One tool call in a model's answer, and the tool step that carried it out."""

    turn: Draft
    index: int
    position: int
    id: str
    name: str
    arguments: Value
    has_arguments: bool
    taken_by: Draft | None = None
    fingerprint: bytes = b""


def fingerprint(value: Value, memo: Memo) -> bytes:
    """Name arguments so that an object and its text are the same, and broken text never equals an object."""
    return canonical(arguments(value, memo))


def parts_of(found: Found, kind: str) -> list[Mapping[str, Value]]:
    """Return the parts of one type in messages, in order; none where there are no messages."""
    out: list[Mapping[str, Value]] = []
    for message in found.value if isinstance(found.value, tuple) else ():
        inner = message.get("parts") if isinstance(message, Mapping) else None
        listed = inner if isinstance(inner, tuple) else ()
        out += [part for part in listed if isinstance(part, Mapping) and part.get("type") == kind]
    return out
