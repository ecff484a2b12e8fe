import json

import pytest

from otlp_build import ROOT, agent, call, llm, msg
from runreel.semconv import keys
from runreel.values import Outcome, Run, Span, Value
from span_kit import make_event, make_log, make_span, runs_of, spans_of

AGENT: dict[str, Value] = {"gen_ai.operation.name": "invoke_agent"}


def run_of(*spans: Span) -> Run:
    (run,) = runs_of(spans)
    return run


@pytest.mark.parametrize(
    ("attributes", "resource", "wanted"),
    [
        ({keys.AGENT_ID: "a", "gen_ai.agent.id": "b"}, {"service.name": "s"}, "a"),
        ({"gen_ai.agent.id": "b", "gen_ai.agent.name": "c"}, {"service.name": "s"}, "b"),
        ({"gen_ai.agent.name": "c"}, {"service.name": "s"}, "c"),
        ({}, {"service.name": "s", keys.AGENT_ID: "r"}, "r"),
        ({}, {"service.name": "s"}, "s"),
        ({}, {}, ""),
    ],
)
def test_an_agent_is_named_by_the_most_telling_of_its_names(
    attributes: dict[str, Value], resource: dict[str, Value], wanted: str
) -> None:
    assert run_of(make_span(AGENT | attributes, resource=resource)).agent_id == wanted


def test_a_sub_agent_does_not_give_the_run_its_name() -> None:
    root = make_span({"gen_ai.request.model": "m"}, span_id="00000000000000a1")
    below = make_span(AGENT | {"gen_ai.agent.name": "sub"}, span_id="00000000000000a2", parent_id="00000000000000a1")

    assert run_of(root, below).agent_id == "case"


@pytest.mark.parametrize(
    ("resource", "code", "source"),
    [
        ({"vcs.ref.head.revision": "0123abc", "service.version": "1.0+gitfffffff"}, "0123abc", "attribute"),
        ({keys.CODE_VERSION: "deadbee"}, "deadbee", "attribute"),
        ({"service.version": "0.1.0+gitabc1234"}, "abc1234", "service.version"),
        ({"service.version": "abc1234"}, "abc1234", "service.version"),
        ({"service.version": "1.4.2-5-gabc1234"}, "abc1234", "service.version"),
        ({"service.version": "1.4.2"}, None, None),
        ({"service.version": "2026.11.29"}, None, None),
        ({"service.version": "v20261129"}, None, None),
        ({"service.version": "1.0.20261129"}, None, None),
        ({}, None, None),
    ],
)
def test_the_commit_is_named_or_hides_in_the_services_version(
    resource: dict[str, Value], code: str | None, source: str | None
) -> None:
    versions = run_of(make_span(AGENT, resource=resource)).versions

    assert (versions.get("code_version"), versions.get("code_version_source")) == (code, source)


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, "ok"),
        ({"status": 2}, "error"),
        ({"status": 1}, "ok"),
        ({"attributes": AGENT | {keys.RUN_OUTCOME: "user_flagged"}, "status": 2}, "user_flagged"),
        ({"attributes": AGENT | {keys.RUN_OUTCOME: "whatever"}}, "ok"),
        ({"parent_id": "00000000000000ff"}, "aborted"),
        ({"parent_id": "00000000000000ff", "flags": 0x301}, "ok"),
    ],
)
def test_how_a_run_ended(fields: dict[str, object], wanted: Outcome) -> None:
    assert run_of(make_span(fields.pop("attributes", AGENT), **fields)).outcome == wanted  # type: ignore[arg-type]


def test_a_failed_step_below_a_root_that_went_on_is_no_failed_run() -> None:
    root = make_span(AGENT, span_id="00000000000000a1")
    failed = make_span(
        {"gen_ai.tool.name": "f", "error.type": "ValueError"},
        span_id="00000000000000a2",
        parent_id="00000000000000a1",
        status=2,
    )

    assert run_of(root, failed).outcome == "ok"


def test_what_was_asked_is_the_roots_last_user_message_else_the_first_requests() -> None:
    asked = [msg("user", "first"), msg("assistant", "yes?"), msg("user", "second")]
    inside = llm("00000000000000b1", ROOT, [msg("system", "s"), msg("user", "inner")], [msg("assistant", "x")])
    told = agent(**{"gen_ai.input.messages": json.dumps(asked)})

    (with_root,), (without,) = runs_of(spans_of(told, inside)), runs_of(spans_of(agent(), inside))

    assert with_root.value(with_root.user_input) == "second"
    assert without.value(without.user_input) == "inner"


def test_a_question_of_several_parts_stays_parts() -> None:
    picture = {"type": "blob", "modality": "image", "mime_type": "image/png", "content": "iVBORw0KGgo="}

    (run,) = runs_of(spans_of(llm("00000000000000b1", "", [msg("user", "what?", picture)], [msg("assistant", "x")])))

    assert run.value(run.user_input) == ({"type": "text", "content": "what?"}, picture)


def test_what_was_answered_is_the_last_answer_that_asks_for_no_tool() -> None:
    calls = [msg("assistant", "wait", call("f", {}))]
    (run,) = runs_of(
        spans_of(
            agent(),
            llm("00000000000000b1", ROOT, [msg("user", "q")], [msg("assistant", "answer")]),
            llm("00000000000000b2", ROOT, [msg("user", "q")], calls, at=40),
        )
    )

    assert run.value(run.final_output) == "answer"


def test_an_empty_answer_is_an_answer() -> None:
    (run,) = runs_of(spans_of(llm("00000000000000b1", "", [msg("user", "q")], [msg("assistant", "")])))

    assert run.final_output.state == "whole"
    assert run.value(run.final_output) == ""


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("just text", "just text"),
        ('{"order": 7, "at": {"$float": "NaN"}}', dict),
        ('[1, "two"]', (1, "two")),
        ("{not json", "{not json"),
    ],
)
def test_a_run_may_say_what_it_was_given_as_text_or_as_typed_json(said: str, wanted: object) -> None:
    run = run_of(make_span(AGENT | {keys.RUN_USER_INPUT: said, keys.RUN_FINAL_OUTPUT: said}))

    for found in (run.value(run.user_input), run.value(run.final_output)):
        assert isinstance(found, dict) if wanted is dict else found == wanted


def test_prompts_are_named_by_version_and_by_their_content() -> None:
    first = {"gen_ai.prompt.name": "planner", "gen_ai.prompt.version": "v7"}
    second = {"gen_ai.prompt.name": "planner", keys.PROMPT_VERSION: "v8"}
    system = [msg("system", "Be brief."), msg("user", "q")]
    (run,) = runs_of(
        spans_of(
            agent(),
            llm("00000000000000b1", ROOT, system, [msg("assistant", "x")], **first),
            llm("00000000000000b2", ROOT, system, [msg("assistant", "x")], at=20, **second),
        )
    )

    assert run.prompt_versions["templates"] == {"planner": ("v7", "v8")}
    assert isinstance(run.prompt_versions["fingerprints"], tuple)
    assert len(run.prompt_versions["fingerprints"]) == 1


def test_feature_flags_come_from_our_attributes_and_from_evaluation_events() -> None:
    event = make_event("feature_flag.evaluation", feature_flag__key="new_ui", feature_flag__result__variant="on")
    span = make_span(AGENT | {f"{keys.FLAG_PREFIX}limit": 3}, events=(event,))

    assert run_of(span).flags == {"new_ui": "on", "limit": 3}


def test_what_ran_is_kept_so_that_it_can_be_started_again() -> None:
    resource: dict[str, Value] = {
        "service.name": "s",
        "process.command_args": ("python", "agent.py"),
        "cloud.region": "x",
        keys.AGENT_ENTRY: "agent:main",
    }

    run = run_of(make_span(AGENT | {keys.RUN_SEED: 41}, resource=resource))

    assert run.service == {
        "service.name": "s",
        "process.command_args": ("python", "agent.py"),
        keys.AGENT_ENTRY: "agent:main",
        keys.RUN_SEED: 41,
    }


def test_user_conversation_and_replayed_run_are_found_wherever_they_stand() -> None:
    root = make_span(AGENT | {keys.OF_RUN: "run-0"}, span_id="00000000000000a1")
    below = make_span(
        {"gen_ai.request.model": "m", "session.id": "s-1"}, span_id="00000000000000a2", parent_id="00000000000000a1"
    )
    log = make_log({"user.id": "<USER_7f3a9c02>"}, "00000000000000a2")

    (run,) = runs_of([root, below], [log])

    assert (run.replay_of, run.conversation_id, run.user_ref) == ("run-0", "s-1", "<USER_7f3a9c02>")


def test_what_was_read_before_the_first_turn_is_nothing_that_was_asked_or_answered() -> None:
    read = {
        "gen_ai.operation.name": "search_memory",
        keys.MEMORY_STORE: "mcp",
        keys.MEMORY_INPUT: '{"request": "tools/list"}',
        keys.MEMORY_OUTPUT: '{"tools": []}',
    }
    turn = llm("00000000000000b2", "", [msg("user", "why?")], [msg("assistant", "so.")], at=50)

    run = run_of(make_span(read), *spans_of(turn))

    assert [step.kind for step in run.steps] == ["memory", "llm"]
    assert (run.value(run.user_input), run.value(run.final_output)) == ("why?", "so.")
