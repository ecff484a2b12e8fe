"""A recorded and a live request are compared by what they ask, not by how an instrumentation spells it."""

import pytest

from runreel.canonical import Bindings
from runreel.replay.unifying import Rules
from runreel.replay.wire import forms
from runreel.semconv.secrets import is_secret

RULES = Rules(None, is_secret)
ANTHROPIC, GEMINI, RESPONSES = "anthropic.messages", "gemini", "openai.responses"


def text(content, **rest):
    return {"type": "text", "content": content, **rest}


def call(call_id="c1", **rest):
    return {"type": "tool_call", "id": call_id, "name": "f", "arguments": {"a": 1}, **rest}


def result(response, call_id="c1", **rest):
    return {"type": "tool_call_response", "id": call_id, "response": response, **rest}


def told(role, *parts):
    return {"role": role, "parts": parts}


def same(api, recorded, live):
    pair = forms.messages(api, recorded, live)
    return isinstance(RULES.unify(pair.recorded, pair.live, Bindings()), Bindings)


def test_what_the_live_request_says_more_is_left_out_and_named():
    image = {"type": "uri", "modality": "image", "uri": "https://images.example.com/a.png"}

    pair = forms.messages("", (told("user", image),), (told("user", {**image, "detail": "low"}),))

    assert pair.recorded == pair.live
    assert pair.skipped == {"detail"}


def test_what_the_record_says_more_is_a_difference():
    assert not same("", (told("user", text("a", mood="glad")),), (told("user", text("a")),))


def test_mime_types_are_compared_where_both_have_them():
    blob = {"type": "blob", "content": "eA=="}

    assert same("", (told("user", {**blob, "mime_type": "image/png"}),), (told("user", blob),))
    assert not same(
        "", (told("user", {**blob, "mime_type": "image/png"}),), (told("user", {**blob, "mime_type": "image/gif"}),)
    )


def test_a_status_that_only_a_frameworks_record_has_is_not_compared():
    assert same("openai.chat", (told("tool", result("no", status="error")),), (told("tool", result("no")),))


def test_blocks_of_text_are_one_text_where_an_api_is_told_one():
    blocks = ({"text": "cold"}, {"text": "windy"})

    assert same("openai.chat", (told("tool", result(blocks)),), (told("tool", result("cold\nwindy")),))
    assert not same("openai.chat", (told("tool", result(blocks)),), (told("tool", result("cold")),))
    assert not same("openai.chat", (told("tool", result(({"json": 1},))),), (told("tool", result("1")),))
    assert same("openai.chat", (told("tool", result(({"text": "a"},))),), (told("tool", result('[{"text": "a"}]')),))


def test_a_text_that_an_api_is_told_in_blocks_is_that_text():
    blocks = ({"type": "text", "text": "cold"},)

    assert same(ANTHROPIC, (told("tool", result("cold")),), (told("user", result(blocks)),))
    assert same(ANTHROPIC, (told("user", result(blocks)),), (told("user", result(blocks)),))
    assert same(ANTHROPIC, (told("tool", result(({"text": "cold"},))),), (told("user", result(blocks)),))
    assert not same(ANTHROPIC, (told("tool", result("warm")),), (told("user", result(blocks)),))


@pytest.mark.parametrize("api", ["openai.chat", ANTHROPIC, GEMINI])
def test_an_answer_in_two_messages_is_not_the_answer_in_one(api):
    assert not same(
        api, (told("assistant", text("a"), call()),), (told("assistant", text("a")), told("assistant", call()))
    )


def test_items_of_one_response_are_one_answer():
    recorded = (told("assistant", text("a"), call()),)

    assert same(RESPONSES, recorded, (told("assistant", text("a")), told("assistant", call())))
    assert not same(RESPONSES, recorded, (told("assistant", text("b")), told("assistant", call())))
    assert not same(RESPONSES, recorded, (told("user", text("a")), told("assistant", call())))


def test_reasoning_that_the_answer_was_recorded_without_is_not_compared():
    thinking = {"type": "reasoning", "content": "hm"}
    recorded, live = (told("assistant", text("a")),), (told("assistant", thinking, text("a")),)

    assert same("openai.chat", recorded, live)
    assert forms.messages("openai.chat", recorded, live).skipped == {"reasoning"}
    assert same(RESPONSES, live, recorded)
    assert not same("openai.chat", live, recorded)
    assert not same("openai.chat", live, (told("assistant", {**thinking, "content": "so"}, text("a")),))


@pytest.mark.parametrize("api", [ANTHROPIC, GEMINI])
def test_results_are_the_same_in_one_message_or_in_several(api):
    together = (told("user", result({"n": 1}), result({"n": 2}, "c2"), text("go on")),)
    apart = (told("tool", result({"n": 1})), told("tool", result({"n": 2}, "c2")), told("user", text("go on")))

    assert same(api, apart, together)
    assert not same(api, apart[::-1], together)


def test_gemini_results_recorded_as_bare_text_are_results():
    live = (told("user", result({"n": 1}, "", name="f")),)

    assert same(GEMINI, (told("tool", text('{"n": 1}')),), live)
    assert not same(GEMINI, (told("tool", text('{"n": 2}')),), live)


def test_gemini_calls_without_ids_match_ids_that_an_instrumentation_made_up():
    assert same(GEMINI, (told("assistant", call("f_0")),), (told("assistant", call("")),))
    assert same(GEMINI, (told("model", call("c1")),), (told("assistant", call("c1")),))
    assert not same(GEMINI, (told("assistant", call("c1")),), (told("assistant", call("c2")),))
    assert not same("openai.chat", (told("assistant", call("f_0")),), (told("assistant", call("")),))


def test_signatures_are_not_compared_where_the_record_has_none():
    thinking = {"type": "reasoning", "content": "hm"}

    assert same(ANTHROPIC, (told("assistant", thinking),), (told("assistant", {**thinking, "signature": "c2ln"}),))


def test_what_are_no_messages_is_left_as_it_is():
    assert forms.in_turns(GEMINI, "text") == "text"
    assert forms.in_turns(RESPONSES, ("text", told("assistant", text("a")))) == ("text", told("assistant", text("a")))
    assert forms.messages("", ("a",), ("a",)).live == ("a",)


# --- tools and models -------------------------------------------------------------------------------------------------

TOOL = {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}}


def same_tools(api, recorded, live):
    pair = forms.definitions(api, recorded, live)
    return isinstance(RULES.unify(pair.recorded, pair.live, Bindings()), Bindings)


def test_what_a_definition_says_more_than_its_record_is_named():
    pair = forms.definitions("", (TOOL,), ({**TOOL, "strict": True},))

    assert pair.recorded == pair.live
    assert pair.skipped == {"strict"}


@pytest.mark.parametrize("key", ["name", "description", "parameters"])
def test_a_changed_or_new_part_of_a_definition_is_a_difference(key):
    assert not same_tools("", (TOOL,), ({**TOOL, key: "other"},))
    assert not same_tools("", ({name: one for name, one in TOOL.items() if name != key}, TOOL), (TOOL, TOOL))


def test_schemas_that_no_definition_was_recorded_with_are_not_compared():
    bare = {"type": "function", "name": "f"}

    assert forms.definitions("", (bare,), ({**bare, "parameters": {}},)).skipped == {"parameters"}


def test_a_tool_of_the_provider_is_known_by_its_type_and_name():
    recorded = ({"type": "web_search", "name": "web_search"},)

    assert same_tools("", recorded, ({**recorded[0], "max_uses": 3},))
    assert not same_tools("", recorded, ({"type": "code", "name": "web_search"},))


def test_gemini_schemas_are_the_same_in_both_spellings_but_property_names_are_not_touched():
    def schema(key, name, most):
        return {**TOOL, "parameters": {"type": "OBJECT", "properties": {name: {"type": "STRING", key: most}}}}

    assert same_tools(GEMINI, (schema("max_length", "theCity", 4),), (schema("maxLength", "theCity", 4),))
    assert not same_tools(GEMINI, (schema("max_length", "theCity", 4),), (schema("maxLength", "the_city", 4),))
    assert not same_tools(GEMINI, (schema("max_length", "theCity", 4),), (schema("maxLength", "theCity", 5),))


def test_a_model_that_only_its_answer_names_is_compared_without_its_snapshot():
    assert forms.model("", "gpt-4o-2024-08-06", served=True) == forms.model("", "gpt-4o", served=True)
    assert forms.model("", "gpt-4o-mini-2024-07-18", served=True) != forms.model("", "gpt-4o", served=True)
    assert forms.model(GEMINI, "models/gemini-2.5-flash") == "gemini-2.5-flash"
    assert forms.model("", "gpt-4o-2024-08-06") == "gpt-4o-2024-08-06"
    assert forms.model("", None) is None


def test_the_name_of_a_tools_message_is_a_frameworks_own_and_is_not_compared():
    recorded = {**told("tool", result("ok")), "name": "search"}

    assert same("", (recorded,), (told("tool", result("ok")),))
    assert not same("", (recorded,), ({**told("tool", result("ok")), "name": "fetch"},))
    assert not same("", ({**told("user", text("hi")), "name": "dana"},), (told("user", text("hi")),))


def test_how_an_answer_in_the_history_ended_is_no_part_of_a_request():
    recorded = ({**told("assistant", call()), "finish_reason": "tool_call"},)

    assert same("", recorded, (told("assistant", call()),))


def test_arguments_that_are_no_json_are_the_same_however_a_framework_hands_them_back():
    def answer(arguments):
        return (told("assistant", {**call(), "arguments": arguments}),)

    assert same("", answer('{"city": "Lis'), answer({"INVALID_JSON": '{"city": "Lis'}))
    assert not same("", answer('{"city": "Lis'), answer({"INVALID_JSON": '{"city": "Osl'}))
    assert not same("", answer({"city": "Lis"}), answer({"INVALID_JSON": '{"city": "Lis'}))


def test_who_answered_is_told_as_not_compared_where_the_record_does_not_say():
    pair = forms.messages("", (told("assistant", call()),), ({**told("assistant", call()), "name": "helper"},))

    assert (pair.recorded, pair.skipped) == (pair.live, frozenset({"name"}))
    assert not same("", ({**told("assistant", call()), "name": "a"},), ({**told("assistant", call()), "name": "b"},))


@pytest.mark.parametrize("api", ["", "openai.chat", RESPONSES])
def test_results_that_a_framework_tells_in_one_message_are_those_that_an_api_is_told_one_by_one(api):
    framework = (told("user", result("a", "c1", name="f"), result("b", "c2", name="f"), text("and now?")),)
    wire = (told("tool", result("a", "c1")), told("tool", result("b", "c2")), told("user", text("and now?")))

    assert same(api, framework, wire)
    assert not same(api, framework, (*wire[:1], told("tool", result("changed", "c2")), *wire[2:]))
    assert forms.count(framework) == forms.count(wire) == len(wire)
    assert forms.count((told("assistant", call()), told("user", text("hi")), told("tool", result("a")))) == 3


def test_a_result_that_is_recorded_as_it_was_is_the_text_that_an_api_is_told():
    assert same("", (told("tool", result({"a": 1, "b": "x"})),), (told("tool", result('{"b": "x", "a": 1}')),))
    assert not same("", (told("tool", result({"a": 1})),), (told("tool", result('{"a": 2}')),))
    assert not same("", (told("tool", result({"a": 1})),), (told("tool", result("no json")),))


def test_managed_agents_that_a_record_of_smolagents_leaves_out_are_not_compared():
    tool = {"type": "function", "name": "f", "parameters": {"properties": {"a": {}}}}
    agent = {"type": "function", "name": "expert", "parameters": {"properties": {"task": {}, "additional_args": {}}}}
    oi = "openinference.instrumentation.smolagents 0.1.43"

    pair = forms.definitions("", (tool,), (tool, agent), oi)

    assert (pair.recorded, pair.skipped) == (pair.live, {"managed agents"})
    assert forms.definitions("", (tool,), (tool, {**tool, "name": "g"}), oi).live != (tool,)
    assert forms.definitions("", (tool,), (tool, agent), "something.else").live == (tool, agent)
    assert forms.definitions("", (tool, agent), (tool, agent), oi).skipped == frozenset()


def test_a_result_that_is_told_in_blocks_is_the_json_that_a_record_has_of_them():
    blocks = (told("tool", result(({"type": "input_text", "text": "cold"},))),)

    assert same(RESPONSES, (told("tool", result('[{"type": "input_text", "text": "cold"}]')),), blocks)
    assert not same(RESPONSES, (told("tool", result('[{"type": "input_text", "text": "warm"}]')),), blocks)
    assert not same(RESPONSES, (told("tool", result("cold")),), blocks)
