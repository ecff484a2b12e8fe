"""Steps of another process than the run's say so: a replay cannot run them."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from otlp_build import ROOT, agent, answer, call, llm, msg, tool
from runreel.cli import show
from runreel.values import Run, Span, Value
from span_kit import runs_of, spans_of

SUB, B1, B2, B3, C1 = (f"00000000000000{two}" for two in ("a5", "b1", "b2", "b3", "c1"))
HERE: dict[str, Value] = {"service.name": "orchestrator", "host.name": "h", "process.pid": 11}
THERE: dict[str, Value] = {"service.name": "child-a", "host.name": "h", "process.pid": 12}


def parent_spans(res: Any) -> tuple[Span, ...]:
    return spans_of(agent(ms=5000), llm(B1, ROOT, [msg("user", "q")], [msg("assistant", "ok")], at=1), res=res)


def child_spans(res: Any) -> tuple[Span, ...]:
    asked = msg("assistant", call("f", {"a": 1}, "c1"))
    history = [msg("user", "q2"), asked, msg("tool", answer("r", "c1"))]
    return spans_of(
        agent(sid=SUB, parent=ROOT, at=100),
        llm(B2, SUB, [msg("user", "q2")], [asked], at=110),
        llm(B3, SUB, history, [msg("assistant", "done")], at=150),
        res=res,
    )


def run_of(here: Any, there: Any) -> Run:
    (run,) = runs_of([*parent_spans(here), *child_spans(there)])
    return run


def processes(run: Run) -> set[object]:
    return {step.seq for step in run.steps if "process" in step.fields}


def test_steps_of_a_sub_agent_elsewhere_name_their_process_and_so_does_a_tool_call_without_a_span() -> None:
    run = run_of(HERE, THERE)

    assert [(step.kind, "process" in step.fields, step.synthesised) for step in run.steps] == [
        ("agent", False, False),
        ("llm", False, False),
        ("agent", True, False),
        ("llm", True, False),
        ("tool", True, True),
        ("llm", True, False),
    ]
    assert all(run.steps[seq].fields["process"] == THERE for seq in (2, 3, 4, 5))


@pytest.mark.parametrize(
    ("here", "there", "apart"),
    [
        ({"process.pid": 1, "host.name": "a"}, {"process.pid": 1, "host.name": "b"}, True),
        ({"process.pid": 1, "service.name": "a"}, {"process.pid": 1, "service.name": "b"}, False),
        ({"service.instance.id": "1", "service.name": "a"}, {"service.instance.id": "2", "service.name": "a"}, True),
        ({"service.instance.id": "1", "service.name": "a"}, {"service.name": "b"}, True),
        ({"service.name": "a"}, {"service.name": "a"}, False),
        ({"service.name": "a"}, {}, False),
        ({}, {"process.pid": 7}, False),
    ],
)
def test_processes_are_told_by_pid_then_instance_then_service(here: Any, there: Any, apart: bool) -> None:
    assert bool(processes(run_of(here, there))) == apart


def test_a_call_made_here_and_recorded_again_by_a_proxy_is_here() -> None:
    def one(sid: str, parent: str, res: Any) -> tuple[Span, ...]:
        attributes = {"gen_ai.response.id": "r1"}
        return spans_of(llm(sid, parent, [msg("user", "q")], [msg("assistant", "ok")], at=1, **attributes), res=res)

    (run,) = runs_of([*spans_of(agent(), res=HERE), *one(B1, ROOT, HERE), *one(B2, B1, THERE)])

    assert [step.shadowed_by for step in run.steps if step.kind == "llm"] == [2, None]
    assert processes(run) == set()


def test_a_tool_served_elsewhere_below_its_call_is_elsewhere_and_the_call_is_here() -> None:
    served = spans_of(tool(C1, B1, "f", {"a": 1}, "r", at=3), res=THERE)
    called = spans_of(tool(B1, ROOT, "f", {"a": 1}, "r", at=2), res=HERE)

    (run,) = runs_of([*spans_of(agent(), res=HERE), *called, *served])

    assert [("process" in step.fields, step.shadowed_by) for step in run.steps[1:]] == [(False, None), (True, 1)]


def test_the_tree_says_where_a_sub_agent_ran_and_once() -> None:
    out = StringIO()

    show.tree(Console(file=out, width=100), run_of(HERE, THERE))

    assert out.getvalue().count("in another process: child-a, pid 12") == 1
