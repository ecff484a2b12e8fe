"""Where tool calls, their results and documents stand in spans of any dialect: by the names of the members around them.

Values of one span or log record are seen as one tree: the names of its attributes are taken apart at their dots, and
JSON in strings is gone into. So a call in a message, in an indexed attribute and in a log body looks the same.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from runreel.processors.redact.places import Path

Index: TypeAlias = Mapping[Path, str | None]
"""Every place of a tree, with its text where it is a short one."""

NAMES = frozenset({"name", "tool_name", "toolName"})
ARGUMENTS = frozenset({"arguments", "input", "args", "tool_input", "toolArgs", "rawInput"})
RESULTS = frozenset({"content", "response", "result", "output", "tool_result"})
IDS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "toolCallId"})
TEXTS = frozenset({"content", "text", "page_content", "pageContent", "snippet", "body", "chunk", "passage"})
_IN_PARTS = frozenset({"text", "content", "output", "result", "response"})


def calls(index: Index, tools: "frozenset[str] | set[str]", ids: dict[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield (tool, place) of the arguments and results of calls of these tools; `ids` is read, and added to.

    A result often names the call's id alone: the call was in an earlier message, or in an earlier record.
    """
    named: set[Path] = set()
    for path, text in index.items():
        if path and path[-1] in NAMES and text in tools:
            assert text is not None
            around = path[:-1]
            named.add(around)
            for member in ARGUMENTS | RESULTS:
                yield from ((text, place) for place in _unwrapped(index, (*around, member)))
            for above in (around, around[:-1]):
                for member in IDS:
                    call_id = index.get((*above, member))
                    if call_id:
                        ids[call_id] = text
    for path, text in index.items():
        if path and path[-1] in IDS and text in ids and path[:-1] not in named:
            assert text is not None
            for member in RESULTS:
                yield from ((ids[text], place) for place in _unwrapped(index, (*path[:-1], member)))


def _unwrapped(index: Index, place: Path) -> Iterator[Path]:
    """Yield a place that is there; where it is a list of message parts, what they hold."""
    if place not in index:
        return
    number = 0
    while (*place, str(number), "type") in index:
        for member in _IN_PARTS:
            if (*place, str(number), member) in index:
                yield (*place, str(number), member)
        number += 1
    if number == 0:
        yield place


def documents(index: Index, source: str) -> Iterator[Path]:
    """Yield the texts of documents that say that they come from a source, in themselves or in their metadata."""
    for path, text in index.items():
        if path and path[-1] == "source" and text == source:
            around = path[:-2] if len(path) > 1 and path[-2] == "metadata" else path[:-1]
            yield from (place for member in TEXTS if (place := (*around, member)) in index)


def texts_below(index: Index, root: Path) -> Iterator[Path]:
    """Yield the texts of all documents below a place: members of such a name, and members of a list that are texts."""
    depth = len(root)
    for path, text in index.items():
        if (
            len(path) > depth
            and path[:depth] == root
            and (path[-1] in TEXTS or (len(path) == depth + 1 and path[-1].isdigit() and text is not None))
        ):
            yield path
