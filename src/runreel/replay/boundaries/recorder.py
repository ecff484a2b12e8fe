"""The recorder's own boundaries (`runreel.record`), answered from the record."""

from collections.abc import Mapping
from typing import Any

from runreel.canonical import loads
from runreel.record import calls
from runreel.record._active import CallKind
from runreel.record.convert import thaw
from runreel.replay.boundaries.errors import revive_chain
from runreel.replay.boundaries.functions import Asking, FailedError
from runreel.values import Value


class Boundary:
    """What the recorder calls in place of a tool's, index's, memory's or model's body (`_active.Boundary`)."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    def call(
        self,
        kind: CallKind,
        name: str,
        arguments: Mapping[str, Value],
        call_id: str,
        *,
        contract: str = "",
        known: Mapping[str, Value] | None = None,
    ) -> Value:
        """Return the recorded answer. Raises the recorded exception, or DivergedError."""
        declared = calls.declared.get((kind, calls.known_as(kind, name, arguments.get("op"))))
        defaults = declared.defaults if declared is not None else {}
        more: dict[str, Any] = {"contract": contract} if contract else {}
        if known:
            more["known"] = known
        try:
            return self._asking.call(kind, name, arguments, call_id=call_id, defaults=defaults, **more)
        except FailedError as failed:
            made_with = thaw(loads(failed.arguments)) if failed.arguments else ()
            error = revive_chain(failed.type, failed.message, failed.causes, made_with=tuple(made_with))
        raise error
