import pytest

from otlp_build import ROOT, T0, agent, answer, call, llm, msg, tool
from runreel.runs.assemble import assemble
from runreel.values import Run
from span_kit import capture, captured_run, counts, of_kind, runs_of, spans_of

B1, B2, B3 = "00000000000000b1", "00000000000000b2", "00000000000000b3"
USER = msg("user", "trip")


@pytest.mark.parametrize("name", ["otel-genai-openai/content-span", "openinference-openai/content-on"])
def test_a_loop_without_tool_spans_has_the_same_tool_calls(name: str) -> None:
    spans, _ = capture(name)
    whole = captured_run(name)

    run = assemble([span for span in spans if not span.name.startswith("execute_tool")])

    made, real = of_kind(run, "tool"), of_kind(whole, "tool")
    assert counts(run) == (3, 3)
    assert all(step.synthesised for step in made)
    assert [step.call_id for step in made] == [step.call_id for step in real]
    assert [(step.name, step.input, step.output) for step in made] == [
        (one.name, one.input, one.output) for one in real
    ]
    assert run.replayable == "full"
    assert [step.kind for step in run.steps] == ["agent", "llm", "tool", "tool", "llm", "tool", "llm"]


def test_its_time_lies_between_the_two_model_calls_and_its_place_beside_them() -> None:
    asked = msg("assistant", call("f", {"a": 1}, "c1"))
    (run,) = runs_of(
        spans_of(
            agent(),
            llm(B1, ROOT, [USER], [asked]),
            llm(B2, ROOT, [USER, asked, msg("tool", answer("done", "c1"))], [msg("assistant", "ok")], at=40),
        )
    )

    (step,) = of_kind(run, "tool")
    assert (step.start_ns, step.end_ns) == (T0 + 10_000_000, T0 + 40_000_000)
    assert (step.parent, step.keys, step.fields["asked_by"]) == (0, (), 1)
    assert (step.after, run.steps[3].after) == ({1}, {1, 2})


def test_only_the_calls_without_a_span_are_made() -> None:
    asked = msg("assistant", call("f", {}, "c1"), call("g", {}, "c2"))
    told = [msg("tool", answer("F", "c1")), msg("tool", answer("G", "c2"))]
    (run,) = runs_of(
        spans_of(
            agent(),
            llm(B1, ROOT, [USER], [asked]),
            tool("00000000000000c1", ROOT, "f", {}, "F", id="c1", at=20),
            llm(B2, ROOT, [USER, asked, *told], [msg("assistant", "ok")], at=40),
        )
    )

    assert [(step.name, step.synthesised) for step in of_kind(run, "tool")] == [("g", True), ("f", False)]


def test_an_id_used_at_every_turn_gives_each_call_its_own_result() -> None:
    asked = msg("assistant", call("poll", {}, "call_1"))

    def told(text: str) -> dict[str, object]:
        return msg("tool", answer(text, "call_1"))

    (run,) = runs_of(
        spans_of(
            agent(),
            llm(B1, ROOT, [USER], [asked]),
            llm(B2, ROOT, [USER, asked, told("queued")], [asked], at=40),
            llm(B3, ROOT, [USER, asked, told("queued"), asked, told("done")], [msg("assistant", "ok")], at=80),
        )
    )

    assert [run.value(step.output) for step in of_kind(run, "tool")] == ["queued", "done"]


def test_a_call_whose_result_nobody_was_told_makes_no_step() -> None:
    (run,) = runs_of(spans_of(agent(), llm(B1, ROOT, [USER], [msg("assistant", call("final_result", {}, "c1"))])))

    assert counts(run) == (1, 0)


def test_a_model_call_keeps_the_texts_of_the_arguments_where_the_tool_spans_have_them() -> None:
    asked = msg("assistant", call("f", {"a": 100.0}, "c1"), call("g", {"b": 1}, "c2"))
    told = [msg("tool", answer("F", "c1")), msg("tool", answer("G", "c2"))]

    def texts(run: Run) -> object:
        return of_kind(run, "llm")[0].fields.get("tool_call_texts")

    turns = (
        llm(B1, ROOT, [USER], [asked]),
        llm(B2, ROOT, [USER, asked, *told], [msg("assistant", "ok")], at=40),
    )
    spelt = tool("00000000000000c1", ROOT, "f", '{"a": 1e2}', "F", id="c1", at=20)
    (with_span,), (without,) = runs_of(spans_of(agent(), *turns, spelt)), runs_of(spans_of(agent(), *turns))

    assert texts(with_span) == ('{"a": 1e2}', None)
    assert texts(without) is None
