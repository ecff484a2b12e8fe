"""Which fields a tenant's spans must have. Without one of identity a span is refused, kept aside, or marked; without
one of content its run is kept aside or counted, once it is over (runs/lacking.py)."""

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from runreel.semconv.reading import dialect_of, scalar
from runreel.semconv.registry import KINDS, fields_of
from runreel.semconv.view import View
from runreel.values import Facts, Span

Action = Literal["reject", "quarantine", "flag"]
Policy = Mapping[str, Action]
Policies = Mapping[str, Policy]
"""Tenant, or `*` for those without a policy of their own, to its fields."""

EVERYBODY: Final = "*"
OF_EVERY_SPAN: Final = (
    "service.name",
    "service.version",
    "service.instance.id",
    "deployment.environment.name",
    "vcs.ref.head.revision",
)
"""On the span or its resource."""
OF_AGENTS: Final = ("gen_ai.agent.name", "gen_ai.agent.id", "gen_ai.agent.version", "gen_ai.conversation.id")
"""On spans that call an agent, and on those of agents that begin a trace."""
QUARANTINE: Final = "quarantine:"
"""Begins the mark of a span that is to be kept aside instead of stored; the reason follows."""
_OF_STEPS: Final = ("input", "output")
OF_CONTENT: Final = (
    *_OF_STEPS,
    *(
        f"{kind}.{field.name}"
        for kind in KINDS
        for field in fields_of(kind)
        if field.requirement == "required" and field.name in _OF_STEPS
    ),
)
"""Judged when the run is over, since content may come later and elsewhere. With a kind before it: of those steps."""
FLAGGED_ONLY: Final = ("tool_definitions",)
"""A model call without any is one without tools: only that they came and are not whole can be told."""
CONTENT: Final = (*OF_CONTENT, *FLAGGED_ONLY)

_AGENT_OPERATIONS: Final = ("invoke_agent", "create_agent")
# What SDKs put where nobody gave a name.
_NO_SERVICE: Final = "unknown_service"


def policy_of(policies: Policies, tenant: str) -> Policy:
    """Return a tenant's policy for identity: at ingest there is nothing to be done about content."""
    return {field: action for field, action in _of_tenant(policies, tenant).items() if field not in CONTENT}


def content_policy_of(policies: Policies, tenant: str) -> Policy:
    """Return a tenant's policy for the content of runs."""
    return {field: action for field, action in _of_tenant(policies, tenant).items() if field in OF_CONTENT}


def _of_tenant(policies: Policies, tenant: str) -> Policy:
    return policies.get(tenant, policies.get(EVERYBODY, {}))


def missing(policy: Policy, span: Span, facts: Facts) -> Iterator[tuple[str, Action]]:
    """Yield the fields that the span must have and has not, with what is to be done about each."""
    for field, action in policy.items():
        if field in OF_EVERY_SPAN:
            lacking = not _somewhere(span, field)
        else:
            lacking = _of_an_agent(span, facts) and not _of_agent(span, field)
        if lacking:
            yield field, action


def _somewhere(span: Span, field: str) -> bool:
    for attributes in (span.attributes, span.resource.attributes):
        value = attributes.get(field)
        if isinstance(value, str) and value.strip():
            return not (field == "service.name" and value.partition(":")[0] == _NO_SERVICE)
    return False


def _of_an_agent(span: Span, facts: Facts) -> bool:
    if facts.kind != "agent":
        return False
    return not span.parent_id or span.attributes.get("gen_ai.operation.name") in _AGENT_OPERATIONS


def _of_agent(span: Span, field: str) -> bool:
    value = span.attributes.get(field)
    if value is None and field == "gen_ai.agent.name":  # dialects have names of their own for it
        view = View(span)
        value = scalar(view, dialect_of(view), "agent.name", "text")
    return isinstance(value, str) and bool(value.strip())
