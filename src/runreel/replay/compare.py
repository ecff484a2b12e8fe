"""Compare two recorded values leaf by leaf: maps and lists by structure, JSON inside texts too, texts by word."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final, Literal, TypeVar

from runreel.canonical import canonical, parse_json, surely_equal
from runreel.values import Value

Operation = Literal["changed", "added", "removed"]
WordOperation = Literal["equal", "removed", "added"]

# Beyond this many words on either side, or this many places where one could stand for another, a changed stretch is
# shown as one: aligning costs their product, again and again in texts that repeat themselves.
_MOST_WORDS: Final = 2_000
_MOST_PLACES: Final = 60_000
_WORD: Final = re.compile(r"\s+|[^\W_]+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Change:
    """One leaf that differs. `path` is a JSON pointer, which leads on into JSON held by a text."""

    path: str
    operation: Operation
    was: Value = field(default=None, repr=False)
    now: Value = field(default=None, repr=False)


def compare(was: Value, now: Value, path: str = "") -> Iterator[Change]:
    """Yield the leaves that differ, in order. Nothing for equal values, and for JSON texts that differ in form only."""
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        yield from _maps(was, now, path)
    elif isinstance(was, tuple) and isinstance(now, tuple):
        yield from _lists(was, now, path)
    elif isinstance(was, str) and isinstance(now, str):
        yield from _texts(was, now, path)
    elif not _same_leaf(was, now):
        yield Change(path, "changed", was, now)


def _same_leaf(was: Value, now: Value) -> bool:
    numbers = isinstance(was, int | float) and isinstance(now, int | float)
    if numbers and isinstance(was, bool) == isinstance(now, bool) and was == now:
        return True
    return canonical(was) == canonical(now)


def _maps(was: Mapping[str, Value], now: Mapping[str, Value], path: str) -> Iterator[Change]:
    for key in [*was, *(key for key in now if key not in was)]:
        below = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
        if key not in now:
            yield Change(below, "removed", was[key])
        elif key not in was:
            yield Change(below, "added", None, now[key])
        else:
            yield from compare(was[key], now[key], below)


def _lists(was: tuple[Value, ...], now: tuple[Value, ...], path: str) -> Iterator[Change]:
    """Compare what lies between equal beginnings and ends; paths of what is gone count in the first list."""
    start, least = 0, min(len(was), len(now))
    while start < least and not _differ(was[start], now[start]):
        start += 1
    end = 0
    while end < least - start and not _differ(was[-1 - end], now[-1 - end]):
        end += 1
    left, right = was[start : len(was) - end], now[start : len(now) - end]
    for kind, i1, i2, j1, j2 in _steps([canonical(one) for one in left], [canonical(one) for one in right]):
        if kind == "equal":
            continue
        both = min(i2 - i1, j2 - j1)
        for offset in range(both):
            here = start + j1 + offset
            yield from compare(left[i1 + offset], right[j1 + offset], f"{path}/{here}")
        for index in range(i1 + both, i2):
            yield Change(f"{path}/{start + index}", "removed", left[index])
        for index in range(j1 + both, j2):
            yield Change(f"{path}/{start + index}", "added", None, right[index])


def _differ(was: Value, now: Value) -> bool:
    return not surely_equal(was, now) and next(compare(was, now), None) is not None


def _texts(was: str, now: str, path: str) -> Iterator[Change]:
    if was == now:
        return
    if was[:1] in "{[" and now[:1] in "{[":
        try:
            left, right = parse_json(was), parse_json(now)
        except (ValueError, RecursionError):
            pass  # at least one is no JSON: they are compared as the texts that they are
        else:
            yield from compare(left, right, path)
            return
    yield Change(path, "changed", was, now)


def words(was: str, now: str) -> tuple[tuple[WordOperation, str], ...]:
    """Return the steps from one text to the other: stretches that stay, go and come."""
    left, right = _WORD.findall(was), _WORD.findall(now)
    start, least = 0, min(len(left), len(right))
    while start < least and left[start] == right[start]:
        start += 1
    end = 0
    while end < least - start and left[-1 - end] == right[-1 - end]:
        end += 1
    out: list[tuple[WordOperation, str]] = [("equal", "".join(left[:start]))]
    old, new = left[start : len(left) - end], right[start : len(right) - end]
    if max(len(old), len(new)) > _MOST_WORDS or _places(old, new) > _MOST_PLACES:
        out += [("removed", "".join(old)), ("added", "".join(new))]
    else:
        for kind, i1, i2, j1, j2 in _steps(old, new, str.isspace):
            if kind == "equal":
                out.append(("equal", "".join(old[i1:i2])))
            else:
                out += [("removed", "".join(old[i1:i2])), ("added", "".join(new[j1:j2]))]
    out.append(("equal", "".join(left[len(left) - end :]) if end else ""))
    return tuple((kind, text) for kind, text in out if text)


def _places(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the pairs of equal words, spaces aside."""
    left, right = Counter(old), Counter(new)
    return sum(count * right[word] for word, count in left.items() if not word.isspace())


_Item = TypeVar("_Item", str, bytes)


def _steps(
    old: Sequence[_Item], new: Sequence[_Item], junk: Callable[[_Item], bool] | None = None
) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield difflib's steps from one sequence to the other; backwards they are the same ones."""
    turned = list(old) > list(new)
    first, second = (new, old) if turned else (old, new)
    for kind, i1, i2, j1, j2 in SequenceMatcher(junk, first, second, False).get_opcodes():
        yield (kind, j1, j2, i1, i2) if turned else (kind, i1, i2, j1, j2)


def likeness(was: Value, now: Value) -> float:
    """Return how much two values have in common, 0 to 1; cheap, and 1 only for equal ones."""
    if surely_equal(was, now):
        return 1.0
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        names = set(was) | set(now)
        return sum(likeness(was[name], now[name]) for name in names if name in was and name in now) / len(names)
    if isinstance(was, tuple) and isinstance(now, tuple):
        return sum(likeness(a, b) for a, b in zip(was, now, strict=False)) / max(len(was), len(now))
    if not _differ(was, now):
        return 1.0
    if isinstance(was, str) and isinstance(now, str):
        return 0.9 * in_common(was, now)
    return 0.0


def in_common(was: str, now: str) -> float:
    """Return how many of the words of two texts are in both, 0 to 1."""
    left, right = set(was.split()), set(now.split())
    return len(left & right) / len(left | right) if left or right else 0.0
