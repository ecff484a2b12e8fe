"""Masks: fields of calls in which a difference is none, as `KIND:NAME/pointer`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from runreel.errors import UsageError
from runreel.values import Kind, Value

_KINDS: Final[Mapping[str, Kind]] = {"llm": "llm", "tool": "tool", "retrieval": "retrieval", "memory": "memory"}
_WHOLE: Final[Mapping[str, tuple[str, ...]]] = {"llm": ("messages",), "tool": (), "retrieval": ("query",)}
"""Where the substance of a request stands: no mask may hide all of it."""


@dataclass(frozen=True, slots=True)
class Mask:
    """Hides differences of calls of one kind, at a path and below it. `*` in the name or in one place of the path
    stands for anything."""

    kind: Kind
    name: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}/{'/'.join(self.path)}"

    def speaks_of(self, kind: Kind, name: str) -> bool:
        return kind == self.kind and fnmatchcase(name, self.name)

    def covers(self, path: str) -> bool:
        """Say whether a JSON pointer is this mask's field, or lies below it."""
        parts = path.split("/")[1:]
        return len(parts) >= len(self.path) and all(map(fnmatchcase, parts, self.path))


def parse(text: str) -> Mask:
    """Read a mask. Raises UsageError where it is none, or would hide a whole request."""
    kind, colon, rest = text.partition(":")
    name, slash, pointer = rest.partition("/")
    if not colon or not name or not slash:
        raise UsageError(f"{text!r} is no mask: give it as KIND:NAME/pointer, such as tool:search/options/trace_id")
    if kind not in _KINDS:
        raise UsageError(f"{text!r} is no mask: its kind is one of {', '.join(_KINDS)}")
    path = tuple(pointer.split("/"))
    whole = _WHOLE[kind]
    below = path[len(whole) :] if path[: len(whole)] == whole else path
    if not all(path) or all(not set(part) - {"*"} for part in below):
        raise UsageError(f"the mask {text!r} would hide a whole request: name a field of it")
    return Mask(_KINDS[kind], name, path)


def hide_all(masks: Iterable[Mask], kind: Kind, request: Value) -> bool:
    """Say whether masks leave nothing of a request to be compared."""
    whole = _WHOLE.get(kind, ())
    path = "".join(f"/{part}" for part in whole)
    for part in whole:
        request = request.get(part) if isinstance(request, Mapping) else None
    used = list(masks)
    return not any(_uncovered(request, path, used))


def _uncovered(value: Value, path: str, masks: Sequence[Mask]) -> Iterable[bool]:
    """Yield True for each leaf that no mask covers."""
    if any(mask.covers(path) for mask in masks):
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _uncovered(item, f"{path}/{key.replace('~', '~0').replace('/', '~1')}", masks)
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _uncovered(item, f"{path}/{index}", masks)
    else:
        yield True
