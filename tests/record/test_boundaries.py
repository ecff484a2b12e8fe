import asyncio
import json

import pytest

import runreel.record as rr
from record_kit import must_not_run, only, run_of
from runreel.record import _active
from runreel.record.convert import rebuild


@pytest.fixture
def tape(monkeypatch):
    """Put answers in place of bodies; return what was asked."""
    asked = []

    def answering(answer):
        class Tape:
            def call(self, kind, name, arguments, call_id, *, contract="", known=None):
                asked.append((kind, name, arguments))
                if known:
                    asked.append(known)
                return answer

        monkeypatch.setattr(_active, "current", Tape())
        return asked

    return answering


# --- shadow mode ------------------------------------------------------------------------------------------------------


def test_in_shadow_mode_the_stand_in_runs_and_the_record_says_so(spans):
    @rr.tool(side_effect=True, mode="shadow", shadow=lambda order: f"would cancel {order}")
    def cancel(order):
        must_not_run()

    assert cancel("A-1") == "would cancel A-1"
    assert only(spans).attributes["replay.tool.mode"] == "shadow"


def test_a_tool_that_says_live_is_recorded_as_live(spans):
    rr.tool(mode="live", shadow=must_not_run)(lambda order: order)("A-1")

    assert only(spans).attributes["replay.tool.mode"] == "live"


def test_shadow_mode_needs_something_to_run_of_the_same_sort():
    async def later(order):
        return order

    with pytest.raises(ValueError, match="needs `shadow`"):
        rr.tool(mode="shadow")
    with pytest.raises(TypeError, match="sync, async or a generator as that is"):
        rr.tool(mode="shadow", shadow=later)(lambda order: order)


# --- memories ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [None, "en", {"a": [1, 2.0, b"\x00\xff"]}, [], 0, "[1]", '{"type": "x"}'])
def test_what_a_memory_gave_comes_back_exactly(spans, value):
    rr.memory("profile", key="user")(lambda user: value)("u-1")

    run = run_of(spans)
    (step,) = run.steps
    assert (step.kind, step.name, step.fields["op"], step.fields["key"]) == ("memory", "profile", "search", "u-1")
    assert run.value(step.input) == {"user": "u-1"}
    answer = rebuild(run.value(step.output), step.fields["replay"])
    assert answer == _tuples(value)
    assert run.replayable == "full"


def _tuples(value):
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def test_a_write_is_recorded_with_what_was_written(spans):
    @rr.memory("profile", op="upsert")
    async def remember(user, facts):
        return None

    asyncio.run(remember("u-1", {"language": "de"}))

    run = run_of(spans)
    (step,) = run.steps
    assert (step.fields["op"], run.value(step.input)["facts"]) == ("upsert", {"language": "de"})
    assert only(spans).attributes["gen_ai.operation.name"] == "upsert_memory"


def test_in_a_replay_a_memory_is_asked_by_operation_and_arguments(tape):
    asked = tape(("a",))

    assert rr.memory("profile", op="delete")(must_not_run)("u-1") == ["a"]
    assert asked == [("memory", "profile", {"op": "delete", "arguments": {"_": ("u-1",)}})]


def test_operations_and_stores_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="'read' is nothing"):
        rr.memory("profile", op="read")
    with pytest.raises(ValueError, match="'flags' is the recorder's own"):
        rr.memory("flags")


# --- flags and prompts ------------------------------------------------------------------------------------------------


def test_a_flag_is_the_runs_by_its_name(spans):
    with rr.run():
        assert rr.flag("beta", lambda: True) is True
        assert rr.flag("limit", 7) == 7
        assert rr.flag("tiers", lambda: ["a"]) == ["a"]

    assert run_of(spans).flags == {"beta": True, "limit": 7, "tiers": '["a"]'}


def test_an_async_flag_and_an_async_prompt_are_awaited(spans):
    async def read():
        return "on"

    async def load():
        return "Plan.", "v7"

    async def agent():
        return await rr.flag("beta", read), await rr.prompt("planner", load)

    assert asyncio.run(agent()) == ("on", "Plan.")


def test_in_a_replay_a_flag_has_the_value_that_it_had(tape):
    asked = tape("off")

    assert rr.flag("beta", must_not_run) == "off"
    assert asked == [("memory", "flags", {"op": "search", "arguments": {"key": "beta"}})]


def test_a_flag_whose_source_fails_fails_as_it_always_does():
    with pytest.raises(ZeroDivisionError):
        rr.flag("beta", lambda: 1 / 0)


@pytest.mark.parametrize(
    ("source", "version", "recorded"),
    [
        (("Plan.", "v7"), "", "v7"),
        ("Plan.", "v8", "v8"),
        (("Plan.", "v7"), "v9", "v9"),
        ("Plan.", "", "sha256:11ae5794fafdc1d7"),
    ],
)
def test_a_prompt_is_recorded_with_its_content_and_version(spans, source, version, recorded):
    with rr.run():
        assert rr.prompt("planner", lambda: source, version=version) == "Plan."

    run = run_of(spans)
    (step,) = [step for step in run.steps if step.kind == "memory"]
    answer = rebuild(run.value(step.output), step.fields["replay"])
    assert answer["text"] == "Plan."
    assert run.prompt_versions["templates"] == {"planner": (recorded,)}
    assert answer["version"] == recorded


def test_in_a_replay_a_prompt_is_the_recorded_one_never_the_latest(tape):
    asked = tape({"text": "Plan, as it was.", "version": "v7"})

    assert rr.prompt("planner", must_not_run, version="v8") == "Plan, as it was."
    assert asked[1:] == [{"version": "v8"}]


@pytest.mark.parametrize(
    ("source", "version", "known"),
    [
        ("Plan.", "v7", [{"text": "Plan.", "version": "v7"}]),
        ("Plan.", "", [{"text": "Plan."}]),
        (must_not_run, "", []),
    ],
)
def test_in_a_replay_what_the_code_itself_says_of_a_prompt_is_told(tape, source, version, known):
    asked = tape({"text": "Plan, as it was.", "version": "v7"})

    assert rr.prompt("planner", source, version=version) == "Plan, as it was."
    assert asked[1:] == known


# --- decisions --------------------------------------------------------------------------------------------------------


def test_a_decision_has_a_type_what_was_chosen_the_options_and_a_reason(spans):
    with rr.run() as run:
        assert run.decide("route", {"to": "refund"}, options=["refund", "ask"], reason="paid", type="escalate") == {
            "to": "refund"
        }

    got = run_of(spans)
    (step,) = [step for step in got.steps if step.kind == "decision"]
    assert (step.name, got.value(step.output)) == ("route", '{"to":"refund"}')
    assert (step.fields["type"], step.fields["options"], step.fields["reason"]) == (
        "escalate",
        ("refund", "ask"),
        "paid",
    )


def test_a_decision_that_cannot_be_recorded_is_made_all_the_same(spans):
    chosen, before = object(), rr.losses().get("decision", 0)

    assert rr.decide("route", chosen) is chosen
    assert rr.losses()["decision"] == before + 1


# --- models -----------------------------------------------------------------------------------------------------------


def test_a_model_call_is_a_model_step_with_messages_tools_and_parameters(spans):
    tools = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]

    @rr.model("tiny-1", provider="own")
    def ask(messages, tools=None, temperature=None, style=None):
        return {"role": "assistant", "content": "yes", "score": 0.5}

    assert ask([{"role": "user", "content": "well?"}], tools, 0.5, style="terse")["score"] == 0.5

    run = run_of(spans)
    (step,) = run.steps
    assert (step.kind, step.name) == ("llm", "tiny-1")
    assert run.value(step.input)[0]["parts"][0]["content"] == "well?"
    assert run.value(step.output)[0]["parts"][0]["content"] == "yes"
    assert step.fields["params"] == {"temperature": 0.5, "style": "terse"}
    assert step.fields["tool_definitions"][0]["name"] == "look"
    assert rebuild(run.value(step.output), step.fields["replay"])["score"] == 0.5
    assert run.replayable == "full"


def test_a_streamed_answer_is_recorded_whole(spans):
    @rr.model("tiny-1")
    def ask(prompt):
        yield "so "
        yield "it goes"

    assert list(ask("well?")) == ["so ", "it goes"]
    assert json.loads(only(spans).attributes["gen_ai.output.messages"])[0]["parts"][0]["content"] == "so it goes"


def test_in_a_replay_a_model_is_asked_with_messages_as_the_record_has_them(tape):
    asked = tape("from the record")

    @rr.model("tiny-1")
    def ask(messages, model=None, seed=None):
        must_not_run()

    assert ask("hello", model="tiny-2", seed=7) == "from the record"
    ((kind, name, request),) = asked
    assert (kind, name, request["model"], request["params"]) == ("llm", "tiny-1", "tiny-2", {"seed": 7})
    assert request["messages"] == ({"role": "user", "parts": ({"type": "text", "content": "hello"},)},)
