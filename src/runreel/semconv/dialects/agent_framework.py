"""Microsoft's Agent Framework: the conventions' spans, and a log event a message beside them.

Finish reasons are the text of a JSON list. The steps of a workflow are executors.
"""

from collections.abc import Mapping
from typing import Final

from runreel.semconv.dialect import Dialect, Source, Switch
from runreel.semconv.message_events import CHOICE, answered, sent
from runreel.semconv.view import View
from runreel.values import Kind, Value

_SCOPE: Final = "agent_framework"
_NAME: Final = "microsoft.agent_framework"
_EXECUTOR: Final = "executor.id"
_WORKFLOW: Final = "workflow.id"


def _claims(view: View) -> bool:
    if view.span.scope.name.startswith(_SCOPE) or view.span.attributes.get("gen_ai.provider.name") == _NAME:
        return True
    return view.names.begin(("executor.", "edge_group."))


def _kind(view: View) -> tuple[Kind, str] | None:
    if view.text("gen_ai.operation.name"):
        return None
    return next((("agent", key) for key in (_EXECUTOR, _WORKFLOW) if key in view.span.attributes), None)


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    address = view.text("server.address")
    return {"server_address": address} if kind == "llm" and address != "Unknown" else {}


_ON: Final = "set ENABLE_INSTRUMENTATION=true and ENABLE_SENSITIVE_DATA=true at the sender"

DIALECT = Dialect(
    name="agent_framework",
    title="Microsoft Agent Framework",
    claims=_claims,
    kind=_kind,
    scalars={"agent.name": ("gen_ai.agent.name", _EXECUTOR, "workflow.name", _WORKFLOW)},
    contents={
        "llm.input": Source(("gen_ai.*.message",), read=sent),
        "llm.output": Source((CHOICE,), read=answered),
    },
    extras=_extras,
    coded={"llm.server_address": ("server.address",)},
    switches=(Switch(_SCOPE, _ON, _ON),),
    hides=frozenset({"llm.server_address"}),
)
