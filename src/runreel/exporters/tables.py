"""Payloads, traces and the cache of runs as table rows and back; rows.py does the same for spans and log events."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from runreel.exporters.rows import searchable
from runreel.storage import CachedRun, KeptGolden, Trace
from runreel.values import ModelUsage, Payload, ReplayResult, RunSummary

Columns = Mapping[str, Sequence[Any]]


def payload_columns(payloads: Sequence[Payload], arrived_ns: int) -> Columns:
    """Return the columns of table `payloads`."""
    return {
        "tenant": [payload.tenant for payload in payloads],
        "sha256": [bytes.fromhex(payload.ref.sha256) for payload in payloads],
        "size": [payload.ref.size for payload in payloads],
        "state": [payload.ref.state for payload in payloads],
        "reason": [payload.ref.reason for payload in payloads],
        "skeleton": [payload.skeleton for payload in payloads],
        "parts": [[bytes.fromhex(part) for part in payload.parts] for payload in payloads],
        "arrived_ns": [arrived_ns] * len(payloads),
    }


def trace_columns(tenant: str, traces: Sequence[Trace]) -> Columns:
    """Return the columns of table `traces`."""
    return {
        "tenant": [tenant] * len(traces),
        "trace_id": [trace.trace_id for trace in traces],
        "steps": [int(trace.steps) for trace in traces],
        "started_ns": [trace.started_ns for trace in traces],
        "ended_ns": [trace.ended_ns for trace in traces],
        "changed_ns": [trace.changed_ns for trace in traces],
        "run_hints": [list(trace.run_hints) for trace in traces],
        "other_steps": [int(trace.other_steps) for trace in traces],
        "callers": [["\0".join(caller) for caller in trace.callers] for trace in traces],
    }


def name_columns(tenant: str, traces: Sequence[Trace]) -> Columns:
    """Return the columns of table `run_names`."""
    names = [(name, trace.trace_id) for trace in traces for name in trace.run_hints]
    return {
        "tenant": [tenant] * len(names),
        "run_id": [name for name, _ in names],
        "trace_id": [trace_id for _, trace_id in names],
    }


def trace(row: Sequence[Any]) -> Trace:
    """Return a row of view `trace_news`."""
    trace_id, steps, started_ns, ended_ns, changed_ns, hints, others, callers = row
    pairs = tuple((instance, scope) for instance, _, scope in (caller.partition("\0") for caller in callers))
    return Trace(trace_id, bool(steps), started_ns, ended_ns, changed_ns, tuple(hints), bool(others), pairs)


def caller_columns(tenant: str, traces: Sequence[Trace]) -> Columns:
    """Return the columns of table `callers`."""
    found = [(instance, trace, scope) for trace in traces for instance, scope in trace.callers]
    return {
        "tenant": [tenant] * len(found),
        "instance": [instance for instance, _, _ in found],
        "started_ns": [trace.started_ns for _, trace, _ in found],
        "trace_id": [trace.trace_id for _, trace, _ in found],
        "scope": [scope for _, _, scope in found],
    }


def golden_columns(tenant: str, golden: KeptGolden, now_ns: int) -> Columns:
    """Return the columns of table `goldens`."""
    return {
        "tenant": [tenant],
        "run_id": [searchable(golden.run_id)],
        "name": [searchable(golden.name)],
        "ticket": [searchable(golden.ticket)],
        "sha256": [golden.sha256],
        "registered_ns": [now_ns],
    }


def cached_line(tenant: str, run: CachedRun) -> dict[str, Any]:
    """Return a row of table `runs`."""
    summary = run.summary or RunSummary(tenant, run.run_id, (), "", 0, 0, "ok", False, 0, 0, 0, "none")
    return {
        "tenant": tenant,
        "run_id": searchable(run.run_id),
        "made": run.summary is not None,
        "traces": list(run.traces),
        "changed_ns": run.changed_ns,
        "assembled_ns": run.assembled_ns,
        "derivation": run.derivation,
        "trace_ids": list(summary.trace_ids),
        "agent_id": searchable(summary.agent_id),
        "started_ns": summary.started_ns,
        "ended_ns": summary.ended_ns,
        "outcome": summary.outcome,
        "open": summary.open,
        "model_calls": summary.model_calls,
        "tool_calls": summary.tool_calls,
        "retrievals": summary.retrievals,
        "replayable": summary.replayable,
        "parent_run_id": searchable(summary.parent_run_id or ""),
        "replay_of": searchable(summary.replay_of or ""),
        "user_ref": searchable(summary.user_ref or ""),
        "env": searchable(summary.env),
        "revision": summary.revision,
        "tools": [searchable(name) for name in summary.tools],
        "replay_result": _result_text(summary.replay_result),
        "usage": [(searchable(one.model), one.calls, one.input_tokens, one.output_tokens) for one in summary.usage],
    }


def cached_run(tenant: str, row: Sequence[Any]) -> CachedRun:
    """Return what `cached_line` made the row from: the cache's own columns, then those of the summary."""
    run_id, made, traces, changed_ns, assembled_ns, derivation, trace_ids, agent_id, started_ns, ended_ns = row[:10]
    outcome, open_, models, tools, retrievals, replayable, parent, replay_of, user, env, revision = row[10:21]
    called, result, usage = row[21:]
    summary = None
    if made:
        summary = RunSummary(
            tenant=tenant,
            run_id=run_id,
            trace_ids=tuple(trace_ids),
            agent_id=agent_id,
            started_ns=started_ns,
            ended_ns=ended_ns,
            outcome=outcome,
            open=open_,
            model_calls=models,
            tool_calls=tools,
            retrievals=retrievals,
            replayable=replayable,
            parent_run_id=parent or None,
            replay_of=replay_of or None,
            user_ref=user or None,
            env=env,
            revision=revision,
            tools=tuple(called),
            replay_result=_result(result),
            usage=tuple(ModelUsage(*_values(one)) for one in usage),
        )
    return CachedRun(run_id, tuple(traces), changed_ns, assembled_ns, derivation, summary)


def _values(held: Any) -> Sequence[Any]:
    # The client gives a tuple with names as a map, by its version.
    return tuple(held.values()) if isinstance(held, dict) else tuple(held)


def _result_text(result: ReplayResult | None) -> str:
    # ASCII: a lone surrogate has no other form that a table takes.
    return "" if result is None else json.dumps(asdict(result))


def _result(text: str) -> ReplayResult | None:
    return ReplayResult(**json.loads(text)) if text else None
