"""Which setting switches content on, for the instrumentation that wrote a span."""

from runreel.semconv.dialects import DIALECTS


def content_switch(instrumentation: str, field: str) -> str:
    """Return what to do at the sender so that a content field (`input` or `output`) arrives.

    `instrumentation` is a scope name; the longest scope that it starts with decides.
    """
    fitting = [one for dialect in DIALECTS for one in dialect.switches if instrumentation.startswith(one.scope)]
    chosen = max(fitting, key=lambda one: len(one.scope))
    return chosen.outputs if field == "output" else chosen.inputs
