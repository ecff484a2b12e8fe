"""Which setting switches content on, for the instrumentation that wrote a span."""

from runreel.semconv.dialect import Switch
from runreel.semconv.dialects import DIALECTS


def content_switch(instrumentation: str, field: str) -> str:
    """Return what to do at the sender so that a content field (`input` or `output`) arrives.

    `instrumentation` is a scope name; the longest scope that it starts with decides.
    """
    chosen = _switch(instrumentation)
    return chosen.outputs if field == "output" else chosen.inputs


def model_switch(instrumentation: str) -> str:
    """Return what to do at the sender so that model calls are recorded, "" where its instrumentation records them."""
    return _switch(instrumentation).models


def _switch(instrumentation: str) -> Switch:
    fitting = [one for dialect in DIALECTS for one in dialect.switches if _starts(instrumentation, one.scope)]
    return max(fitting, key=lambda one: len(one.scope))


def _starts(instrumentation: str, scope: str) -> bool:
    """Say whether a scope name starts with another one, at the end of a word: `ai` is not the start of `aiohttp`."""
    end = instrumentation[len(scope) : len(scope) + 1]
    return instrumentation.startswith(scope) and (not scope or scope[-1] == "." or end in ("", ".", " "))
