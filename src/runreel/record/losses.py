"""Counts what the recorder could not do: it never breaks the agent, and it never keeps a loss to itself."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_counts: Counter[str] = Counter()


def count(what: str, number: int = 1) -> None:
    """Note a loss."""
    with _lock:
        _counts[what] += number


def losses(since: Mapping[str, int] | None = None) -> Mapping[str, int]:
    """Return how often what could not be recorded in this process, by what it was: `result`, `span`, `exporter`...

    With `since`, an earlier answer, only what has come since.
    """
    with _lock:
        counts = dict(_counts)
    before = since or {}
    return {what: number - before.get(what, 0) for what, number in counts.items() if number > before.get(what, 0)}


def safely(what: str, do: Callable[[], T], otherwise: T) -> T:
    """Do a part of recording; where it fails count it and return `otherwise`."""
    try:
        return do()
    except Exception:  # noqa: BLE001  the agent must not fail because its recorder does, whatever the reason
        count(what)
        return otherwise
