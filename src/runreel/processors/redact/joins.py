"""Values split over neighbouring texts that a payload joins: chunks of a stream, parts of a message, items of a list.

Only the borders are looked at: the end of one text with the beginning of the next, short texts whole.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import NamedTuple

from runreel.processors.redact.edits import Edit, Edits
from runreel.processors.redact.jsontext import Token

CHUNK_KEYS = frozenset(
    {"text", "content", "parts", "thinking", "reasoning", "reasoning_content", "output_text", "transcript", "refusal"}
)
"""Under these names there may be parts of one text. Elsewhere numbers side by side are just that: numbers."""

STREAM_KEYS = frozenset(
    {"delta", "deltas", "chunk", "chunks", "arguments", "partial_json", "stream", "fragments", "pieces"}
)
"""Under these names there are pieces of one text, cut anywhere. Elsewhere a value that is whole in one of two texts
has nothing to do with the other: `["plain", "dana@example.com"]`."""

MOST_ITEMS = 256
"""Of a list that does not say that it is in pieces."""

_REACH = 128
_SENTENCE_ENDS = re.compile(r"""(?:[\s.,;:!?)\]}"']|\\[nrt"])*""")  # also as JSON writes it
_ALWAYS = ("EMAIL", "SECRET:", "base64")

Find = Callable[[list[str]], Mapping[int, Sequence[Edit]]]


class Part(NamedTuple):
    """A stretch of one of the texts: texts[number][start:end]."""

    number: int
    start: int
    end: int


def is_chunk_name(name: str) -> bool:
    """Tell whether texts under a name may be parts of one text."""
    last = name.rpartition(".")[2]
    return last in CHUNK_KEYS or last in STREAM_KEYS


def is_stream_name(name: str) -> bool:
    """Tell whether texts under a name are pieces of one text, cut anywhere."""
    return name.rpartition(".")[2] in STREAM_KEYS


def crossing(texts: Sequence[str], find: Find, *, chunks: bool) -> list[list[tuple[Part, Edit]]]:
    """Return the findings that reach over a border, each as the parts that it covers, with what replaces each.

    Args:
        find: Searches texts apart from each other.
        chunks: The texts are pieces of one; else only what has letters counts.
    """
    windows = list(_windows(texts))
    if not windows:
        return []
    found = find(["".join(texts[part.number][part.start : part.end] for part in window) for window in windows])
    out = []
    for number, edits in found.items():
        window = windows[number]
        offsets = [0, *accumulate(part.end - part.start for part in window)]
        for edit in edits:
            parts = list(_parts(window, offsets, edit.start, edit.end))
            if len(parts) > 1 and (chunks or edit.labels[0].startswith(_ALWAYS)):
                out.append(
                    [
                        (part, Edit(part.start, part.end, "" if place else edit.text, () if place else edit.labels))
                        for place, part in enumerate(parts)
                    ]
                )
    return out


def _windows(texts: Sequence[str]) -> Iterator[list[Part]]:
    window: list[Part] = []
    for number, text in enumerate(texts):
        if len(text) <= 2 * _REACH:
            if text:
                window.append(Part(number, 0, len(text)))
            continue
        if window:
            yield [*window, Part(number, 0, _REACH)]
        window = [Part(number, len(text) - _REACH, len(text))]
    if len(window) > 1:
        yield window


def _parts(window: Sequence[Part], offsets: Sequence[int], start: int, end: int) -> Iterator[Part]:
    """Yield the parts of a stretch of the joined window, whose parts start at the offsets."""
    place = bisect_right(offsets, start) - 1
    while place < len(window) and offsets[place] < end:
        part = window[place]
        first, last = max(start, offsets[place]), min(end, offsets[place + 1])
        yield Part(part.number, part.start + first - offsets[place], part.start + last - offsets[place])
        place += 1


def are_apart(left: Edits, text: str, right: Edits, *, anywhere: bool) -> bool:
    """Tell whether two texts that seem to make a value together have nothing to do with each other: where they are not
    cut `anywhere`, a value that is whole in one of them is just that.

    Args:
        left: What was found in the first text.
        text: The first text, decoded or as JSON writes it.
        right: What was found in the second text.
    """
    whole = bool(left) and left[-1].end == len(text), bool(right) and right[0].start == 0
    if anywhere:
        return all(whole)
    return any(whole) or (bool(left) and _is_last_of_sentence(left[-1], text))


def _is_last_of_sentence(edit: Edit, text: str) -> bool:
    """Tell whether a personal value is the last of a text but for punctuation: `Write to dana@example.com.` has its
    address, and the `You` of the next text is no part of it. A secret may hold a dot."""
    personal = edit.labels[0].partition(":")[0] not in ("SECRET", "base64")
    return personal and _SENTENCE_ENDS.fullmatch(text, edit.end) is not None


class Group(NamedTuple):
    """Texts that may be joined, with the number of each; and the name that they stand under."""

    name: str
    texts: list[tuple[int, str]]


@dataclass(slots=True)
class Groups:
    """Collects the texts of one document that may be joined: by the key that they stand under, or by their list."""

    _open: dict[str, Group] = field(default_factory=dict)
    _list: Group | None = None
    _done: list[Group] = field(default_factory=list)

    def add(self, key: str, number: int, text: str) -> None:
        """Add a text under a key."""
        group = self._open.get(key)
        if group is None:
            group = self._open[key] = Group(key, [])
        group.texts.append((number, text))

    def add_item(self, name: str, number: int, text: str, *, first: bool) -> None:
        """Add a text of a list. `first`: none right before it belongs to it."""
        if first or self._list is None:
            self.end_list()
            self._list = Group(name, [])
        self._list.texts.append((number, text))

    def end_list(self) -> None:
        """Say that the list ends, or that what is no text stands in it."""
        if self._list is not None:
            self._close(self._list)
            self._list = None

    def end_message(self) -> None:
        """Say that another message begins or ends: nothing is joined to its texts."""
        for group in self._open.values():
            self._close(group)
        self._open.clear()

    @property
    def open(self) -> bool:
        """Whether another text may be joined to one already seen."""
        return bool(self._open) or self._list is not None

    def all(self) -> list[Group]:
        """Return all groups of two or more."""
        self.end_list()
        self.end_message()
        return self._done

    def _close(self, group: Group) -> None:
        if len(group.texts) > 1 and (is_chunk_name(group.name) or len(group.texts) <= MOST_ITEMS):
            self._done.append(group)


class Own:
    """What was found within single texts of a document, before what reaches over borders takes its place."""

    def __init__(self, edits: list[Edit]) -> None:
        self._edits = sorted(edits)
        self._starts = [edit.start for edit in self._edits]
        self._covered: set[int] = set()
        self._new: list[Edit] = []

    def are_apart(self, tokens: Sequence[Token], text: str, *, anywhere: bool) -> bool:
        """Tell whether two texts that follow each other have nothing to do with each other. `text` is the document."""
        return any(
            are_apart(self._within(left), text[left.start : left.end], self._within(right), anywhere=anywhere)
            for left, right in pairwise(tokens)
        )

    def _within(self, token: Token) -> Edits:
        """Return what was found in one text, from its beginning."""
        first, last = bisect_left(self._starts, token.start), bisect_left(self._starts, token.end)
        return tuple(
            edit._replace(start=edit.start - token.start, end=edit.end - token.start)
            for edit in self._edits[first:last]
        )

    def put(self, edit: Edit) -> None:
        """Add an edit in the place of those that it overlaps."""
        start, end = edit.start, edit.end
        place = max(0, bisect_right(self._starts, start) - 1)
        while place < len(self._edits) and self._edits[place].start < end:
            if self._edits[place].end > edit.start:
                self._covered.add(place)
                start, end = min(start, self._edits[place].start), max(end, self._edits[place].end)
            place += 1
        self._new.append(edit._replace(start=start, end=end))

    def all(self) -> list[Edit]:
        """Return what is left, and what was put."""
        return [edit for place, edit in enumerate(self._edits) if place not in self._covered] + self._new
