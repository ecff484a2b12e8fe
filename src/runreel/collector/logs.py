"""The collector's log on stderr: one line a record, with fields, never with payload text.

A foreign exception's message may quote what it choked on, so only its type and place are written.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Literal

from runreel.errors import RunReelError

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}
_FRAMES = 4
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}


def describe(error: BaseException) -> str:
    """Name an exception: its type and where it was raised, and its message only if it is one of ours."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    place = " < ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    said = f": {error}" if isinstance(error, RunReelError) else ""
    return f"{type(error).__name__}{said}" + (f" at {place}" if place else "")


class _Format(logging.Formatter):
    """One line a record: time, level, logger, message, then the fields given in `extra`."""

    def __init__(self, encoding: Literal["console", "json"]) -> None:
        super().__init__()
        self._json = encoding == "json"

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields = {key: value for key, value in vars(record).items() if key not in _PLAIN}
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = describe(record.exc_info[1])
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        head = {"time": time, "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage()}
        if self._json:
            return json.dumps({**head, **fields}, default=str)
        rest = "".join(f" {key}={_word(value)}" for key, value in fields.items())
        return f"{time} {record.levelname.lower():7} {record.getMessage()}{rest}"


def _word(value: object) -> str:
    text = str(value)
    return text if text and text.isprintable() and " " not in text else json.dumps(text)


def configure(level: str, encoding: Literal["console", "json"]) -> None:
    """Send the whole process's log to stderr in our form; chatty libraries from warnings up."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Format(encoding))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("runreel").setLevel(_LEVELS[level])
    # It logs a traceback with the data of a failed insert; the exporter says what failed.
    logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)
