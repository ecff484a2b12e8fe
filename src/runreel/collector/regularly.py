"""Does something again and again in a thread of its own, whatever goes wrong with it, until it is stopped."""

import logging
import threading
from collections.abc import Callable

from runreel.collector.logs import describe

_log = logging.getLogger(__name__)


class Regularly:
    """Owns a thread. `start`, then `stop`, which is safe without `start`, and twice.

    Args:
        do: What is done. Whatever it raises is logged, once in a row, and it is done again later.
        interval_s: How long to wait between.
        name: The thread's.
        failing: What the log says where it fails.
        at_once: Begin with it, not with waiting.
    """

    def __init__(
        self, do: Callable[[], object], interval_s: float, *, name: str, failing: str, at_once: bool = False
    ) -> None:
        self._do = do
        self._interval_s = interval_s
        self._failing = failing
        self._at_once = at_once
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread. Blocks while it is at work."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        failing = False
        if not self._at_once:
            self._stopping.wait(self._interval_s)
        while not self._stopping.is_set():
            try:
                self._do()
            except Exception as error:  # noqa: BLE001  a store that is away now is there again later
                if not failing:
                    _log.warning(self._failing, extra={"error": describe(error)})
                failing = True
            else:
                failing = False
            self._stopping.wait(self._interval_s)
