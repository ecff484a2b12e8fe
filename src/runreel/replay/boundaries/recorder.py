"""The recorder's own boundaries (`runreel.record`), answered from the record."""

from collections.abc import Mapping
from typing import Literal

from runreel.record import calls
from runreel.replay.boundaries.errors import revive_chain
from runreel.replay.boundaries.functions import Asking, FailedError
from runreel.values import Value


class Boundary:
    """What the recorder calls in place of a tool's or retriever's body (`runreel.record._active.Boundary`)."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def call(
        self, kind: Literal["tool", "retrieval"], name: str, arguments: Mapping[str, Value], call_id: str
    ) -> Value:
        """Return the recorded answer. Raises the recorded exception, or DivergedError."""
        declared = calls.declared.get((kind, name))
        defaults = declared.defaults if declared is not None else {}
        try:
            return self._asking.call(kind, name, arguments, call_id=call_id, defaults=defaults)
        except FailedError as failed:
            error = revive_chain(failed.type, failed.message, failed.causes)
        raise error
