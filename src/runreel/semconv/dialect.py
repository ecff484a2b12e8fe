"""What a dialect is: one table of where each field is found, and the few functions that a table cannot say."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from runreel.semconv.content import tool_arguments, understand
from runreel.semconv.names import names_of
from runreel.semconv.registry import FieldType
from runreel.semconv.view import ABSENT, Found, View, best
from runreel.values import Kind, Value

_PLACE_CHARS: Final = 300
_WHY_EXTERNAL: Final = {
    "not_there": " and was not there when the span came",
    "outside": " and not under a configured base path",
    "too_large": " and is too large to be taken in",
    "not_json": " and was no whole JSON when the span came",
    "unreadable": " and could not be read",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a content field is found: attribute keys, best first; `prefix.*` stands for indexed keys.

    `shape` is what the value is once understood; `role` whose words a bare text is. `read` replaces both where a
    dialect needs more than that.
    """

    keys: tuple[str, ...]
    shape: FieldType = "value"
    role: str = "user"
    read: Callable[[View], Found] | None = None


@dataclass(frozen=True, slots=True)
class Switch:
    """How to switch content on, for the instrumentation whose scope name starts with `scope`.

    `models` is what to add where this instrumentation writes no model spans of its own.
    """

    scope: str
    inputs: str
    outputs: str
    models: str = ""


def _no_kind(_: View) -> tuple[Kind, str] | None:
    return None


def _no_extras(_: View, __: Kind) -> Mapping[str, Value]:
    return {}


@dataclass(frozen=True, slots=True)
class Dialect:
    """One way in which spans say what they are.

    `kind` returns the kind of step and what said so, None where the dialect does not know. `scalars` and `contents`
    are keyed as the registry is (`llm.model`). `extras` returns fields that need code, by name without the kind;
    `coded` says of each, keyed as the registry is, which attributes it comes from. `base` is the dialect that this one
    is a variant of: it is asked for whatever this one does not find, except what it `hides`, keyed as the registry is:
    fields where the base's attribute means another thing here. A dialect is `verified` once a real export backs it.
    """

    name: str
    title: str
    claims: Callable[[View], bool]
    kind: Callable[[View], tuple[Kind, str] | None] = _no_kind
    scalars: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    contents: Mapping[str, Source] = field(default_factory=dict)
    extras: Callable[[View, Kind], Mapping[str, Value]] = _no_extras
    coded: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    switches: tuple[Switch, ...] = ()
    base: "Dialect | None" = None
    hides: frozenset[str] = frozenset()
    verified: bool = True


def read_source(view: View, source: Source) -> Found:
    """Return a content field from its source."""
    if source.read is not None:
        return source.read(view)
    return read_keys(view, source.keys, source.shape, source.role)


def arguments_source(*keys: str) -> Source:
    """Return the source of a tool's arguments, which stand under one of the keys."""

    def read(view: View) -> Found:
        for source, key, raw in view.locate(keys):
            found = replace(tool_arguments(raw, view.memo), source=source, keys=(key,))
            if view.get(f"{key}.truncated") is True:
                return replace(found, state="cut", reason=f"said_truncated: {key}.truncated is true")
            return found
        return ABSENT

    return Source(keys, read=read)


def result_source(*keys: str) -> Source:
    """Return the source of a tool's result, which stands under one of the keys: null, 0, false and what is empty are
    results, whether they came as JSON text or as the values that they are."""

    def read(view: View) -> Found:
        found = read_keys(view, keys, "value")
        if found.state != "absent":
            return found
        null = ((layer, key) for layer, attributes in view.layers for key in keys if key in attributes)
        return next((Found(None, "whole", "", layer, (key,)) for layer, key in null), found)

    return Source(keys, read=read)


def read_keys(view: View, keys: Sequence[str], shape: FieldType, role: str = "user") -> Found:
    """Return the most complete value among the keys, with a reference to content kept elsewhere as the last resort."""
    candidates: list[Found] = []
    for source, key, raw in view.locate(keys):
        one = understand(shape, raw, role, view.memo)
        one = Found(one.value, one.state, one.reason and f"{one.reason} ({key})", source, (key,))
        if one.state == "whole" and view.get(f"{key}.truncated") is True:
            one = replace(one, state="cut", reason=f"said_truncated: {key}.truncated is true")
        if one.state == "whole":
            return one
        candidates.append(one)
    for source, key, place in view.locate([f"{key}_ref" for key in keys]):
        candidates.append(Found(None, "external", _elsewhere(view, key, place), source, (key,)))
    return best(candidates) if candidates else ABSENT


def _elsewhere(view: View, key: str, place: Value) -> str:
    """Say where content is that the sender stored elsewhere, and why it was not had from there, where that is known."""
    named = f"{key} names {place[:_PLACE_CHARS]}" if isinstance(place, str) else f"{key} names the place"
    mark = f"external:{key.removesuffix('_ref')}:"
    marks = [*view.span.marks, *(one for log in view.logs for one in log.marks)]
    why = next((_WHY_EXTERNAL.get(one.removeprefix(mark), "") for one in marks if one.startswith(mark)), "")
    return f"external: the content was stored elsewhere{why}; {named}"


def locate_source(view: View, source: Source) -> tuple[str, tuple[str, ...]] | None:
    """Return where a content field sits, without reading it: (layer, keys)."""
    for layer, attributes in view.layers:
        names = view.names if attributes is view.span.attributes else names_of(attributes)
        hits = [key for key in source.keys if key in attributes or (key.endswith(".*") and names.begin(key[:-1]))]
        if hits:
            return layer, tuple(hits)
    return None
