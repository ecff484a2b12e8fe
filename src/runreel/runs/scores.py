"""What was said of a run afterwards: scores of evaluations, and the flags of people who were not content with it.

Both are log events, so they arrive, are redacted and are kept as everything else, and a run gets them whenever they
come. Flags are only ever added.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from runreel.semconv import keys
from runreel.semconv.reading import coerce
from runreel.semconv.view import Memo, event_name
from runreel.values import LogEvent, Outcome, Run, Span, Value

EVALUATION: Final = "gen_ai.evaluation.result"
_WARNING: Final = 13  # OTLP's severity number
_BAD: Final = frozenset({"bad", "negative", "thumbs_down", "thumbs-down", "down", "dislike", "fail", "poor"})

Said = Mapping[str, Value]


def flag_event(tenant: str, trace_id: str, run_id: str, reason: str, now_ns: int) -> LogEvent:
    """Return the log event by which a person flags a run. It passes the processors like any other."""
    return LogEvent(
        tenant,
        trace_id,
        "",
        keys.FLAG_EVENT,
        time_ns=now_ns,
        observed_ns=now_ns,
        severity=_WARNING,
        attributes={keys.RUN_ID: run_id, **({keys.FLAG_REASON: reason} if reason else {})},
    )


def scores(spans: Sequence[Span], logs: Sequence[LogEvent], steps: Mapping[tuple[str, str], int]) -> tuple[Said, ...]:
    """Return the evaluation results: `name`, `value`, `label`, `step` (its seq), `response_id`, each where it came."""
    memo = Memo()
    found: list[tuple[int, Mapping[str, Value], tuple[str, str]]] = []
    for span in spans:
        ids = (span.key.trace_id, span.key.span_id)
        found += [(event.time_ns, event.attributes, ids) for event in span.events if event.name == EVALUATION]
    for log in logs:
        if event_name(log) == EVALUATION:
            found.append((log.time_ns or log.observed_ns, log.attributes, (log.trace_id, log.span_id)))
    out: list[Said] = []
    for _, attributes, ids in sorted(found, key=lambda one: one[0]):
        score: dict[str, Value] = {
            "name": coerce("text", attributes.get("gen_ai.evaluation.name"), memo),
            "value": coerce("number", attributes.get("gen_ai.evaluation.score.value"), memo),
            "label": coerce("text", attributes.get("gen_ai.evaluation.score.label"), memo),
            "response_id": coerce("text", attributes.get("gen_ai.response.id"), memo),
            "step": steps.get(ids),
        }
        out.append({key: value for key, value in score.items() if value is not None})
    return tuple(out)


def flagged(logs: Sequence[LogEvent]) -> tuple[Said, ...]:
    """Return the flags, the oldest first: `at_ns`, and `reason` where one was given."""
    out: list[Said] = []
    for log in logs:
        if event_name(log) == keys.FLAG_EVENT:
            reason = log.attributes.get(keys.FLAG_REASON)
            out.append({"at_ns": log.time_ns or log.observed_ns, **({"reason": reason} if reason else {})})
    return tuple(out)


def judged(outcome: Outcome, flags: Sequence[Said], evaluations: Sequence[Said]) -> Outcome:
    """Return the outcome once somebody judged it: a person's flag counts always, bad feedback where all looked well."""
    if flags or (outcome == "ok" and any(_complaint(one) for one in evaluations)):
        return "user_flagged"
    return outcome


def before_flags(run: Run) -> Outcome:
    """Return how a run ended, whatever people said of it afterwards: nobody flags a replay."""
    if run.outcome != "user_flagged":
        return run.outcome
    roots = [step for step in run.steps if step.parent is None and step.shadowed_by is None and step.kind == "agent"]
    return "error" if any(step.error is not None for step in roots) else "ok"


def _complaint(score: Said) -> bool:
    """Say whether an evaluation is a user's feedback, and a bad one."""
    name, label, value = score.get("name"), score.get("label"), score.get("value")
    if not isinstance(name, str) or not any(word in name.lower() for word in ("feedback", "thumb")):
        return False
    if isinstance(label, str) and label:
        return label.lower().replace(" ", "_") in _BAD
    return isinstance(value, int | float) and value <= 0
