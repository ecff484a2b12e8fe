"""Frames between a replay and the agent's process, over one inherited stream pair; nothing of them touches a disk.

A frame is a JSON head (`type`, often `id`, small fields) and a body of bytes. The child asks (`http`, `call`) and waits
for the reply with its id; everything else it sends (`otlp`, `network`, `note`, `ended`...) has no reply. The parent
decides every answer, so what agent code swallows, patches or loses does not change the verdict.
"""

import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_LENGTHS = struct.Struct(">II")
_MAX_BYTES = 1 << 31
# What a child says of itself: a process that it forked has no say in it.
_OF_ITS_OWN = frozenset({"started", "refused", "no_entry", "ended"})
GONE = "the replay that started this process is gone"


@dataclass(frozen=True, slots=True)
class Frame:
    """One message. `head` holds JSON values only; `body` is never shown."""

    type: str
    head: Mapping[str, Any] = field(default_factory=dict, repr=False)
    body: bytes = field(default=b"", repr=False)

    def get(self, name: str, default: Any = None) -> Any:
        return self.head.get(name, default)


class Channel:
    """One end of the stream pair. Owns its descriptor. Sending is thread-safe; one thread at a time may receive.

    An agent may close every descriptor it finds, and its next file then has our number: nothing is written to it, and
    nothing read from it.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._stream = _identity(descriptor)
        self._sending = threading.Lock()

    def send(self, frame: Frame) -> None:
        """Write a whole frame. Raises OSError when the other end is gone."""
        head = json.dumps({"type": frame.type, **frame.head}, ensure_ascii=True).encode()
        data = memoryview(_LENGTHS.pack(len(head), len(frame.body)) + head + frame.body)
        with self._sending:
            if _identity(self._descriptor) != self._stream:
                raise BrokenPipeError("the descriptor is another file by now")
            while data:
                data = data[os.write(self._descriptor, data) :]

    def receive(self) -> Frame | None:
        """Read the next frame; None at the end of the stream, also where it ends inside a frame."""
        if _identity(self._descriptor) != self._stream:
            return None
        lengths = self._read(_LENGTHS.size)
        if lengths is None:
            return None
        head_bytes, body_bytes = _LENGTHS.unpack(lengths)
        if head_bytes + body_bytes > _MAX_BYTES:
            return None
        head, body = self._read(head_bytes), self._read(body_bytes)
        if head is None or body is None:
            return None
        fields = json.loads(head)
        return Frame(fields.pop("type"), fields, body)

    def _read(self, size: int) -> bytes | None:
        data = bytearray()
        while len(data) < size:
            try:
                chunk = os.read(self._descriptor, min(size - len(data), 1 << 20))
            except ConnectionError:  # the child was killed with unread frames of ours
                return None
            if not chunk:
                return None
            data += chunk
        return bytes(data)

    def finish(self) -> None:
        """Let `receive` return what has arrived and then the end, whoever still holds the other end."""
        with socket.socket(fileno=os.dup(self._descriptor)) as stream:
            stream.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _identity(descriptor: int) -> tuple[int, int] | None:
    """Return what tells the file behind a descriptor from every other; None where it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Link:
    """The child's end: ask and wait, or tell.

    A process that the agent forks inherits the descriptor but not the conversation: there, `reconnect` is asked for a
    channel of its own. Without it, asking raises ForkedError after one note to the parent.
    """

    def __init__(self, channel: Channel) -> None:
        self.reconnect: Callable[[], Channel] | None = None
        self._renewing = threading.Lock()
        self._start(channel)

    def _start(self, channel: Channel) -> None:
        self._channel = channel
        self._asking = threading.RLock()  # a finaliser or signal handler may ask while its own thread is asking
        self._stash: dict[int, Frame] = {}
        self._next = 0
        self._pid = os.getpid()

    def ask(self, frame: Frame) -> Frame:
        """Send a question and return its reply. Raises LostError when the parent is gone, ForkedError after a fork."""
        if not self._is_here():
            self.tell(Frame("forked", {"what": frame.type, "name": frame.get("name", "")}))
            raise ForkedError("an answer from the record was asked for in a forked process: run it in threads instead")
        with self._asking:
            self._next += 1
            number = self._next
            try:
                self._channel.send(Frame(frame.type, {**frame.head, "id": number}, frame.body))
            except OSError as error:
                raise LostError(GONE) from error
            while (reply := self._stash.pop(number, None)) is None:
                received = self._channel.receive()
                if received is None:
                    raise LostError(GONE)
                self._stash[int(received.get("id", 0))] = received
            return reply

    def _is_here(self) -> bool:
        """Say whether this process has a conversation; a forked one starts its own, where it can."""
        if os.getpid() != self._pid and self.reconnect is not None:
            with self._renewing:
                if os.getpid() != self._pid:
                    self._start(self.reconnect())
        return os.getpid() == self._pid

    def tell(self, frame: Frame) -> None:
        """Send a frame that has no reply; silently nothing where the parent is gone, since nobody is left to tell."""
        if frame.type in _OF_ITS_OWN and os.getpid() != self._pid:
            return
        try:
            self._is_here()
            self._channel.send(frame)
        except OSError:
            return


class LostError(ConnectionError):
    """The other end is gone."""


class ForkedError(RuntimeError):
    """The link was used in a process that is not the one the replay started."""
