"""Whatever spans and log events say, and however they hang together, they make runs: the same ones in any order."""

import random
from io import StringIO

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from hostile import HOSTILE, KEYS, SCOPES
from otlp_build import T0
from runreel.cli import show
from runreel.processors.schema import Schema
from runreel.runs.document import run_document, summarise
from runreel.runs.scores import EVALUATION
from runreel.semconv import keys
from runreel.semconv.view import DETAILS_EVENT
from runreel.values import Event, LogEvent, RawBatch, Run, Span, Value
from span_kit import make_event, make_link, make_log, make_span, runs_of

TRACES = ("1" * 32, "2" * 32, "3" * 32)
IDS = tuple(f"{number:016x}" for number in range(1, 7))
NAMES = ("f", "transfer_to_desk", "desk", "handoff to desk", "__end__", "(merged tools)", "transfer_to_agent", "\ud800")


def said(role: str, *parts: Value) -> Value:
    return ({"role": role, "parts": parts},)


ANSWERS: tuple[Value, ...] = (
    said("assistant", {"type": "text", "content": "ok"}),
    said("assistant", {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"a": 1}}),
    said("assistant", {"type": "tool_call", "name": "transfer_to_desk", "arguments": "{broken"}),
    said("tool", {"type": "tool_call_response", "id": "c1", "response": None}),
    said("user"),
    (),
    "no messages",
    "[{",
    3,
)
ODD: tuple[Value, ...] = (
    None,
    "",
    "None",
    0,
    -1,
    1.5,
    float("nan"),
    True,
    b"\xff",
    "\ud800",
    (),
    {},
    ("a", 1),
    {"b": (None,)},
)
FIELDS: dict[str, tuple[Value, ...]] = {
    "gen_ai.operation.name": ("chat", "execute_tool", "invoke_agent", "create_agent", "handoff", "retrieval", "plan"),
    "openinference.span.kind": ("LLM", "TOOL", "CHAIN", "AGENT", "RETRIEVER"),
    "gen_ai.tool.name": NAMES,
    "gen_ai.agent.name": NAMES,
    "gen_ai.tool.call.id": ("c1", "c2"),
    "gen_ai.tool.call.arguments": ('{"agent_name": "desk"}', {"agent_name": 3}, {"a": 1}, "{"),
    "gen_ai.tool.call.result": ("x", "ok"),
    "gen_ai.input.messages": ANSWERS,
    "gen_ai.output.messages": ANSWERS,
    "output.value": ("desk", "__end__", "ok"),
    "gen_ai.response.id": ("r1", "r2"),
    "gen_ai.request.model": ("m", "n"),
    "gen_ai.usage.input_tokens": (5, 6),
    "error.type": ("Timeout",),
    "gen_ai.evaluation.name": ("user_feedback", "tone"),
    "gen_ai.evaluation.score.value": (0, 1.0, "0"),
    keys.RUN_ID: ("run-1", "2" * 32),
    keys.STEP_KIND: ("decision", "llm", "memory"),
    keys.DECISION_CHOSEN: ("desk",),
    keys.FLAG_REASON: ("why",),
}
attributes = st.lists(st.sampled_from(sorted(FIELDS)), max_size=8, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: st.sampled_from(FIELDS[name] + ODD) for name in names})
)
times = st.sampled_from((0, 1, T0, T0 + 10, T0 + 20, T0 + 30, 2**64 - 1))
resources = st.sampled_from(({}, {"service.instance.id": "p1"}, {"service.instance.id": 7}))


@st.composite
def spans(draw: st.DrawFn) -> Span:
    kept = draw(attributes)
    return make_span(
        kept,
        trace_id=draw(st.sampled_from(TRACES)),
        span_id=draw(st.sampled_from(IDS)),
        parent_id=draw(st.sampled_from((None, "", *IDS))),
        name=draw(st.sampled_from(NAMES)),
        start_ns=draw(times),
        end_ns=draw(times),
        status=draw(st.sampled_from((0, 1, 2))),
        scope=draw(st.sampled_from(("one", "two", "openinference.instrumentation.x"))),
        resource=draw(resources),
        events=draw(st.sampled_from(((), (make_event(EVALUATION), make_event("exception"))))),
        links=draw(st.sampled_from(((), (make_link(TRACES[0], IDS[0], link__kind="handoff"),)))),
    )


@st.composite
def logs(draw: st.DrawFn) -> LogEvent:
    name = draw(st.sampled_from((EVALUATION, keys.FLAG_EVENT, "", "gen_ai.client.inference.operation.details")))
    place = draw(st.sampled_from(("", *IDS)))
    return make_log(draw(attributes), place, trace_id=draw(st.sampled_from(("", *TRACES))), event_name=name)


def shape(run: Run) -> str:
    """Everything of a run as text: NaN equals itself there."""
    return repr(run)


@settings(max_examples=300, deadline=None)
@given(st.lists(spans(), max_size=14), st.lists(logs(), max_size=4), st.randoms(use_true_random=False))
def test_any_spans_make_runs_and_the_same_ones_in_any_order(
    found: list[Span], events: list[LogEvent], chance: random.Random
) -> None:
    runs = runs_of(found, events)
    mixed, others = [*found, *found[:3]], [*events, *events[:1]]
    chance.shuffle(mixed)
    chance.shuffle(others)

    assert sorted(map(shape, runs_of(mixed, others))) == sorted(map(shape, runs))
    for run in runs:
        assert [step.seq for step in run.steps] == list(range(len(run.steps)))
        assert summarise(run).model_calls <= sum(step.kind == "llm" for step in run.steps)
        for step in run.steps:
            # What stands for another step stands for itself: no circle, no chain that leads nowhere.
            seen = {step.seq}
            at = step
            while at.shadowed_by is not None:
                assert at.shadowed_by not in seen
                seen.add(at.shadowed_by)
                at = run.steps[at.shadowed_by]
        run_document(run, payloads=True)


known = st.dictionaries(
    st.sampled_from(KEYS), st.sampled_from(HOSTILE + ODD + ANSWERS + ("chat", "LLM", "tool", "model")), max_size=12
)

# What makes a span a step, dialect by dialect: without it little of what it holds is looked at.
kinds = st.sampled_from(
    (
        {},
        {"gen_ai.operation.name": "chat"},
        {"gen_ai.operation.name": "execute_tool"},
        {"gen_ai.operation.name": "retrieval"},
        {"gen_ai.operation.name": "search_memory"},
        {"openinference.span.kind": "LLM"},
        {"openinference.span.kind": "RETRIEVER"},
        {"langfuse.observation.type": "generation"},
        {"langsmith.span.kind": "llm"},
        {"traceloop.span.kind": "tool"},
        {"ai.operationId": "ai.generateText.doGenerate"},
        {"genkit:metadata:subtype": "model"},
        {"mcp.method.name": "tools/call"},
    )
)


@st.composite
def hostile_spans(draw: st.DrawFn) -> Span:
    named = draw(kinds) | draw(known)
    details = Event(DETAILS_EVENT, T0, draw(known)), Event("exception", T0, {"exception.type": 7})
    return make_span(
        named,
        trace_id=draw(st.sampled_from(TRACES[:2])),
        span_id=draw(st.sampled_from(IDS)),
        parent_id=draw(st.sampled_from((None, *IDS))),
        name=draw(st.sampled_from(NAMES)),
        scope=draw(st.sampled_from(SCOPES)),
        resource=draw(known),
        start_ns=draw(times),
        end_ns=draw(times),
        events=draw(st.sampled_from(((), details))),
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(hostile_spans(), min_size=1, max_size=5), st.lists(known, max_size=2))
def test_hostile_values_under_keys_that_dialects_read_make_nothing_fail(
    found: list[Span], told: list[dict[str, Value]]
) -> None:
    events = [make_log(attributes, span.key.span_id) for attributes, span in zip(told, found, strict=False)]

    taken = Schema().process(RawBatch("default", tuple(found), tuple(events)))
    runs = runs_of(taken.spans, taken.logs)

    assert len(taken.spans) == len(found)
    for run in runs:
        run_document(run, payloads=True)
        show.tree(Console(file=StringIO()), run, payloads=True)
