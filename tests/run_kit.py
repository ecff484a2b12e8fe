"""Build assembled runs by hand: what a test wants to say of a run, and nothing else."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runreel import otlp
from runreel.canonical import freeze, make_ref
from runreel.processors.split import Split
from runreel.runs import reel
from runreel.runs.assemble import assemble
from runreel.values import CleanBatch, LogEvent, Ref, Run, Span, Step, StepError


def step(kind: str, name: str = "", given: Any = None, got: Any = None, **rest: Any) -> dict[str, Any]:
    """Describe a step; `after` defaults to all steps before it, `seq` to its place."""
    return {"kind": kind, "name": name, "given": given, "got": got, **rest}


def run(*steps: Mapping[str, Any], run_id: str = "run-1", **rest: Any) -> Run:
    """Make a run of steps, with their values in its payloads."""
    payloads: dict[str, Any] = {}

    def ref(value: Any) -> Ref:
        if value is None:
            return Ref()
        frozen = freeze(value)
        made = make_ref(frozen)
        payloads[made.sha256] = frozen
        return made

    made = [_step(place, one, ref) for place, one in enumerate(steps)]
    options = {"trace_ids": ("0" * 32,), "agent_id": "agent", "revision": "1", "ended_ns": 10**9, **rest}
    return Run("default", run_id, steps=tuple(made), payloads=payloads, **options)


def _step(place: int, one: Mapping[str, Any], ref: Any) -> Step:
    one = {"fields": {}, "after": range(place), "parent": None, **one}
    error = one.pop("error", None)
    return Step(
        seq=place,
        keys=(),
        start_ns=place * 100,
        end_ns=one.pop("end_ns", place * 100 + 50),
        input=ref(one.pop("given")),
        output=ref(one.pop("got")),
        after=frozenset(one.pop("after")),
        error=error and StepError(*error),
        status="error" if error else one.pop("status", "ok"),
        fields=freeze(one.pop("fields")),
        **one,
    )


def capture(folder: Path) -> tuple[list[Span], list[LogEvent]]:
    """Read the spans and log events of a capture that holds protobuf requests."""
    spans: list[Span] = []
    logs: list[LogEvent] = []
    for path in sorted(folder.glob("*.bin")):
        batch = otlp.decode("logs" if "logs" in path.name else "traces", path.read_bytes(), "protobuf", "default")
        spans, logs = [*spans, *batch.spans], [*logs, *batch.logs]
    return spans, logs


def reel_of(spans: Sequence[Span], logs: Sequence[LogEvent]) -> bytes:
    """Write the spans of one run as a reel, as they are: nothing is redacted."""
    return reel.write(assemble(spans, logs).run_id, Split().process(CleanBatch("default", tuple(spans), tuple(logs))))


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def called(*calls: tuple[str, str, Any]) -> dict[str, Any]:
    """The assistant's message with calls of (id, name, arguments)."""
    parts = [{"type": "tool_call", "id": i, "name": name, "arguments": arguments} for i, name, arguments in calls]
    return {"role": "assistant", "parts": parts, "finish_reason": "tool_call"}


def told(call_id: str, response: Any) -> dict[str, Any]:
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": response}]}


def desk(
    *,
    prompt: str = "Be brief.",
    cents: int = 4900,
    ids: Sequence[str] = ("c1", "c2"),
    result: str = '{"ok": true}',
    **rest: Any,
) -> Run:
    """A refund desk: look the order up, pay it back, answer. Two tools, three model calls."""
    first, second = ids
    asked = [said("system", prompt), said("user", "Refund A-1.")]
    find = called((first, "lookup", {"order": "A-1"}))
    pay = called((second, "refund", {"order": "A-1", "cents": 4900}))
    usage = {"usage": {"input_tokens": 10, "output_tokens": 5}, "model": "m-2026-01", "model_requested": "m"}
    history = [*asked, find, told(first, "found")]
    return run(
        step("agent", "desk", got="Done.", after=(), end_ns=900),
        step("llm", "m", asked, [find], after=(), parent=0, fields=usage),
        step("tool", "lookup", {"order": "A-1"}, "found", after=(1,), parent=0, call_id=first),
        step("llm", "m", history, [pay], after=(1, 2), parent=0, fields=usage),
        step("tool", "refund", {"order": "A-1", "cents": cents}, result, after=(1, 2, 3), parent=0, call_id=second),
        step(
            "llm",
            "m",
            [*history, pay, told(second, result)],
            [said("assistant", "Done.")],
            after=(1, 2, 3, 4),
            parent=0,
            fields=usage,
        ),
        **rest,
    )
