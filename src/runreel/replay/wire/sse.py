"""Server-sent events, as every provider streams them."""

from collections.abc import Iterator
from typing import Final

EVENT_STREAM: Final = ("content-type", "text/event-stream; charset=utf-8")

_LEAST, _MOST = 4, 64


def event(data: bytes, name: str = "", end: bytes = b"\n\n") -> bytes:
    """Return one event. `data` is one line."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + data + end


def pieces(text: str) -> Iterator[str]:
    """Cut a text as a stream would bring it: some characters at a time, in 64 pieces at most.

    Where the recorded stream was cut is not recorded. Several pieces keep code honest that puts them together; few of
    them keep long answers quick.
    """
    size = max(_LEAST, -(-len(text) // _MOST))
    return (text[start : start + size] for start in range(0, len(text), size))


def then(events: Iterator[bytes], *more: bytes) -> Iterator[bytes]:
    """Return events with more of them at the end."""
    yield from events
    yield from more
