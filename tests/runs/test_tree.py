from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from otlp_build import ROOT, agent, answer, call, kvs, llm, msg, span, tool
from runreel.values import Run
from span_kit import counts, of_kind, runs_of, spans_of

OUTER, INNER = "00000000000000b1", "00000000000000b2"
BARE = {"gen_ai.operation.name": "chat", "gen_ai.response.id": "r1", "gen_ai.response.model": "m-1"}


def nested(outer: dict[str, object], inner: dict[str, object], inner_at: int = 1) -> Run:
    asked, said = [msg("user", "hi")], [msg("assistant", "hello")]
    (run,) = runs_of(
        spans_of(
            agent(),
            llm(OUTER, ROOT, asked, said, **outer),
            llm(INNER, OUTER, asked, said, at=inner_at, **inner),
        )
    )
    return run


def test_two_nested_spans_of_one_model_call_count_once_and_the_inner_one_stands() -> None:
    run = nested({"gen_ai.response.id": "r1"}, {"gen_ai.response.id": "r1"})

    assert counts(run) == (1, 0)
    assert [step.shadowed_by for step in run.steps] == [None, 2, None]
    assert all(1 not in step.after for step in run.steps)


def test_without_response_ids_model_time_and_usage_tell() -> None:
    assert counts(nested({}, {})) == (1, 0)
    assert counts(nested({}, {"gen_ai.usage.cache_read.input_tokens": 0})) == (1, 0)
    assert counts(nested({}, {"gen_ai.usage.output_tokens": 6})) == (2, 0)
    assert counts(nested({}, {}, inner_at=500)) == (2, 0)


def test_two_answers_inside_each_other_are_two_calls() -> None:
    assert counts(nested({"gen_ai.response.id": "r1"}, {"gen_ai.response.id": "r2"})) == (2, 0)


def test_the_inner_one_takes_what_only_the_outer_one_recorded() -> None:
    (run,) = runs_of(
        spans_of(
            agent(),
            llm(OUTER, ROOT, [msg("user", "hi")], [msg("assistant", "hello")], **{"gen_ai.response.id": "r1"}),
            span("POST", INNER, OUTER, at=1, attrs=BARE),
        )
    )

    (step,) = of_kind(run, "llm")
    assert step.keys[0].span_id == INNER
    assert step.output.state == "whole"
    assert (step.fields["model"], step.fields["params"]) == ("m-1", {"temperature": 0.0})
    assert step.fields["usage"] == {"input_tokens": 5, "output_tokens": 5}
    assert run.replayable == "full"


def test_two_spans_around_one_sdks_call_know_its_parameters_together() -> None:
    (run,) = runs_of(
        spans_of(
            agent(),
            llm(OUTER, ROOT, [msg("user", "hi")], [msg("assistant", "")], **{"gen_ai.response.id": "r1"}),
            span("POST", INNER, OUTER, at=1, attrs={**BARE, "gen_ai.request.max_tokens": 9}),
        )
    )

    assert of_kind(run, "llm")[0].fields["params"] == {"temperature": 0.0, "max_tokens": 9}


def test_a_failure_that_only_the_outer_one_put_into_words_is_the_inner_ones_too() -> None:
    failed = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini", "error.type": "not_found_error"}
    said = Span.Event(name="exception", attributes=kvs({"exception.type": "NotFoundError", "exception.message": "no"}))
    outer = {**failed, "error.type": "NotFoundError"}
    (run,) = runs_of(
        spans_of(
            agent(),
            span("chat", OUTER, ROOT, attrs=outer, status=Status(code=2), events=[said]),
            span("POST", INNER, OUTER, at=1, ms=5, attrs=failed, status=Status(code=2)),
        )
    )

    (step,) = of_kind(run, "llm")
    assert step.error is not None
    assert (step.error.type, step.error.message) == ("NotFoundError", "no")


def test_of_two_nested_spans_of_one_tool_call_the_outer_one_stands() -> None:
    mcp = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "f"}
    asked = msg("assistant", call("f", {"a": 1}, "c1"))
    (run,) = runs_of(
        spans_of(
            agent(),
            llm("00000000000000b1", ROOT, [msg("user", "q")], [asked]),
            tool("00000000000000c1", ROOT, "f", {"a": 1}, "x", id="c1", at=20),
            span("tools/call f", "00000000000000c2", "00000000000000c1", at=21, ms=5, attrs=mcp),
            llm(
                "00000000000000b2",
                ROOT,
                [msg("user", "q"), asked, msg("tool", answer("x", "c1"))],
                [msg("assistant", "")],
                at=40,
            ),
        )
    )

    assert counts(run) == (2, 1)
    assert of_kind(run, "tool")[0].keys[0].span_id == "00000000000000c1"


def test_a_tool_that_calls_itself_with_other_arguments_is_two_calls() -> None:
    (run,) = runs_of(
        spans_of(
            agent(),
            tool("00000000000000c1", ROOT, "f", {"n": 2}, "x", id=""),
            tool("00000000000000c2", "00000000000000c1", "f", {"n": 1}, "y", id="", at=1),
        )
    )

    assert counts(run) == (0, 2)


def test_a_retriever_inside_a_retriever_is_one_retrieval() -> None:
    def found(sid: str, parent: str, at: int) -> object:
        attrs = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "q"}
        return span("retrieval", sid, parent, at=at, attrs=attrs)

    (run,) = runs_of(
        spans_of(agent(), found("00000000000000c1", ROOT, 1), found("00000000000000c2", "00000000000000c1", 2))
    )

    assert len(of_kind(run, "retrieval")) == 1


def test_a_parent_that_never_came_is_noted_unless_it_lives_elsewhere() -> None:
    here, there = span("chat", OUTER, ROOT), span("chat", INNER, ROOT, flags=0x301)
    for one in (here, there):
        one.attributes.extend(agent().attributes)

    (run,) = runs_of(spans_of(here, there))

    assert [step.fields.get("missing_parent") for step in run.steps] == [ROOT, None]
