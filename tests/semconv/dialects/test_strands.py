import pytest

from runreel.semconv.reading import dialect_of, read
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import captured_run, counts, make_event, make_span, of_kind, runs_of, sample

SCOPE = "strands.telemetry.tracer"


@pytest.mark.parametrize(
    "attributes",
    [{"gen_ai.system": "strands-agents"}, {"gen_ai.provider.name": "strands-agents"}, {"event_loop.cycle_id": "c"}],
)
def test_it_is_known_by_its_scope_or_its_keys(attributes: dict[str, Value]) -> None:
    assert dialect_of(View(make_span({}, scope=SCOPE))).name == "strands"
    assert dialect_of(View(make_span(attributes))).name == "strands"


@pytest.mark.parametrize("carrier", ["legacy", "latest", "attrs"])
def test_all_three_carriers_hold_the_same_run(carrier: str) -> None:
    (run,) = runs_of(*sample(f"strands/agent-{carrier}"))
    (other,) = runs_of(*sample("strands/agent-attrs"))

    assert counts(run) == (2, 1)
    assert run.replayable == "full"
    assert (run.agent_id, run.conversation_id, run.user_ref) == ("weather_agent", "sess-1", "u-1")
    for ours, theirs in zip(of_kind(run, "llm"), of_kind(other, "llm"), strict=True):
        assert run.value(ours.output) == other.value(theirs.output)
        assert said(run.value(ours.input)) == said(other.value(theirs.input))
        assert ours.fields["usage"] == {"input_tokens": 50, "output_tokens": 10, "cache_read": 16}
    (tool,) = of_kind(run, "tool")
    assert run.value(tool.input) == {"location": "Paris"}
    assert run.value(tool.output) == '{"temp_f": 57, "sky": "rain"}'


def said(messages: Value) -> list[Value]:
    """The messages without what only Bedrock's blocks have: a status on results, and roles of their own."""
    assert isinstance(messages, tuple)
    parts = [part for one in messages for part in one["parts"]]
    return [{key: value for key, value in part.items() if key != "status"} for part in parts]


@pytest.mark.parametrize("name", ["default", "latest-experimental"])
def test_a_result_is_what_stands_in_its_only_block_on_the_span_and_in_the_next_request(name: str) -> None:
    run = captured_run(f"strands/{name}")
    told = [part for one in of_kind(run, "llm") for message in run.value(one.input) for part in message["parts"]]
    results = [part["response"] for part in told if part["type"] == "tool_call_response"]

    assert results[:2] == [run.value(one.output) for one in of_kind(run, "tool")[:2]]
    assert results[0].startswith('{"city": "Lisbon"')


@pytest.mark.parametrize(
    ("blocks", "result"),
    [
        ('[{"json": {"temp_c": -3}}]', {"temp_c": -3}),
        ('[{"text": "a"}, {"text": "b"}]', ({"text": "a"}, {"text": "b"})),
        ('[{"image": {"format": "png"}}]', ({"image": {"format": "png"}},)),
        ("[]", ()),
    ],
)
def test_a_result_of_other_blocks(blocks: str, result: Value) -> None:
    event = make_event("gen_ai.choice", message=blocks, id="t")
    found = read(View(make_span({"gen_ai.tool.name": "f"}, scope=SCOPE, events=(event,))))

    assert found.output.value == result


@pytest.mark.parametrize("name", ["default", "latest-experimental"])
def test_the_weather_is_three_model_calls_and_three_tool_calls(name: str) -> None:
    run = captured_run(f"strands/{name}")

    assert counts(run) == (3, 3)
    assert run.replayable == "full"
    assert all(step.fields["pairing"] == "call_id" for step in of_kind(run, "tool"))


def test_the_agents_sum_of_usage_and_the_cycles_are_no_model_calls() -> None:
    run = captured_run("strands/default")
    usage = [step.fields["usage"]["input_tokens"] for step in of_kind(run, "llm")]

    assert sum(usage) == 693
    assert all("usage" not in step.fields for step in of_kind(run, "agent"))


def test_a_frameworks_name_is_no_provider() -> None:
    found = read(View(make_span({"gen_ai.operation.name": "chat", "gen_ai.system": "strands-agents"}, scope=SCOPE)))

    assert "provider" not in found.fields


def test_texts_that_are_no_blocks_are_texts() -> None:
    event = make_event("gen_ai.choice", message="All done.\n", finish_reason="end_turn")
    odd = make_event("gen_ai.user.message", content='{"text": "an object, not blocks"}')
    bare = make_event("gen_ai.user.message")
    chat: dict[str, Value] = {"gen_ai.operation.name": "chat"}

    whole = read(View(make_span(chat, scope=SCOPE, events=(odd, event))))
    lacking = read(View(make_span(chat, scope=SCOPE, events=(bare,))))

    assert whole.output.value == (
        {"role": "assistant", "parts": ({"type": "text", "content": "All done.\n"},), "finish_reason": "stop"},
    )
    assert whole.input.value == (
        {"role": "user", "parts": ({"type": "text", "content": '{"text": "an object, not blocks"}'},)},
    )
    assert lacking.input.state == "withheld"


def test_old_and_new_spellings_of_cache_tokens() -> None:
    for key in ("cache_write_input_tokens", "cache_creation.input_tokens", "cache_write.input_tokens"):
        span = make_span({"gen_ai.operation.name": "chat", f"gen_ai.usage.{key}": 4}, scope=SCOPE)
        assert read(View(span)).fields["usage"] == {"cache_write": 4}


def test_a_search_in_memory() -> None:
    found = read(View(make_span({"gen_ai.operation.name": "memory.search"}, scope=SCOPE)))

    assert (found.kind, found.fields["op"]) == ("memory", "search")


def test_arguments_that_no_model_wrote_as_json_stay_text() -> None:
    event = make_event("gen_ai.tool.message", role="tool", content='{"location": ', id="t")
    found = read(View(make_span({"gen_ai.tool.name": "f"}, scope=SCOPE, events=(event,))))

    assert (found.input.value, found.input.state) == ('{"location": ', "whole")
