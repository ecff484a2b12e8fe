"""What a replay recorded of itself, under ids of its own: ready for the chain that everything passes.

An agent may set its ids itself, go on with a trace from its environment, or draw them from the randomness that is the
same in every replay. So each trace gets a fresh id here, and each run that its spans name a fresh name: two replays are
two runs, and neither is ever taken for the run that was recorded.
"""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from runreel import otlp
from runreel.errors import DecodeError
from runreel.replay.values import Divergence, Replayed
from runreel.runs.identity import Group, group
from runreel.runs.replayed import replay_id, result_event
from runreel.semconv import keys
from runreel.values import Link, LogEvent, RawBatch, ReplayResult, Resource, Run, Span, Value

Export = tuple[str, str, bytes]
"""One export of the agent's: its signal, encoding and bytes."""


def new_run_id(of_run: str) -> str:
    """Return an id for a replay, drawn outside of the agent: no seed repeats it."""
    return replay_id(of_run, secrets.token_hex(6))


@dataclass(frozen=True, slots=True)
class Recording:
    """The spans and log events of one replay, live and not redacted; and which of them are the run that is compared.

    `main` is empty where the agent exported no step.
    """

    run_id: str
    of_run: str
    spans: tuple[Span, ...] = field(default=(), repr=False)
    logs: tuple[LogEvent, ...] = field(default=(), repr=False)
    main: Group = field(default=((), ()), repr=False)
    problems: tuple[str, ...] = ()

    def batch(self, replayed: Replayed, outcome: str = "") -> RawBatch | None:
        """Return all of it with what the replay came to, None where there is no run to store."""
        if not self.main[0]:
            return None
        tenant, trace_id = self.main[0][0].key.tenant, self.main[0][0].key.trace_id
        said = result(replayed)
        event = result_event(tenant, trace_id, self.run_id, self.of_run, said, time.time_ns(), outcome)
        return RawBatch(tenant, self.spans, (*self.logs, event))


def recording(exports: Sequence[Export], recorded: Run, run_id: str, *, told: str = "") -> Recording:
    """Decode what an agent exported while it was replayed, and give it ids of its own.

    The run that is compared, and gets the id `run_id`, is the one named `told`, as the recorder was told to name it,
    else the largest.
    """
    spans: list[Span] = []
    logs: list[LogEvent] = []
    problems: list[str] = []
    for signal, encoding, data in exports:
        try:
            batch = otlp.decode(signal, data, encoding, recorded.tenant)  # type: ignore[arg-type]
        except DecodeError as error:
            problems.append(f"an export of the replay was not OTLP: {error}")
            continue
        spans += batch.spans
        logs += batch.logs
    groups = group(spans, logs)
    if not groups:
        return Recording(run_id, recorded.run_id, problems=tuple(problems))
    main = told if told in groups else max(groups, key=lambda name: (len(groups[name][0]), name))
    others = [name for name in sorted(groups) if name != main]
    names = {main: run_id, **{name: f"{run_id}.{number}" for number, name in enumerate(others, 2)}}
    own = _Ids(run_id, recorded.run_id, names, groups, spans)
    new_spans, new_logs = tuple(map(own.span, spans)), tuple(map(own.log, logs))
    chosen = group(new_spans, new_logs).get(run_id, ((), ()))
    return Recording(run_id, recorded.run_id, new_spans, new_logs, chosen, tuple(problems))


class _Ids:
    """Gives the records of one replay their ids: the same for the same, and none that was there before."""

    def __init__(
        self, run_id: str, of_run: str, names: Mapping[str, str], groups: Mapping[str, Group], spans: Sequence[Span]
    ) -> None:
        self._run_id, self._of_run = run_id, of_run
        self._names = names
        self._traces = {span.key.trace_id: secrets.token_hex(16) for span in spans}
        self._run_of = {
            (span.key.trace_id, span.key.span_id): names[name] for name, (own, _) in groups.items() for span in own
        }

    def span(self, span: Span) -> Span:
        """Return a span under its new trace; where it belongs to a run, it says which, and what that replays."""
        run_id = self._run_of.get((span.key.trace_id, span.key.span_id))
        attributes = self._renamed(span.attributes)
        if run_id is not None:
            attributes |= {keys.RUN_ID: run_id, keys.OF_RUN: self._of_run}
        key = replace(span.key, trace_id=self._traces[span.key.trace_id])
        links = tuple(map(self._link, span.links))
        return replace(span, key=key, attributes=attributes, links=links, resource=self._resource(span.resource))

    def log(self, log: LogEvent) -> LogEvent:
        """Return a log event under its span's new trace."""
        trace_id = self._traces.setdefault(log.trace_id, secrets.token_hex(16)) if log.trace_id else ""
        attributes, resource = self._renamed(log.attributes), self._resource(log.resource)
        return replace(log, trace_id=trace_id, attributes=attributes, resource=resource)

    def _link(self, link: Link) -> Link:
        trace_id = self._traces.get(link.trace_id, link.trace_id)
        return replace(link, trace_id=trace_id, attributes=self._renamed(link.attributes, strict=False))

    def _resource(self, resource: Resource) -> Resource:
        if keys.RUN_ID not in resource.attributes:
            return resource
        return replace(resource, attributes=self._renamed(resource.attributes))

    def _renamed(self, attributes: Mapping[str, Value], *, strict: bool = True) -> dict[str, Value]:
        """Rename the runs that attributes name. A run that is none of this replay's may only be linked to (not
        `strict`): what says that it belongs to another run would be put into that one."""
        out = dict(attributes)
        name, parent = out.get(keys.RUN_ID), out.get(keys.RUN_PARENT_ID)
        if isinstance(name, str) and (strict or name in self._names):
            out[keys.RUN_ID] = self._names.get(name, self._run_id)
        if isinstance(parent, str):
            out[keys.RUN_PARENT_ID] = self._names.get(parent, parent)
        return out


# --- what it came to --------------------------------------------------------------------------------------------------


def result(replayed: Replayed) -> ReplayResult:
    """Return what lists show of a replay. The redactor sees it like everything else before it is stored."""
    divergences = replayed.divergences
    first = _first(divergences[0]) if divergences else {}
    return ReplayResult(replayed.mode, replayed.verdict, len(divergences), first)


def _first(divergence: Divergence) -> dict[str, Value]:
    said: dict[str, Value] = {
        "type": divergence.type,
        "step": divergence.recorded,
        "kind": "" if divergence.kind == "other" else divergence.kind,
        "name": divergence.name,
        "path": divergence.path,
    }
    return {name: value for name, value in said.items() if value not in (None, "")}
