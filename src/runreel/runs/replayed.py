"""What a replay came to, as a log event beside its spans: so it arrives, is redacted and is kept as everything else."""

from collections.abc import Mapping, Sequence
from typing import Final

from runreel.semconv import keys
from runreel.semconv.reading import coerce
from runreel.semconv.registry import FieldType
from runreel.semconv.view import Memo, event_name
from runreel.values import LogEvent, ReplayResult, Value

_INFO: Final = 9  # OTLP's severity number
_SEPARATOR: Final = ".replay-"
_FIRST: Final[Mapping[str, tuple[str, FieldType]]] = {
    "type": (keys.FIRST_TYPE, "text"),
    "step": (keys.FIRST_STEP, "integer"),
    "kind": (keys.FIRST_KIND, "text"),
    "name": (keys.FIRST_NAME, "text"),
    "path": (keys.FIRST_PATH, "text"),
}


def replay_id(of_run: str, unique: str) -> str:
    """Return the id of a replay: it begins with that of its run, so that the replays of a run are found by it."""
    return f"{replays_of(of_run)}{unique}"


def replays_of(run_id: str) -> str:
    """Return what the ids of all replays of a run begin with."""
    return f"{run_id}{_SEPARATOR}"


def result_event(
    tenant: str, trace_id: str, run_id: str, of_run: str, result: ReplayResult, now_ns: int, outcome: str = ""
) -> LogEvent:
    """Return the log event that says what a replay came to. It passes the processors like any other.

    `outcome` is how the replayed run ended, where its own spans cannot say.
    """
    said: dict[str, Value] = {
        keys.RUN_ID: run_id,
        keys.OF_RUN: of_run,
        keys.REPLAY_MODE: result.mode,
        keys.REPLAY_VERDICT: result.verdict,
        keys.REPLAY_DIVERGENCES: result.divergences,
        **({keys.RUN_OUTCOME: outcome} if outcome else {}),
        **{key: result.first[name] for name, (key, _) in _FIRST.items() if name in result.first},
    }
    return LogEvent(
        tenant,
        trace_id,
        "",
        keys.RESULT_EVENT,
        time_ns=now_ns,
        observed_ns=now_ns,
        severity=_INFO,
        attributes=said,
    )


def replay_result(logs: Sequence[LogEvent]) -> ReplayResult | None:
    """Return what a replay came to, by the latest event that says so; None where none does."""
    found = [log for log in logs if event_name(log) == keys.RESULT_EVENT]
    if not found:
        return None
    said = max(found, key=lambda log: log.time_ns or log.observed_ns).attributes
    memo = Memo()
    first = {name: coerce(kind, said.get(key), memo) for name, (key, kind) in _FIRST.items()}
    count = coerce("integer", said.get(keys.REPLAY_DIVERGENCES), memo)
    return ReplayResult(
        mode=str(coerce("text", said.get(keys.REPLAY_MODE), memo) or ""),
        verdict=str(coerce("text", said.get(keys.REPLAY_VERDICT), memo) or ""),
        divergences=count if isinstance(count, int) else 0,
        first={name: value for name, value in first.items() if value is not None},
    )
