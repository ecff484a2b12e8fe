"""The values of a replay: what a tape holds, what a replay found, what it was worth."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from runreel.values import EMPTY, Kind, RawBatch, Run, Value

Verdict = Literal["same", "diverged", "not_comparable"]
Mode = Literal["frozen"]
OnDivergence = Literal["stop", "continue"]
Source = Literal["span", "synthesised"]
DivergenceType = Literal[
    "unrecorded_call",
    "missing_call",
    "input_mismatch",
    "output_mismatch",
    "decision_mismatch",
    "order_mismatch",
    "unstubbed_tool",
    "network_attempt",
    "nondeterminism",
]


@dataclass(frozen=True, slots=True)
class Returned:
    """An answer that came back whole.

    Of a model call, `value` is the tuple of output messages and `fields` holds what the wire format wants beside them:
    `model`, `usage`, `response_id`, `finish_reasons`, and `created_ns`. Of a tool it is the result as recorded (text
    stays text), of a retrieval the tuple of documents.
    """

    value: Value = field(repr=False)
    fields: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Streamed:
    """A model's answer that came in pieces, put together. `interrupted`: its reader walked away before the end."""

    value: Value = field(repr=False)
    fields: Mapping[str, Value] = field(default_factory=dict)
    interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Raised:
    """A call that failed: the exception's type (a name, or `module.Name`) and its text.

    `fields` may hold `status`, the HTTP status of a model call that was refused.
    """

    type: str
    message: str = field(default="", repr=False)
    fields: Mapping[str, Value] = field(default_factory=dict)


Answer: TypeAlias = Returned | Streamed | Raised


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded call that a boundary can be asked for.

    `request` is what it was asked: of a model call the map `{"model", "messages", "tools", "params"}`, of a tool its
    arguments (a map, or the raw text where it was no JSON object), of a retrieval its query. `key` is an index over
    the request, named by scheme; unification decides. `after` holds the seqs whose answers it could have seen;
    `calls` the ids of the tool calls that this answer asked for. `instrumentation` is what recorded it, with its
    version.
    """

    seq: int
    kind: Kind
    name: str
    request: Value = field(repr=False)
    answer: Answer = field(repr=False)
    key: str = ""
    call_id: str = ""
    after: frozenset[int] = frozenset()
    calls: tuple[str, ...] = ()
    side_effect: bool = False
    source: Source = "span"
    start_ns: int = 0
    end_ns: int = 0
    instrumentation: str = ""

    def title(self) -> str:
        """Return how reports name this entry."""
        return f"step {self.seq} ({self.kind} {self.name})" if self.name else f"step {self.seq} ({self.kind})"


@dataclass(frozen=True, slots=True)
class Nearest:
    """A recorded call that comes close to what was asked. `likeness` is 0..1; `answered`: it had been given before."""

    seq: int
    kind: Kind
    name: str
    path: str
    likeness: float
    answered: bool = False


@dataclass(frozen=True, slots=True)
class Divergence:
    """One difference between the recorded run and its replay.

    `recorded` is the seq of the step in the record, `replayed` the ordinal (from 1) of the call in the replay, `after`
    the seq of the recorded step that was answered last before it. `was`
    and `now` are the values at `path` (a JSON pointer into the request). `now` is live and not redacted: a report
    shows it only through `report.shown`, and `repr` leaves both out.
    """

    type: DivergenceType
    fails: bool = True
    kind: Kind = "other"
    name: str = ""
    recorded: int | None = None
    replayed: int | None = None
    path: str = ""
    was: Value = field(default=None, repr=False)
    now: Value = field(default=None, repr=False)
    has_was: bool = False
    has_now: bool = False
    reason: str = ""
    also: tuple[str, ...] = ()
    nearest: tuple[Nearest, ...] = ()
    advice: str = ""
    call_id: str = ""
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay came to.

    `run` is the replay as it recorded itself, None where the agent exported no spans; `redacted` says whether it went
    through the redactor (else it holds live values and must stay in memory). `record` is what `storing` puts through
    the chain: the same, raw, with what the replay came to. `answered` counts the calls answered from
    the record by kind and name, `reproduced` the recorded failures that the agent's own code ran into again without
    asking. `coverage` says by recorded step what answered it: `wire openai.chat`, `function`, `recorder`, an adapter's
    name, or `agent` for a failure that came about again. `assumed` are the tokens that stand for a live value without a
    key to prove it, `drawn` what stands for values that the replay drew anew. `masked` counts the differences that each
    mask hid. `live_calls` is 0 in frozen mode.
    """

    of: str
    mode: Mode
    verdict: Verdict
    divergences: tuple[Divergence, ...] = ()
    answered: Mapping[tuple[Kind, str], int] = field(default_factory=dict)
    reproduced: int = 0
    coverage: Mapping[int, str] = field(default_factory=dict)
    not_reached: int = 0
    assumed: tuple[str, ...] = ()
    proved: int = 0
    drawn: tuple[str, ...] = ()
    masked: Mapping[str, int] = field(default_factory=dict)
    network: tuple[Mapping[str, Any], ...] = ()
    isolation: str = ""
    exit_code: int | None = None
    ended: str = ""
    notes: tuple[str, ...] = ()
    live_calls: int = 0
    run: Run | None = field(default=None, repr=False)
    redacted: bool = False
    record: RawBatch | None = field(default=None, repr=False)
    duration_s: float = 0.0

    @property
    def exit_status(self) -> int:
        """Return what the command line ends with: 0 same, 2 diverged, 125 not comparable."""
        return {"same": 0, "diverged": 2, "not_comparable": 125}[self.verdict]


NO_FIELDS = EMPTY
