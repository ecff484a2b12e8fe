"""Make a golden of a recorded run, and renew one: both are acts of a person, and say what they would keep."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from runreel.errors import RefusedError, UsageError
from runreel.goldens import expect, folder, judges, verdict
from runreel.goldens.running import project_of
from runreel.goldens.values import Golden, Result, Settings
from runreel.processors.split import Split, join_log, join_row
from runreel.replay import tape
from runreel.replay.engine import entry_of
from runreel.replay.masks import parse as parse_mask
from runreel.replay.outcome import Redact
from runreel.runs import reel
from runreel.semconv.secrets import find_secrets
from runreel.values import Run, SplitBatch, Value

AS_RECORDED = Settings()
_WANTED = (
    "A bad run replays identically: name what should have happened instead, with --expect, so that the golden fails "
    'until it does. For example --expect "outcome is ok", --expect "output contains TEXT", '
    '--expect "tool:NAME input/FIELD == VALUE", --expect "tool:NAME never called"'
)
# What an agent made of having no answer must not become what is recorded.
_UNANSWERED = frozenset({"unrecorded_call", "unstubbed_tool", "network_attempt", "nondeterminism"})


def promote(
    data: bytes,
    place: Path,
    *,
    expectations: Sequence[str] = (),
    settings: Settings = AS_RECORDED,
    ticket: str = "",
) -> Golden:
    """Make a golden of a reel, in a folder that is new.

    Raises:
        UsageError: there is a golden already, an expectation is none, or a failure comes without one that it fails.
        RefusedError: the run cannot be replayed frozen, or holds a secret that was not redacted.
    """
    folder.require_name(place.name)
    if (place / folder.HEAD).exists():
        raise UsageError(f"there is a golden {place.name} already: runreel golden update {place.name} renews it")
    golden = _golden(data, place, expectations, settings, ticket)
    folder.write(golden)
    return golden


def suggest(run: Run) -> str:
    """Return a name for the golden of a run: its agent's, and the beginning of its id."""
    words = "".join(one if one.isascii() and one.isalnum() else "-" for one in run.agent_id).strip("-").lower()
    return f"{words or 'run'}-{run.run_id[:8]}"[:100]


def _golden(data: bytes, place: Path, expectations: Sequence[str], settings: Settings, ticket: str) -> Golden:
    run_id, batch = folder.batch_of(data, place.name)
    run = folder.run_of(batch, run_id)
    tape.build(run)  # says what the record lacks
    entry_of(run, settings.agent or None, settings.args)
    for mask in settings.masks:
        parse_mask(mask)
    _require_no_secrets(batch)
    failure = verdict.why_failure(run)
    wanted = [expect.parse(line) for line in expectations]
    checks = verdict.of_recorded(run, wanted, judges.judge_in(project_of(place)))
    if failure and all(one.passed for one in checks):
        what = "each of them holds of" if checks else "nothing is expected of"
        raise UsageError(f"run {run_id} is a failure ({failure}), and {what} the recorded run. {_WANTED}")
    if not failure and any(not one.passed for one in checks):
        failure = "it does not do what is expected"
    return Golden(place, run, batch, tuple(one.text for one in wanted), settings, ticket, failure)


def _require_no_secrets(batch: SplitBatch) -> None:
    """Raise RefusedError where a secret is in a run: what is kept in version control is kept for good."""
    for row in _whole(batch):
        for text in _texts(row):
            rules = [rule for _, _, rule in find_secrets(text)]
            if rules:
                raise RefusedError(
                    f"the run holds a secret that was not redacted ({rules[0]}): it is not written to a golden. Import "
                    "it again through this version's redaction"
                )


def _whole(batch: SplitBatch) -> Iterator[Value]:
    payload, part = reel.part_of(batch)
    yield from (reel.span_value(join_row(row, payload, part)) for row in batch.rows)
    yield from (reel.log_value(join_log(log, payload, part)) for log in batch.logs)


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)


# --- renewing ---------------------------------------------------------------------------------------------------------


def renewed(golden: Golden, data: bytes) -> Golden:
    """Return the golden with another run in the place of the old one; nothing is written.

    Raises UsageError where the new run does not do what is expected, RefusedError where it cannot be replayed.
    """
    new = _golden(data, golden.folder, (), golden.settings, golden.ticket)
    ask = judges.judge_in(project_of(golden.folder))
    checks = verdict.of_recorded(new.run, [expect.parse(line) for line in golden.expect], ask)
    failed = [f"  - {one.expectation}: {one.why}" for one in checks if not one.passed]
    if failed:
        listed = "\n".join(failed)
        raise UsageError(f"run {new.run.run_id} does not do what golden {golden.name} expects:\n{listed}")
    return replace(new, expect=golden.expect, failure="")


def replayed_reel(result: Result, redact: Redact) -> bytes:
    """Return what a replay recorded of itself, redacted, as a reel.

    Raises UsageError where it cannot stand in the place of the record: the golden is stale, or did not end.
    """
    if result.verdict in ("stale", "not_comparable"):
        raise UsageError(f"golden {result.golden.name} cannot be renewed from its replay: {result.reason}")
    replayed = result.replayed
    unanswered = next((one for one in replayed.divergences if one.type in _UNANSWERED), None) if replayed else None
    if unanswered is not None:
        raise UsageError(
            f"golden {result.golden.name} cannot be renewed from its replay: {unanswered.type} "
            f"({unanswered.kind} {unanswered.name}) has no recorded answer. Record a run with live ones, and renew it "
            f"from that: runreel golden update {result.golden.name} --from RUN"
        )
    if replayed is None or replayed.run is None or replayed.record is None:
        raise UsageError(
            f"golden {result.golden.name} cannot be renewed from its replay: the agent exports no spans of its own"
        )
    return reel.write(replayed.run.run_id, Split().process(redact(replayed.record)))
