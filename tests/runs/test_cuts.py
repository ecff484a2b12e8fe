import json

from otlp_build import ROOT, agent, llm, msg, tool
from span_kit import of_kind, runs_of, spans_of

CUT = '{"name": "Dana", "order": "123e4567-e89b-12d3-a'


def test_a_result_without_its_end_is_cut_where_messages_are_cut_too() -> None:
    broken = llm("00000000000000b1", ROOT, [], [msg("assistant", "ok")])
    text = next(one for one in broken.attributes if one.key == "gen_ai.input.messages")
    text.value.string_value = json.dumps([msg("user", "x" * 300)])[:200]

    (run,) = runs_of(spans_of(agent(), broken, tool("00000000000000c1", ROOT, "f", {}, CUT, at=20)))

    (step,) = of_kind(run, "tool")
    assert step.output.state == "cut"
    assert run.value(step.output) == CUT


def test_such_a_result_alone_proves_nothing() -> None:
    whole = llm("00000000000000b1", ROOT, [msg("user", "q")], [msg("assistant", "ok")])

    (run,) = runs_of(spans_of(agent(), whole, tool("00000000000000c1", ROOT, "f", {}, CUT, at=20)))

    assert of_kind(run, "tool")[0].output.state == "whole"
    assert run.replayable == "full"
