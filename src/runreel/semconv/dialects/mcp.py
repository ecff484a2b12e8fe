"""Spans of the Model Context Protocol: what a client sent and what a server did, nested, without content.

Of its methods only `tools/call` is a step. Up to three spans tell of one call (client, transport, server): the
outermost stands for it. Arguments and result come from the model's side, or from the span of a framework around it.
"""

from collections.abc import Mapping
from typing import Final

from runreel.semconv.dialect import Dialect, Switch
from runreel.semconv.view import View
from runreel.values import Kind, Value

METHOD: Final = "mcp.method.name"
_CALL: Final = "tools/call"


def _claims(view: View) -> bool:
    return METHOD in view.span.attributes


def _kind(view: View) -> tuple[Kind, str] | None:
    return ("tool", METHOD) if view.text(METHOD) == _CALL else None


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    """The tool's name is an attribute, or stands behind the method in the span's name."""
    if kind != "tool":
        return {}
    return {"name": view.span.name.partition(f"{_CALL} ")[2]}


_NEVER: Final = (
    "these spans never hold content: let the model client be instrumented too (its messages hold arguments and "
    "results), or call runreel.record.mcp() in the agent"
)

DIALECT = Dialect(
    name="mcp",
    title="MCP",
    claims=_claims,
    kind=_kind,
    scalars={"tool.name": ("gen_ai.tool.name",)},
    extras=_extras,
    coded={"tool.name": ("span name",)},
    switches=(Switch("mcp-python-sdk", _NEVER, _NEVER), Switch("fastmcp", _NEVER, _NEVER)),
)
