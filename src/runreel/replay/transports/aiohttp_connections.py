"""aiohttp: its connector makes connections that have no socket; its client writes to them and reads as ever."""

import asyncio
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from runreel.replay.transports.http1 import Handler, Incoming, close, written


def patch(handler: Handler, module: ModuleType) -> None:
    """Answer for aiohttp's connector over TCP, which ClientSession uses unless it is given another one."""

    async def create(self: Any, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ARG001
        await asyncio.sleep(0)  # a real connection lets other tasks run, and code is written for that
        protocol = self._factory()
        transport = Transport(handler, protocol, str(req.url.origin()))
        protocol.connection_made(transport)
        return protocol

    module.TCPConnector._create_connection = create


class Transport(asyncio.Transport):
    """The transport of one connection: takes requests one after the other, tells their answers to the protocol."""

    def __init__(self, handler: Handler, protocol: Any, origin: str) -> None:
        super().__init__()
        self._handler, self._protocol, self._incoming = handler, protocol, Incoming(origin)
        self._loop = asyncio.get_running_loop()
        self._frames: Iterator[bytes] | None = None
        self._closed = self._paused = self._due = False

    # --- what the client writes ---------------------------------------------------------------------------------------

    def write(self, data: Any) -> None:
        self._incoming.feed(bytes(data))
        request = self._incoming.taken()
        if request is not None:
            self._loop.call_soon(self._ask, request)

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        self.write(b"".join(list_of_data))

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return False

    # --- what it reads ------------------------------------------------------------------------------------------------

    def _ask(self, request: Any) -> None:
        if self._closed:
            return None
        try:
            answer = self._handler(request)
        except ConnectionRefusedError as error:
            return self._lose(error)
        except ConnectionError:
            return self._lose(None)
        except TimeoutError:
            return self._late()
        except Exception as error:  # noqa: BLE001 - the caller is to get it as it is, and waits in another task
            self._protocol.set_exception(error)
            return None
        self._frames = written(answer, keep=True)
        self._tell()
        return None

    def _tell(self) -> None:
        """Hand the next piece to the protocol; one at a time, so that its reader may walk away in between."""
        self._due = False
        if self._closed or self._paused or self._frames is None:
            return None
        try:
            frame = next(self._frames, None)
        except TimeoutError:
            return self._late()
        except ConnectionError:
            return self._lose(None)
        if frame is None:
            self._frames = None
            return None
        self._protocol.data_received(frame)
        self._later()
        return None

    def _later(self) -> None:
        if not self._due:
            self._due = True
            self._loop.call_soon(self._tell)

    def _late(self) -> None:
        # What the protocol does when a read takes longer than its session allows.
        self._protocol._on_read_timeout()

    def _lose(self, error: Exception | None) -> None:
        self._closed = True
        self._protocol.connection_lost(error)

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._later()

    def is_reading(self) -> bool:
        return not self._paused

    # --- its end ------------------------------------------------------------------------------------------------------

    def is_closing(self) -> bool:
        return self._closed

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            if self._frames is not None:
                close(self._frames)
            self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()
