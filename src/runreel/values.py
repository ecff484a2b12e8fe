"""The frozen values that flow through RunReel, from OTLP bytes to a replayed run (DESIGN section 17).

Nothing here does anything: no I/O, no clock, no parsing. Nobody mutates a value or a mapping inside one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from runreel.quarantined import Quarantined as Quarantined  # noqa: PLC0414  named here with the batch that holds it

Value: TypeAlias = "bool | int | float | str | bytes | tuple[Value, ...] | Mapping[str, Value] | None"
"""Any attribute or payload value. Arrays are tuples; maps are plain dicts that nobody changes; an empty OTLP
AnyValue is None."""

Kind = Literal["agent", "llm", "tool", "retrieval", "decision", "memory", "other"]
"""What a span is. `other` is a structural span: kept, with its place in the tree, but no step of a run."""

RefState = Literal["whole", "withheld", "cut", "external", "absent"]
Outcome = Literal["ok", "error", "aborted", "user_flagged"]
Replayable = Literal["full", "partial", "none"]
NeededFor = Literal["frozen", "live", "diagnose"]

EMPTY: Mapping[str, Value] = {}
DEFAULT_TENANT = "default"


@dataclass(frozen=True, slots=True)
class SpanKey:
    """Identity of a stored span. Ids are lower-case hex (32 and 16 digits); `copy` is the first 32 hex digits of the
    SHA-256 of the redacted content, empty until the span is split."""

    tenant: str
    trace_id: str
    span_id: str
    copy: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    attributes: Mapping[str, Value] = field(default_factory=dict)
    schema_url: str = ""
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Scope:
    name: str = ""
    version: str = ""
    attributes: Mapping[str, Value] = field(default_factory=dict)
    schema_url: str = ""
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    time_ns: int = 0
    attributes: Mapping[str, Value] = field(default_factory=dict)
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Link:
    trace_id: str
    span_id: str
    trace_state: str = ""
    attributes: Mapping[str, Value] = field(default_factory=dict)
    dropped: int = 0
    flags: int = 0


@dataclass(frozen=True, slots=True)
class Dropped:
    """How many items the sender says it left out of a span."""

    attributes: int = 0
    events: int = 0
    links: int = 0


@dataclass(frozen=True, slots=True)
class Span:
    """One OTLP span, whole. Times are the sender's nanoseconds since 1970 as they came (0..2**64-1).

    `status` is OTLP's code (0 unset, 1 ok, 2 error); `kind` OTLP's span kind (0..5). `marks` are notes of ours about
    the span, such as `utf8_repaired`, `duplicate_key`, `withheld:<path>:<reason>`.
    """

    key: SpanKey
    parent_id: str | None
    name: str
    start_ns: int
    end_ns: int
    status: int = 0
    message: str = ""
    scope: Scope = Scope()
    resource: Resource = Resource()
    attributes: Mapping[str, Value] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    dropped: Dropped = Dropped()
    marks: tuple[str, ...] = ()
    kind: int = 0
    trace_state: str = ""
    flags: int = 0


@dataclass(frozen=True, slots=True)
class LogEvent:
    """One OTLP log record. Empty ids mean that it belongs to no span. `copy` as in SpanKey: the identity of a log
    event is its content, since logs have no id."""

    tenant: str
    trace_id: str
    span_id: str
    event_name: str = ""
    time_ns: int = 0
    observed_ns: int = 0
    severity: int = 0
    severity_text: str = ""
    body: Value = None
    attributes: Mapping[str, Value] = field(default_factory=dict)
    resource: Resource = Resource()
    scope: Scope = Scope()
    dropped: int = 0
    flags: int = 0
    marks: tuple[str, ...] = ()
    copy: str = ""


@dataclass(frozen=True, slots=True)
class Pointer:
    """Where a content field sits in a span: `attributes`, `events` or `logs`, and the keys that carry it."""

    source: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """Something a run lacks. `step` is its seq, None for the run as a whole; `fix` is what to do about it."""

    step: int | None
    field: str
    needed_for: NeededFor
    cause: str
    fix: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The cheap facts of one span, taken at ingest so that stores can be searched. Never the only source: `assemble`
    derives the same facts again from the span itself."""

    kind: Kind = "other"
    kind_source: str = ""
    dialect: str = ""
    name: str = ""
    run_hint: str = ""
    call_id: str = ""
    agent_id: str = ""
    model: str = ""
    provider: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    content: Mapping[str, Pointer] = field(default_factory=dict)
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejection:
    """A span or log record that was not taken. `detail` never holds payload text."""

    signal: Literal["span", "log"]
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RawBatch:
    """Decoded, not redacted. Lives in memory only. `facts` is empty until `schema` ran, then parallel to `spans`."""

    tenant: str
    spans: tuple[Span, ...] = ()
    logs: tuple[LogEvent, ...] = ()
    facts: tuple[Facts, ...] = ()
    rejected: tuple[Rejection, ...] = ()


@dataclass(frozen=True, slots=True)
class Sealed:
    """The value behind a token, encrypted when it was redacted. `key_id` names the tenant's key that made the token,
    `vault_key_id` the key that opens `body`."""

    tenant: str
    token: str
    key_id: str
    vault_key_id: str
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class CleanBatch:
    """Redacted, still whole. `counts` says how often each rule or entity fired; `sealed` is for the vault alone."""

    tenant: str
    spans: tuple[Span, ...] = ()
    logs: tuple[LogEvent, ...] = ()
    facts: tuple[Facts, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    sealed: tuple[Sealed, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A string (or binary value) of 256 bytes or more, stored once per tenant under its SHA-256."""

    tenant: str
    sha256: str
    data: bytes
    media_type: str = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Ref:
    """Address of a whole redacted payload: SHA-256 over its canonical form (scheme `rr-json-1`), with its size there in
    bytes. `sha256` is empty where there is no content (states withheld and absent)."""

    sha256: str = ""
    size: int = 0
    state: RefState = "absent"
    reason: str = ""

    def __str__(self) -> str:
        return f"sha256:{self.sha256}" if self.sha256 else self.state


@dataclass(frozen=True, slots=True)
class Payload:
    """One content value as stored: its skeleton (typed JSON text, see canonical.py), and the hashes of its parts."""

    tenant: str
    ref: Ref
    skeleton: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A span ready to be stored: its heavy values are references into payloads and parts."""

    span: Span
    facts: Facts


@dataclass(frozen=True, slots=True)
class SplitBatch:
    """Redacted and split: the only thing that may be stored. `quarantined` is kept aside, and is none of `rows` and
    `logs`."""

    tenant: str
    rows: tuple[SpanRow, ...] = ()
    logs: tuple[LogEvent, ...] = ()
    payloads: tuple[Payload, ...] = ()
    parts: tuple[Part, ...] = ()
    rejected: tuple[Rejection, ...] = ()
    sealed: tuple[Sealed, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()


@dataclass(frozen=True, slots=True)
class StepError:
    """What a step failed with: enough to raise it again."""

    type: str
    message: str = ""
    stack: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One span, understood. `after` holds the seqs of the steps whose answers it could have seen (causal order).

    `fields` by kind (docs/record.md): llm `model, model_requested, provider, params, tool_definitions, usage,
    finish_reasons, response_id, stream, interrupted`; tool `version, side_effect, arguments_text`; retrieval
    `index_name, index_version, top_k`.
    """

    seq: int
    keys: tuple[SpanKey, ...]
    parent: int | None
    kind: Kind
    name: str
    after: frozenset[int] = frozenset()
    call_id: str = ""
    start_ns: int = 0
    end_ns: int = 0
    status: Literal["ok", "error", "interrupted"] = "ok"
    input: Ref = Ref()
    output: Ref = Ref()
    error: StepError | None = None
    fields: Mapping[str, Value] = field(default_factory=dict)
    shadowed_by: int | None = None
    synthesised: bool = False
    dialect: str = ""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What a replay came to, as lists show it. `first` is the first divergence: its `type` and, where they are known,
    the recorded `step`, the `kind` and `name` of the call, and the `path` of the field that differs."""

    mode: str
    verdict: str
    divergences: int = 0
    first: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of an agent. `payloads` maps the SHA-256 of every ref with content to its whole value."""

    tenant: str
    run_id: str
    revision: str
    trace_ids: tuple[str, ...]
    agent_id: str
    steps: tuple[Step, ...] = ()
    gaps: tuple[Gap, ...] = ()
    replayable: Replayable = "none"
    outcome: Outcome = "ok"
    open: bool = False
    started_ns: int = 0
    ended_ns: int = 0
    parent_run_id: str | None = None
    parent_relation: str | None = None
    replay_of: str | None = None
    versions: Mapping[str, Value] = field(default_factory=dict)
    prompt_versions: Mapping[str, Value] = field(default_factory=dict)
    user_ref: str | None = None
    user_input: Ref = Ref()
    final_output: Ref = Ref()
    flags: Mapping[str, Value] = field(default_factory=dict)
    env: str = ""
    service: Mapping[str, Value] = field(default_factory=dict)
    conversation_id: str | None = None
    payloads: Mapping[str, Value] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    scores: tuple[Mapping[str, Value], ...] = ()
    flagged: tuple[Mapping[str, Value], ...] = ()
    replay_result: ReplayResult | None = None

    def value(self, ref: Ref) -> Value:
        """Return the whole value behind a ref of this run; None where it has no content."""
        return self.payloads.get(ref.sha256)


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """What one model was used for in a run: calls counted once, and the known tokens (input includes cache)."""

    model: str
    calls: int
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of `runs ls`: what lists show without payloads."""

    tenant: str
    run_id: str
    trace_ids: tuple[str, ...]
    agent_id: str
    started_ns: int
    ended_ns: int
    outcome: Outcome
    open: bool
    model_calls: int
    tool_calls: int
    retrievals: int
    replayable: Replayable
    parent_run_id: str | None = None
    replay_of: str | None = None
    user_ref: str | None = None
    env: str = ""
    revision: str = ""
    tools: tuple[str, ...] = ()
    replay_result: ReplayResult | None = None
    usage: tuple[ModelUsage, ...] = ()
