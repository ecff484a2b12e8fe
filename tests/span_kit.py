"""Spans for tests: built by hand, decoded from requests, and read from the captures of real clients."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from otlp_build import T0, TID, logs_req, req
from runreel.otlp import decode, gunzip, sniff
from runreel.runs.assemble import assemble
from runreel.runs.identity import group
from runreel.values import Event, Link, LogEvent, Resource, Run, Scope, Span, SpanKey, Step, Value

CAPTURES = Path(__file__).parent / "data" / "captures"
SAMPLES = Path(__file__).parent / "data" / "samples"


def make_span(attributes: Mapping[str, Value] | None = None, **fields: Any) -> Span:
    """One span; ids, times and scope have defaults."""
    span_id = fields.pop("span_id", "00000000000000b1")
    scope = fields.pop("scope", "case")
    resource = fields.pop("resource", {"service.name": "case"})
    known: dict[str, Any] = {"parent_id": None, "name": "a span", "start_ns": T0, "end_ns": T0 + 10_000_000}
    return Span(
        SpanKey("default", fields.pop("trace_id", TID), span_id),
        attributes=attributes or {},
        scope=Scope(scope),
        resource=Resource(resource),
        **(known | fields),
    )


def make_log(attributes: Mapping[str, Value], span_id: str = "00000000000000b1", **fields: Any) -> LogEvent:
    """One log event with content on a span."""
    known: dict[str, Any] = {"event_name": "gen_ai.client.inference.operation.details", "observed_ns": T0}
    return LogEvent("default", fields.pop("trace_id", TID), span_id, attributes=attributes, **(known | fields))


def make_event(name: str, **attributes: Value) -> Event:
    return Event(name, T0, {key.replace("__", "."): value for key, value in attributes.items()})


def make_link(trace_id: str, span_id: str, **attributes: Value) -> Link:
    return Link(trace_id, span_id, attributes={key.replace("__", "."): value for key, value in attributes.items()})


def spans_of(*spans: Any, res: Any = None) -> tuple[Span, ...]:
    """The spans of one request, as the codec reads them."""
    return decode("traces", req(*spans, res=res).SerializeToString(), "protobuf", "default").spans


def logs_of(*records: Any) -> tuple[LogEvent, ...]:
    """The log events of one request, as the codec reads them."""
    return decode("logs", logs_req(*records).SerializeToString(), "protobuf", "default").logs


def capture(name: str) -> tuple[tuple[Span, ...], tuple[LogEvent, ...]]:
    """Every span and log event of one capture, repeated requests included."""
    spans: list[Span] = []
    logs: list[LogEvent] = []
    for file in sorted((CAPTURES / name).iterdir()):
        if file.name.endswith((".bin", ".bin.gz", ".body")):
            data = file.read_bytes()
            if data[:2] == b"\x1f\x8b":
                data = gunzip(data, 1 << 26)
            kind = sniff(data)
            assert kind is not None
            batch = decode(kind[0], data, kind[1], "default")
            spans += batch.spans
            logs += batch.logs
    return tuple(spans), tuple(logs)


def sample(name: str, folder: Path = SAMPLES) -> tuple[tuple[Span, ...], tuple[LogEvent, ...]]:
    """Every span and log event of one sample, by its name without `.traces.json`."""
    traces = decode("traces", (folder / f"{name}.traces.json").read_bytes(), "json", "default")
    logs = folder / f"{name}.logs.json"
    return traces.spans, decode("logs", logs.read_bytes(), "json", "default").logs if logs.exists() else ()


def runs_of(spans: Sequence[Span], logs: Sequence[LogEvent] = ()) -> list[Run]:
    """Every run that spans and logs make, the earliest first."""
    found = [assemble(members, events, run_id=run) for run, (members, events) in group(spans, logs).items()]
    return sorted(found, key=lambda run: run.started_ns)


def captured_run(name: str) -> Run:
    """The one run of a capture."""
    (run,) = runs_of(*capture(name))
    return run


def of_kind(run: Run, kind: str) -> list[Step]:
    """The steps of a kind, each call once."""
    return [step for step in run.steps if step.kind == kind and step.shadowed_by is None]


def counts(run: Run) -> tuple[int, int]:
    """Model calls and tool calls."""
    return len(of_kind(run, "llm")), len(of_kind(run, "tool"))
