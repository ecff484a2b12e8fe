"""A store to load runs from: a clock that a test moves, batches as the chain makes them, one small run."""

from otlp_build import ROOT, T0, TID, agent, llm, msg, req, tool
from runreel.exporters.memory import Memory
from runreel.otlp import decode
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.values import CleanBatch, RawBatch, Span, SplitBatch
from span_kit import capture

NOW = T0 + 3600 * 10**9
LONG = "The long answer. " * 40
HEAVY = "A heavy document. " * 4000


class Clock:
    """Our time, which a test moves."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += int(seconds * 10**9)


class Watched(Memory):
    """A store in memory that counts how often rows are read."""

    read = 0

    def rows(self, tenant, trace_ids):
        self.read += 1
        return super().rows(tenant, trace_ids)


def stored(*spans, tenant: str = "default", res=None) -> SplitBatch:
    return split(decode("traces", req(*spans, res=res).SerializeToString(), "protobuf", tenant))


def split(batch: RawBatch) -> SplitBatch:
    """The chain without its redactor: what is stored here holds nothing personal."""
    found = Schema().process(batch)
    return Split().process(CleanBatch(found.tenant, found.spans, found.logs, found.facts, found.rejected))


def a_run(trace_id: str = TID, at: int = 0, **attributes):
    return stored(
        agent(tid=trace_id, at=at, **attributes),
        llm("00000000000000b1", ROOT, [msg("user", "hi")], [msg("assistant", LONG)], tid=trace_id, at=at + 1),
        tool("00000000000000c1", ROOT, "search", {"q": "x"}, HEAVY, tid=trace_id, at=at + 50),
    )


def torn_batches() -> list[SplitBatch]:
    """The four traces of a torn run, a batch each, the framework's first."""
    spans, _ = capture("langgraph/openinference-double")
    traces: dict[str, list[Span]] = {}
    for span_ in spans:
        traces.setdefault(span_.key.trace_id, []).append(span_)
    ordered = sorted(traces.values(), key=len, reverse=True)
    return [split(RawBatch("default", tuple(members))) for members in ordered]
