"""A program on a terminal of its own, driven as somebody at the keyboard drives it."""

import os
import pty
import re
import select
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE_S = 60.0


class Terminal:
    """A program that leads a session on a pseudo-terminal; `read` waits for what it prints, `type` answers."""

    def __init__(self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path) -> None:
        self._ours, theirs = pty.openpty()
        self._all = self._new = ""
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._ours)
            os.chdir(cwd)
            os.login_tty(theirs)
            os.execvpe(argv[0], list(argv), {**env, "TERM": "dumb", "COLUMNS": "200"})
        os.close(theirs)

    def read(self, pattern: str) -> str:
        """Wait for a text that matches; return all up to and with it since the last read."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, self._new)) is None:
            left = deadline - time.monotonic()
            assert left > 0, f"{pattern!r} did not come:\n{self._all}"
            assert self._more(left), f"{pattern!r} did not come before the end:\n{self._all}"
        text, self._new = self._new[: found.end()], self._new[found.end() :]
        return text

    def _more(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # every program on the terminal has ended
            return False
        text = data.decode().replace("\r\n", "\n")
        self._all += text
        self._new += text
        return bool(data)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        """Wait for the program's end; return its exit status."""
        deadline = time.monotonic() + PATIENCE_S
        while self._more(max(0.0, deadline - time.monotonic())):
            assert time.monotonic() < deadline, f"the program did not end:\n{self._all}"
        return self._reap()

    def close(self) -> None:
        """End what still runs on the terminal, as closing its window does. Safe after the end."""
        if self._ours >= 0:
            os.killpg(self.pid, signal.SIGKILL)
            self._reap()

    def _reap(self) -> int:
        _, status = os.waitpid(self.pid, 0)
        os.close(self._ours)
        self._ours = -1
        return os.waitstatus_to_exitcode(status)
