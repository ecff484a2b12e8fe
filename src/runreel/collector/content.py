"""Takes runs out of the store that lack content which the policy wants them to have: whole, into the quarantine.

A run is judged once it is over, as it is assembled: content may come after its span, on log events, or with a span that
is sent again. A run that lost single spans would look complete and replay wrongly, so all of it goes together.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace

from runreel.collector import telemetry
from runreel.collector.commit import Exporters
from runreel.collector.pipeline import Pipeline
from runreel.collector.regularly import Regularly
from runreel.collector.run_list import Quiet
from runreel.collector.settled import PATIENCE_S
from runreel.collector.telemetry import Telemetry
from runreel.collector.unusual import Services
from runreel.component import KeepsQuarantine
from runreel.errors import CorruptError, NotFoundError, PermanentError, RetryableError
from runreel.processors.required import Policies, Policy, content_policy_of
from runreel.runs.lacking import lacking
from runreel.runs.load import StoreRuns
from runreel.spool import Spool
from runreel.spool.quarantine import ids, items
from runreel.storage import RunStore
from runreel.values import DEFAULT_TENANT, Quarantined, Resource, Run, RunSummary, SpanKey, SplitBatch

_MOST_KNOWN = 10_000
_CHUNK_BYTES = 16 << 20
INTERVAL_S = 10.0
_log = logging.getLogger(__name__)


class Content:
    """Looks at runs that are over: `look`, again and again.

    Args:
        runs: The runs of the store.
        store: Where they are stored, with its quarantine.
        policy: What becomes of a run that lacks a field (`processors.required.content_policy_of`).
        keep_aside: Puts batches into the quarantine, durable on return; says of each what went wrong.
        settled: Waits until what is acknowledged is stored; says whether it is.
        room: Whether the quarantine takes more.
        counts: Where it is counted.
        quiet: Which news are to be looked at.
        moving: Held while a run is moved: what is released meanwhile must not be deleted (`Custody.moving`).
        tenant: Whose runs.
    """

    def __init__(
        self,
        runs: StoreRuns,
        store: KeepsQuarantine,
        policy: Policy,
        *,
        keep_aside: Callable[[Sequence[SplitBatch]], Sequence[Exception | None]],
        settled: Callable[[], bool],
        room: Callable[[], bool],
        counts: Telemetry,
        quiet: Quiet,
        moving: threading.Lock,
        tenant: str = DEFAULT_TENANT,
    ) -> None:
        self._runs = runs
        self._store = store
        self._policy = policy
        self._keep_aside = keep_aside
        self._settled = settled
        self._room = room
        self._counts = counts
        self._quiet = quiet
        self._moving = moving
        self._tenant = tenant
        self._services = Services()
        self._judged: OrderedDict[str, str] = OrderedDict()

    def look(self) -> None:
        """Judge what has become quiet since the last look. Raises StoreError, ConsumeError: then it is judged again.

        While the quarantine is full nothing is judged, and nothing forgotten: what waits is judged once there is room.
        """
        if not self._room() or not self._settled():
            return
        for after_ns, until_ns in self._quiet.spans_of_time():
            for summary in self._runs.keep_up(self._tenant, after_ns=after_ns, until_ns=until_ns):
                self._judge(summary)

    def _judge(self, summary: RunSummary) -> None:
        if summary.open or summary.replay_of is not None or self._judged.get(summary.run_id) == summary.revision:
            return
        if summary.replayable != "full":  # what is looked for is part of what a frozen replay needs
            try:
                if self._act(self._runs.run(self._tenant, summary.run_id)):
                    return  # it is judged again when it comes again
            except (NotFoundError, CorruptError):
                return  # taken away meanwhile; or damaged, which is said by whoever reads it, and no lack of content
            except PermanentError as error:  # it would be refused again, and all that came later waits behind it
                told = {"trace": ", ".join(summary.trace_ids[:2]), "error": str(error)}
                _log.error("a run that lacks content is refused by the quarantine, and stays stored", extra=told)
        self._judged[summary.run_id] = summary.revision
        while len(self._judged) > _MOST_KNOWN:
            self._judged.popitem(last=False)

    def _act(self, run: Run) -> bool:
        """Do what the policy says of what the run lacks; say whether it is gone from the store."""
        found = list(lacking(run, self._policy))
        bad = [(step, field) for step, field in found if self._policy[field] == "quarantine"]
        if bad:
            with self._moving:
                if self._withdraw(run, f"missing_field:{bad[0][1]}", {key for step, _ in bad for key in step.keys}):
                    return True
        service = self._services.name(Resource(run.service))
        for _, field in found:
            self._counts.add(telemetry.UNUSUAL, service=service, what=f"missing_field:{field}")
        return False

    def _withdraw(self, run: Run, reason: str, bad: Container[SpanKey]) -> bool:
        """Move a run into the quarantine, unless something of it was released: then that is said for all of it.

        First all of it is kept aside, then it is deleted, last the spans that lack something: one that was cut off in
        between is judged again by them, and what is kept already is not put there, nor counted, once more.
        """
        whole = self._runs.whole(self._tenant, run.run_id)
        whole = replace(whole, rows=tuple(sorted(whole.rows, key=lambda row: row.span.key in bad)))
        kept = list(ids(whole))
        fates = self._store.quarantine.fates(self._tenant, kept)
        if "released" in fates.values():
            return False
        for some in _chunks(one for one in items(whole, reason) if fates.get(one.id) != "held"):
            (error,) = self._keep_aside([SplitBatch(self._tenant, quarantined=tuple(some))])
            if error is not None:
                raise error
            self._counts.quarantined(some)
        if not self._settled():
            raise RetryableError("what is kept aside is not stored yet")
        if "released" in self._store.quarantine.fates(self._tenant, kept).values():
            return False  # by another process, this moment: to delete it now would lose it
        self._store.withdraw(whole)
        told = {"trace": ", ".join(run.trace_ids[:2]), "reason": reason, "records": len(kept)}
        _log.warning("a run that lacks content was put into the quarantine", extra=told)
        return True


def _chunks(kept: Iterable[Quarantined]) -> Iterator[Sequence[Quarantined]]:
    """Yield them in pieces of a size that a store takes at once, as they are made: each step of a long run has the
    history before it."""
    some: list[Quarantined] = []
    size = 0
    for one in kept:
        if some and size + one.size > _CHUNK_BYTES:
            yield some
            some, size = [], 0
        some.append(one)
        size += one.size
    if some:
        yield some


def start(
    runs: RunStore,
    exporters: Exporters,
    pipeline: Pipeline,
    counts: Telemetry,
    policies: Policies,
    *,
    room: Callable[[], bool],
    moving: threading.Lock,
    spool: Spool | None,
) -> Regularly | None:
    """Return what has runs looked at, started; None where the policy says nothing of content, or no store keeps runs
    and a quarantine."""
    policy = content_policy_of(policies, DEFAULT_TENANT)
    store = next((one for one in exporters.values() if isinstance(one, KeepsQuarantine)), None)
    if not policy or store is None or not isinstance(runs, StoreRuns):
        return None
    content = Content(
        runs,
        store,
        policy,
        keep_aside=pipeline.store_again,
        settled=lambda: spool is None or spool.settle(PATIENCE_S),
        room=room,
        counts=counts,
        quiet=Quiet(runs.settings),
        moving=moving,
    )
    looking = Regularly(
        content.look, INTERVAL_S, name="runreel-content", failing="whether runs lack content cannot be told"
    )
    looking.start()
    return looking
