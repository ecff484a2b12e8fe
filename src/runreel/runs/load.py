"""Runs from a store: listed through a cache, loaded and assembled with every hash checked."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from runreel import __version__
from runreel.errors import CorruptError, NotFoundError, UsageError
from runreel.runs import identity
from runreel.runs.assemble import assemble
from runreel.runs.document import summarise
from runreel.runs.identity import Group
from runreel.runs.join import Shelf, one
from runreel.runs.looking import holds, matches, newest_first
from runreel.runs.replayed import replays_of
from runreel.storage import BlobStore, CachedRun, Database, KeptGolden, RunQuery, Trace
from runreel.values import LogEvent, Run, RunSummary, Span, SpanKey, SpanRow, SplitBatch

# Goes up whenever the same spans would be summed up otherwise: lines of the cache made before are made again.
_DERIVATION = f"{__version__}/4"
_PAGE = 200
_CHUNK = 16  # runs whose rows are in memory at once while a list is made
_SHOWN = 5
_MOST_REPLAYS = 1000
_MANY = 50  # traces behind a prefix: who writes so little of an id must write more anyway
_SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """When a run counts as over.

    Attributes:
        quiet_s: After this long without news a run whose root has come is settled: its line in the cache is trusted.
        idle_s: After this long without news a run whose root never came is over, and nothing more is expected.
    """

    quiet_s: float = 30.0
    idle_s: float = 600.0


@dataclass(frozen=True, slots=True)
class _Fetched:
    """The rows of some traces by trace id, and what they name."""

    rows: Mapping[str, Sequence[SpanRow]]
    logs: Mapping[str, Sequence[LogEvent]]
    shelf: Shelf

    def of(self, traces: Sequence[Trace]) -> tuple[list[SpanRow], list[LogEvent]]:
        ids = [trace.trace_id for trace in traces]
        return (
            [row for trace_id in ids for row in self.rows.get(trace_id, ())],
            [log for trace_id in ids for log in self.logs.get(trace_id, ())],
        )


class StoreRuns:
    """A RunStore over a database and a blob store. Thread-safe where those are. `close` closes both.

    Args:
        database: Where the rows are.
        blobs: Where heavy parts are.
        settings: See Settings.
        clock: Our time in nanoseconds since 1970.
    """

    def __init__(
        self,
        database: Database,
        blobs: BlobStore,
        settings: Settings | None = None,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._database = database
        self._blobs = blobs
        self.settings = settings or Settings()
        self._clock = clock

    def runs(self, query: RunQuery) -> Sequence[RunSummary]:
        """List runs, newest first. A damaged run is listed, as one that cannot be replayed."""
        if query.replay_of is not None:
            return self._replays(query, query.replay_of)
        found: dict[str, RunSummary] = {}
        page = min(_PAGE, query.limit + 8) if query.limit else _PAGE
        for trace, summaries in self._newest(query.tenant, query.since_ns, page):
            # What comes later started before this trace did: enough is enough once that many started since.
            started_since = sum(1 for summary in found.values() if summary.started_ns >= trace.started_ns)
            if query.limit and started_since >= query.limit:
                break
            matching = [one for one in summaries if matches(one, query) and self._says(one, query.text)]
            found |= {summary.run_id: summary for summary in matching}
        return newest_first(found.values(), query.limit)

    def keep_up(self, tenant: str, *, after_ns: int, until_ns: int) -> Iterator[RunSummary]:
        """Yield the runs whose last news came in (after, until]; their lines are in the cache then, as a list does."""
        while page := self._database.changed(tenant, after_ns=after_ns, until_ns=until_ns, limit=_PAGE):
            yield from self._summaries(tenant, [name for trace in page for name in _candidates(trace)]).values()
            after_ns = page[-1].changed_ns

    def resolve(self, tenant: str, text: str) -> str:
        """Return the run id for a run id, a trace id, a unique prefix of either, or `last`.

        Raises:
            NotFoundError: there is no such run.
            UsageError: the prefix, or the trace id, stands for several runs; some of them are named.
        """
        if text == "last":
            newest = self.runs(RunQuery(tenant, limit=1))
            if not newest:
                raise NotFoundError(self._nothing(tenant, "no run is recorded"))
            return newest[0].run_id
        wanted = text.strip()
        if not wanted or not wanted.isprintable():
            raise NotFoundError(self._nothing(tenant, f"{text!r} is no run id, trace id or prefix"))
        if self._summaries(tenant, [wanted]):
            return wanted
        return self._by_prefix(tenant, wanted)

    def run(self, tenant: str, run_id: str) -> Run:
        """Load and assemble a run, every part and payload checked against its hash.

        Raises:
            NotFoundError: there is no such run.
            CorruptError: names the hash, and the step that needs it.
        """
        _, _, traces, (spans, logs) = self._load(tenant, run_id)
        return assemble(spans, logs, run_id=run_id, quiet=self._over(traces))

    def whole(self, tenant: str, run_id: str) -> SplitBatch:
        """Return the run's rows as a batch with all that they name, every one checked. Raises as `run` does."""
        fetched, (rows, logs), _, group = self._load(tenant, run_id)
        spans, events = {span.key for span in group[0]}, {(log.trace_id, log.span_id, log.copy) for log in group[1]}
        rows = [row for row in rows if row.span.key in spans]
        logs = [log for log in logs if (log.trace_id, log.span_id, log.copy) in events]
        payloads, parts = fetched.shelf.contents(rows, logs)
        return SplitBatch(tenant, tuple(rows), tuple(logs), tuple(payloads), tuple(parts))

    def reel(self, tenant: str, run_id: str) -> bytes:
        """Return the run as a reel. Raises as `run` does."""
        from runreel.runs import reel  # it stands on this module

        return reel.write(run_id, self.whole(tenant, run_id))

    def part(self, tenant: str, sha256: str) -> bytes:
        """Return one part, or one payload as typed text, by hash, verified. Raises NotFoundError, CorruptError."""
        return one(self._database, self._blobs, tenant, sha256)

    def keep_golden(self, tenant: str, golden: KeptGolden) -> None:
        """Register a golden, durable on return. Raises ConsumeError, StoreError."""
        self._database.keep_golden(tenant, golden)

    def goldens(self, tenant: str) -> Sequence[KeptGolden]:
        """Return every golden that is registered, by run and name."""
        return self._database.goldens(tenant)

    def close(self) -> None:
        """Close the database and the blob store."""
        self._database.shutdown()
        self._blobs.close()

    # --- lists ---

    def _replays(self, query: RunQuery, run_id: str) -> Sequence[RunSummary]:
        """List the replays of one run, found by their ids: nobody has to look through all runs for them."""
        ids = self._database.starting_with(query.tenant, replays_of(run_id), _MOST_REPLAYS)
        names = [name for trace in self._known(query.tenant, ids).values() for name in _candidates(trace)]
        summaries = self._summaries(query.tenant, names).values()
        found = [one for one in summaries if matches(one, query) and self._says(one, query.text)]
        return newest_first(found, query.limit)

    def _says(self, summary: RunSummary, text: str | None) -> bool:
        """Say whether a run holds a text. One that cannot be read says nothing."""
        if text is None:
            return True
        try:
            run = self.run(summary.tenant, summary.run_id)
        except (CorruptError, NotFoundError):
            return False
        return holds(run, text)

    def _newest(self, tenant: str, since_ns: int | None, size: int) -> Iterator[tuple[Trace, Sequence[RunSummary]]]:
        """Yield traces, latest start first, with the runs that they bring and no trace before them brought."""
        seen: set[str] = set()
        offset = 0
        while page := self._database.recent(tenant, since_ns=since_ns, limit=size, offset=offset):
            offset += len(page)
            new = [name for trace in page for name in _candidates(trace) if name not in seen]
            summaries = self._summaries(tenant, new)
            for trace in page:
                names = [name for name in _candidates(trace) if name not in seen]
                seen.update(names)
                yield trace, [summaries[name] for name in names if name in summaries]

    def _summaries(self, tenant: str, run_ids: Sequence[str]) -> Mapping[str, RunSummary]:
        """Return summaries of those of the runs that there are: from the cache where it can be trusted."""
        names = list(dict.fromkeys(run_ids))
        lines = dict(self._database.cached(tenant, names))
        traces = {name: some for name, some in self._traces_of(tenant, names).items() if some}
        old = [name for name in traces if name not in lines or not self._trusted(lines[name], traces[name])]
        for start in range(0, len(old), _CHUNK):
            chunk = {name: traces[name] for name in old[start : start + _CHUNK]}
            made = self._make_lines(tenant, chunk)
            self._database.remember(tenant, [line for line in made if self._worth(line, lines, traces)])
            lines |= {line.run_id: line for line in made}
        return {name: line.summary for name, line in lines.items() if name in traces and line.summary is not None}

    def _make_lines(self, tenant: str, runs: Mapping[str, Sequence[Trace]]) -> list[CachedRun]:
        try:
            fetched = self._fetch(tenant, [trace for traces in runs.values() for trace in traces])
        except CorruptError:
            if len(runs) > 1:  # one bad row must not hide the runs beside it
                return [line for name, traces in runs.items() for line in self._make_lines(tenant, {name: traces})]
            ((name, traces),) = runs.items()
            return [self._line(name, traces, _unreadable(tenant, name, traces), intact=False)]
        return [self._make_line(tenant, name, traces, fetched) for name, traces in runs.items()]

    def _make_line(self, tenant: str, run_id: str, traces: Sequence[Trace], fetched: _Fetched) -> CachedRun:
        rows, logs = fetched.of(traces)
        try:
            group = self._take(tenant, run_id, rows, logs, fetched.shelf)
        except CorruptError:
            # Summed up from the rows as they are: their structure is whole where a payload is not.
            group = identity.group([row.span for row in rows], logs).get(run_id)
            summary = summarise(assemble(*group, run_id=run_id)) if group else None
            return self._line(run_id, traces, summary and replace(summary, replayable="none"), intact=False)
        if group is None:
            return self._line(run_id, traces, None)  # remembered: no step of the traces is in this run
        return self._line(run_id, traces, summarise(assemble(*group, run_id=run_id, quiet=self._over(traces))))

    def _line(
        self, run_id: str, traces: Sequence[Trace], summary: RunSummary | None, *, intact: bool = True
    ) -> CachedRun:
        ids = tuple(trace.trace_id for trace in traces)
        changed = max(trace.changed_ns for trace in traces)
        return CachedRun(run_id, ids, changed, self._clock(), _DERIVATION if intact else "", summary)

    def _worth(self, line: CachedRun, before: Mapping[str, CachedRun], traces: Mapping[str, Sequence[Trace]]) -> bool:
        """Say whether a line is worth writing: it says something new, or from now on it can be trusted."""
        known = before.get(line.run_id)
        same = known is not None and replace(known, assembled_ns=line.assembled_ns) == line
        return line.derivation == _DERIVATION and (not same or self._trusted(line, traces[line.run_id]))

    def _trusted(self, line: CachedRun, traces: Sequence[Trace]) -> bool:
        """Say whether a line still tells what an assembly now would.

        A run that is open changes by time alone. And just after news, other writers may still be at work on rows that
        count as seen: only a line made a while later has seen them all.
        """
        changed = max(trace.changed_ns for trace in traces)
        return (
            line.derivation == _DERIVATION
            and line.changed_ns == changed
            and line.traces == tuple(trace.trace_id for trace in traces)
            and not (line.summary is not None and line.summary.open)
            and line.assembled_ns - changed >= self.settings.quiet_s * _SECOND_NS
        )

    # --- one run ---

    def _traces_of(self, tenant: str, run_ids: Sequence[str]) -> Mapping[str, Sequence[Trace]]:
        """Return, for each run id, the traces that may hold spans of it: those that name it, and that of its id."""
        names = self._database.named(tenant, run_ids)
        ids = {run_id: sorted({run_id, *names.get(run_id, ())}) for run_id in run_ids}
        known = self._known(tenant, {name for some in ids.values() for name in some})
        doubles = self._doubles(tenant, known)
        return {
            run_id: sorted(
                {known[name] for name in some if name in known}
                | {trace for name in some for trace in doubles.get(name, ())},
                key=lambda trace: trace.trace_id,
            )
            for run_id, some in ids.items()
        }

    def _known(self, tenant: str, trace_ids: Iterable[str]) -> dict[str, Trace]:
        return {trace.trace_id: trace for trace in self._database.traces(tenant, sorted(trace_ids))}

    def _doubles(self, tenant: str, known: Mapping[str, Trace]) -> Mapping[str, Sequence[Trace]]:
        """Return, by trace, those of other instrumentations that may hold its model calls a second time: of two, one
        has nothing but model calls. What they say is looked at by `identity.group`."""
        names = self._database.beside(tenant, list(known.values()))
        others = self._known(tenant, {name for some in names.values() for name in some})
        return {
            name: [
                others[one]
                for one in some
                if one in others and not (known[name].other_steps and others[one].other_steps)
            ]
            for name, some in names.items()
        }

    def _over(self, traces: Sequence[Trace]) -> bool:
        """Say whether nothing more is expected, by our clock and by the sender's: an import of old runs is over."""
        ended = max(trace.ended_ns for trace in traces)
        news = max(trace.changed_ns for trace in traces)
        return self._clock() - (min(ended, news) or news) >= self.settings.idle_s * _SECOND_NS

    def _load(
        self, tenant: str, run_id: str
    ) -> tuple[_Fetched, tuple[list[SpanRow], list[LogEvent]], Sequence[Trace], Group]:
        """Load the traces of a run and take its spans and log events out of them."""
        traces = self._traces_of(tenant, [run_id])[run_id]
        fetched = self._fetch(tenant, traces)
        rows, logs = fetched.of(traces)
        group = self._take(tenant, run_id, rows, logs, fetched.shelf)
        if group is None:
            raise NotFoundError(self._nothing(tenant, f"no run {run_id!r}"))
        return fetched, (rows, logs), traces, group

    def _fetch(self, tenant: str, traces: Sequence[Trace]) -> _Fetched:
        rows, logs = self._database.rows(tenant, [trace.trace_id for trace in traces])
        shelf = Shelf(self._database, self._blobs, tenant)
        shelf.fetch(rows, logs)
        by_trace: dict[str, list[SpanRow]] = {}
        for row in rows:
            by_trace.setdefault(row.span.key.trace_id, []).append(row)
        logs_by_trace: dict[str, list[LogEvent]] = {}
        for log in logs:
            logs_by_trace.setdefault(log.trace_id, []).append(log)
        return _Fetched(by_trace, logs_by_trace, shelf)

    def _take(
        self, tenant: str, run_id: str, rows: Sequence[SpanRow], logs: Sequence[LogEvent], shelf: Shelf
    ) -> Group | None:
        """Join rows, and return those of the run; None where none of them is. Raises CorruptError naming the step."""
        whole: list[Span] = []
        whole_logs: list[LogEvent] = []
        for row in rows:
            try:
                whole.append(shelf.span(row))
            except CorruptError as error:
                raise CorruptError(f"{_place(rows, logs, run_id, row.span.key)}: {error}") from None
        for log in logs:
            try:
                whole_logs.append(shelf.log(log))
            except CorruptError as error:
                key = SpanKey(tenant, log.trace_id, log.span_id)
                raise CorruptError(f"{_place(rows, logs, run_id, key)}, log event: {error}") from None
        return identity.group(whole, whole_logs).get(run_id)

    # --- names ---

    def _by_prefix(self, tenant: str, text: str) -> str:
        ids = self._database.starting_with(tenant, text, _MANY)
        traces = self._known(tenant, ids)
        around = [trace for some in self._doubles(tenant, traces).values() for trace in some]
        names = [name for trace in (*traces.values(), *around) for name in _candidates(trace)]
        found = self._summaries(tenant, names)
        named = sorted(run_id for run_id in found if run_id.startswith(text))
        # A trace id leads to its runs whatever they are called.
        through = sorted(
            run_id
            for run_id, summary in found.items()
            if any(trace_id.startswith(text) for trace_id in summary.trace_ids)
        )
        # The id of a replay begins with that of its run: who writes a beginning of both means the run.
        matches = [name for name in named or through if found[name].replay_of not in (named or through)]
        if not matches:
            raise NotFoundError(self._nothing(tenant, f"no run {text!r}"))
        if len(matches) > 1:
            tops = [run_id for run_id in matches if found[run_id].parent_run_id not in matches]
            if not named and len(tops) == 1:
                return tops[0]
            shown = ", ".join(matches[:_SHOWN]) + (", ..." if len(matches) > _SHOWN else "")
            many = f"{len(matches)} runs" if len(ids) < _MANY else "many runs"
            raise UsageError(f"{text!r} stands for {many}: {shown}. Write more of it, or a run id")
        return matches[0]

    def _nothing(self, tenant: str, what: str) -> str:
        """Say what there is instead."""
        newest = self._database.recent(tenant, since_ns=None, limit=1, offset=0)
        if not newest:
            return f"{what}: nothing is recorded here yet. Check RUNREEL_HOME, or record something first"
        return f"{what}: `runreel runs ls` lists what is recorded"


def _candidates(trace: Trace) -> Sequence[str]:
    """Return the runs that a trace may hold: those it names; and, where it names none or several, that of its id."""
    return trace.run_hints if len(trace.run_hints) == 1 else (*trace.run_hints, trace.trace_id)


def _unreadable(tenant: str, run_id: str, traces: Sequence[Trace]) -> RunSummary:
    """Return the line of a run of which no row can be read: it is there, and that is all that is known."""
    ids = tuple(trace.trace_id for trace in traces)
    started, ended = min(trace.started_ns for trace in traces), max(trace.ended_ns for trace in traces)
    return RunSummary(tenant, run_id, ids, "", started, ended, "error", False, 0, 0, 0, "none")


def _place(rows: Sequence[SpanRow], logs: Sequence[LogEvent], run_id: str, key: SpanKey) -> str:
    """Say which step a span is, from the rows as they are: their structure is whole where a payload is not."""
    group = identity.group([row.span for row in rows], logs).get(run_id)
    where = f"span {key.span_id or '-'} of trace {key.trace_id}"
    if group is None:
        return where
    for step in assemble(*group, run_id=run_id).steps:
        if any((one.trace_id, one.span_id) == (key.trace_id, key.span_id) for one in step.keys):
            return f"run {run_id}, step {step.seq} ({step.kind} {step.name})"
    return f"run {run_id}, {where}"
