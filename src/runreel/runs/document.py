"""A run as JSON documents with stable field names: `runs ls --json`, `runs show --json` and the read API."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from runreel.values import Gap, Kind, ModelUsage, Ref, ReplayResult, Run, RunSummary, Step, Value

_NS = 1_000_000_000
# What a span's own clock says may be anything up to 2**64-1: beyond this, Python has no date.
_LAST_NS = 253_402_300_799 * _NS


def iso(time_ns: int) -> str | None:
    """Return nanoseconds since 1970 as ISO 8601 in UTC with nine decimals; None for 0 and beyond the year 9999."""
    if not 0 < time_ns <= _LAST_NS:
        return None
    second, rest = divmod(time_ns, _NS)
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def count(steps: Sequence[Step], kind: Kind) -> int:
    """Count the steps of a kind, each call once: what another step shadows is the same call seen twice."""
    return sum(1 for step in steps if step.kind == kind and step.shadowed_by is None)


def summarise(run: Run) -> RunSummary:
    """Return the line that lists show of a run."""
    return RunSummary(
        tenant=run.tenant,
        run_id=run.run_id,
        trace_ids=run.trace_ids,
        agent_id=run.agent_id,
        started_ns=run.started_ns,
        ended_ns=run.ended_ns,
        outcome=run.outcome,
        open=run.open,
        model_calls=count(run.steps, "llm"),
        tool_calls=count(run.steps, "tool"),
        retrievals=count(run.steps, "retrieval"),
        replayable=run.replayable,
        parent_run_id=run.parent_run_id,
        replay_of=run.replay_of,
        user_ref=run.user_ref,
        env=run.env,
        revision=run.revision,
        replay_result=run.replay_result,
        tools=tuple(sorted({step.name for step in run.steps if step.kind == "tool" and step.shadowed_by is None})),
        usage=usage_of(run.steps),
    )


def usage_of(steps: Sequence[Step]) -> tuple[ModelUsage, ...]:
    """Return the tokens of model calls, each counted once, by the model that answered; sorted by its name."""
    found: dict[str, list[int]] = {}
    for step in steps:
        if step.kind != "llm" or step.shadowed_by is not None:
            continue
        model = step.fields.get("model") or step.fields.get("model_requested") or step.name
        usage = step.fields.get("usage")
        given = usage if isinstance(usage, Mapping) else {}
        sums = found.setdefault(model if isinstance(model, str) else step.name, [0, 0, 0])
        for place, count_ in enumerate((1, given.get("input_tokens"), given.get("output_tokens"))):
            # A sender may claim anything; what is no count of tokens is none.
            sums[place] += count_ if type(count_) is int and 0 <= count_ < 2**48 else 0
    return tuple(ModelUsage(model, *sums) for model, sums in sorted(found.items()))


def summary_document(summary: RunSummary) -> dict[str, Any]:
    """Return the JSON object of one run in a list."""
    return {
        "run_id": summary.run_id,
        "trace_ids": list(summary.trace_ids),
        "agent_id": summary.agent_id,
        "started_at": iso(summary.started_ns),
        "ended_at": iso(summary.ended_ns),
        "started_ns": summary.started_ns,
        "ended_ns": summary.ended_ns,
        "outcome": summary.outcome,
        "open": summary.open,
        "model_calls": summary.model_calls,
        "tool_calls": summary.tool_calls,
        "retrievals": summary.retrievals,
        "replayable": summary.replayable,
        "parent_run_id": summary.parent_run_id,
        "replay_of": summary.replay_of,
        "user_ref": summary.user_ref,
        "env": summary.env,
        "tenant": summary.tenant,
        "revision": summary.revision,
        "tools": list(summary.tools),
        "replay_result": result_document(summary.replay_result),
        "usage": [asdict(one) for one in summary.usage],
    }


def replays_document(replays: Sequence[RunSummary]) -> dict[str, Any]:
    """Return the field `replays` of a run that is shown: its replays, newest first, and what each came to."""
    found = [
        {"run_id": one.run_id, "started_at": iso(one.started_ns), "replay_result": result_document(one.replay_result)}
        for one in replays
    ]
    return {"replays": found}


def result_document(result: ReplayResult | None) -> dict[str, Any] | None:
    """Return the JSON object of what a replay came to."""
    if result is None:
        return None
    return {
        "mode": result.mode,
        "verdict": result.verdict,
        "divergences": result.divergences,
        "first_divergence": plain(result.first) if result.first else None,
    }


def result_from_document(document: Mapping[str, Any] | None) -> ReplayResult | None:
    """Return the result that `result_document` made the object from. Raises KeyError for a missing field."""
    if document is None:
        return None
    first = document["first_divergence"] or {}
    return ReplayResult(document["mode"], document["verdict"], document["divergences"], dict(first))


def summary_from_document(document: Mapping[str, Any]) -> RunSummary:
    """Return the summary that `summary_document` made the object from. Raises KeyError for a missing field."""
    times = {"started_at", "ended_at"}
    fields = {name: value for name, value in document.items() if name not in times}
    fields["trace_ids"] = tuple(fields["trace_ids"])
    fields["tools"] = tuple(fields["tools"])
    fields["replay_result"] = result_from_document(fields["replay_result"])
    fields["usage"] = tuple(ModelUsage(**one) for one in fields.get("usage") or ())
    return RunSummary(**{name: fields[name] for name in RunSummary.__dataclass_fields__})


def run_document(run: Run, *, payloads: bool = False) -> dict[str, Any]:
    """Return the JSON object of one run: its summary, steps, gaps; with `payloads` also every value by its hash."""
    document = summary_document(summarise(run)) | {
        "parent_relation": run.parent_relation,
        "conversation_id": run.conversation_id,
        "versions": plain(run.versions),
        "prompt_versions": plain(run.prompt_versions),
        "service": plain(run.service),
        "flags": plain(run.flags),
        "user_input": _ref(run.user_input),
        "final_output": _ref(run.final_output),
        "steps": [_step(step) for step in run.steps],
        "gaps": [_gap(gap) for gap in run.gaps],
        "notes": list(run.notes),
        "scores": plain(run.scores),
        "flagged": plain(run.flagged),
    }
    if payloads:
        document["payloads"] = {sha256: plain(value) for sha256, value in sorted(run.payloads.items())}
    return document


def plain(value: Value) -> Any:
    """Return a value as plain JSON types: bytes as base64 under `$bytes`, NaN and infinities as strings."""
    match value:
        case bytes():
            import base64

            return {"$bytes": base64.b64encode(value).decode()}
        case float() if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        case tuple():
            return [plain(item) for item in value]
        case Mapping():
            return {key: plain(item) for key, item in value.items()}
        case _:
            return value


def _step(step: Step) -> dict[str, Any]:
    # Tool definitions are a payload in size: the run's `payloads` and the reel hold them.
    fields = {name: value for name, value in step.fields.items() if name != "tool_definitions"}
    return {
        "seq": step.seq,
        "kind": step.kind,
        "name": step.name,
        "status": step.status,
        "call_id": step.call_id,
        "parent": step.parent,
        "after": _ranges(step.after),
        "started_at": iso(step.start_ns),
        "ended_at": iso(step.end_ns),
        "start_ns": step.start_ns,
        "end_ns": step.end_ns,
        "refs": {"input": _ref(step.input), "output": _ref(step.output)},
        "error": step.error and {"type": step.error.type, "message": step.error.message, "stack": step.error.stack},
        "fields": plain(fields),
        "dialect": step.dialect,
        "shadowed_by": step.shadowed_by,
        "synthesised": step.synthesised,
        "spans": [{"trace_id": key.trace_id, "span_id": key.span_id} for key in step.keys],
    }


def _ranges(places: Iterable[int]) -> list[list[int]]:
    """Return numbers as ranges, first and last of each: one by one they would grow with the square of a run."""
    found: list[list[int]] = []
    for place in sorted(places):
        if found and found[-1][1] == place - 1:
            found[-1][1] = place
        else:
            found.append([place, place])
    return found


def _ref(ref: Ref) -> dict[str, Any]:
    return {
        "ref": f"sha256:{ref.sha256}" if ref.sha256 else None,
        "size": ref.size,
        "state": ref.state,
        "reason": ref.reason,
    }


def _gap(gap: Gap) -> dict[str, Any]:
    return {"step": gap.step, "field": gap.field, "needed_for": gap.needed_for, "cause": gap.cause, "fix": gap.fix}
