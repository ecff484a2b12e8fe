"""What of two calls is compared, and what is left out."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.canonical import Bindings, Mismatch
from runreel.replay.unifying import Call, Rules, comparable, compare, not_compared, tokens_in, without_defaults
from runreel.replay.values import Entry, Returned
from runreel.semconv.secrets import is_secret
from tape_kit import ask_model, matcher, model, text, tool

RULES = Rules(None, is_secret)
VALUES = st.recursive(st.none() | st.integers() | st.text(max_size=4), lambda v: st.lists(v, max_size=3).map(tuple))


def test_a_retrieval_recorded_as_a_bare_query_is_compared_by_it():
    entry = Entry(0, "retrieval", "kb", "q", Returned(()))

    assert isinstance(compare(entry, Call("retrieval", "kb", {"query": "q"}), Bindings(), RULES), Bindings)
    assert compare(entry, Call("retrieval", "kb", {"query": "x"}), Bindings(), RULES) == Mismatch(
        "/query", "q", "x", "value"
    )


def test_a_retrieval_without_any_argument_is_another_one_than_one_with_a_query():
    entry = Entry(0, "retrieval", "kb", {"query": "q"}, Returned(()))

    assert isinstance(compare(entry, Call("retrieval", "kb", {}), Bindings(), RULES), Mismatch)


def test_messages_that_are_no_messages_are_left_as_they_are():
    assert comparable("text") == "text"
    assert comparable(("text", {"role": "user"})) == ("text", {"role": "user", "parts": None})


def test_only_model_requests_have_fields_that_are_not_compared():
    assert not_compared(Entry(0, "tool", "t", {}, Returned("")), Call("tool", "t", {"a": 1})) == ()


@given(st.dictionaries(st.sampled_from("abcd"), VALUES), st.dictionaries(st.sampled_from("abcd"), VALUES))
def test_leaving_defaults_out_never_hides_what_both_sides_say(recorded, live):
    left, right = without_defaults(recorded, live, {"a": 1, "b": None})

    shared = recorded.keys() & live.keys()
    assert {name: left[name] for name in shared} == {name: recorded[name] for name in shared}
    assert {name: right[name] for name in shared} == {name: live[name] for name in shared}
    assert (recorded.keys() - left.keys()) | (live.keys() - right.keys()) <= {"a", "b"}


def test_arguments_that_are_no_map_are_left_alone():
    assert without_defaults('{"a', {"a": 1}, {"a": 1}) == ('{"a', {"a": 1})


def test_tokens_are_found_in_every_text_and_in_names():
    value = {"<EMAIL_7f3a9c02>": ("call <PHONE_4239750b> or <CARD_67350c57>", 1, None), "x": b"<IP_3f5159af>"}

    assert tokens_in(value) == {"<EMAIL_7f3a9c02>", "<PHONE_4239750b>", "<CARD_67350c57>"}


# --- defaults


def test_an_argument_at_its_declared_default_says_no_more_than_none():
    defaults = {"units": "metric"}
    tape = matcher(tool(0, "w", {"city": "Oslo"}, ""), tool(1, "w", {"city": "Rome", "units": "metric"}, ""))

    assert tape.ask(Call("tool", "w", {"city": "Oslo", "units": "metric"}, defaults=defaults)).seq == 0
    assert tape.ask(Call("tool", "w", {"city": "Rome"}, defaults=defaults)).seq == 1


def test_an_argument_off_its_default_is_a_change():
    tape = matcher(tool(0, "w", {"city": "Oslo"}, ""))

    found = tape.ask(Call("tool", "w", {"city": "Oslo", "units": "imperial"}, defaults={"units": "metric"}))

    assert (found.type, found.path, found.now, found.was) == ("input_mismatch", "/units", "imperial", None)


# --- model requests


def test_a_changed_prompt_names_the_part():
    tape = matcher(model(0, (text("system", "v1"), text("user", "q"))))

    found = tape.ask(ask_model((text("system", "v2"), text("user", "q"))))

    assert (found.type, found.path) == ("input_mismatch", "/messages/0/parts/0/content")
    assert (found.was, found.now) == ("v1", "v2")


@pytest.mark.parametrize(
    ("recorded", "live", "path"),
    [
        ({"params": {"tool_choice": "auto"}}, {"params": {"tool_choice": "required"}}, "/params/tool_choice"),
        ({"params": {"temperature": 0}}, {"params": {"temperature": 0.2}}, "/params/temperature"),
        ({"params": {"temperature": 0}}, {"params": {}}, "/params/temperature"),
        ({"params": {"seed": 7}}, {"params": {"seed": 7, "temperature": 0}}, "/params/temperature"),
        ({"model": "gpt-4o"}, {"model": "gpt-5"}, "/model"),
        ({"tools": ({"name": "a"}, {"name": "b"})}, {"tools": ({"name": "b"}, {"name": "a"})}, "/tools/0/name"),
        ({"tools": ({"name": "a"},)}, {"tools": ()}, "/tools/0"),
    ],
)
def test_every_change_of_a_model_request_that_the_record_can_tell_is_a_divergence(recorded, live, path):
    tape = matcher(model(0, (text("user", "q"),), **recorded))

    found = tape.ask(ask_model((text("user", "q"),), **live))

    assert (found.type, found.path) == ("input_mismatch", path)


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ({"params": {"temperature": 0}}, {"params": {"temperature": 0.0}}),
        ({"params": {"stream": True, "seed": 1}}, {"params": {"seed": 1}}),
        ({"tools": None}, {"tools": ({"name": "a"},)}),
        ({"params": {}}, {"params": {"temperature": 1}}),
        ({"params": {"seed": 7}}, {"params": {"seed": 7, "parallel_tool_calls": True}}),
    ],
)
def test_what_the_record_cannot_tell_is_no_divergence(recorded, live):
    tape = matcher(model(0, (text("user", "q"),), **recorded))

    assert tape.ask(ask_model((text("user", "q"),), **live)).seq == 0


def test_what_could_not_be_compared_is_listed():
    tape = matcher(model(0, (), tools=None, params={"seed": 7}))

    tape.ask(ask_model((), tools=({"name": "a"},), params={"seed": 7, "logprobs": True}))

    assert list(tape.notes) == ["not compared, since the record does not hold it: tools, logprobs of model requests"]


def test_names_in_notes_and_divergences_hold_no_address():
    tape = matcher(model(0, (), params={"seed": 7}))

    tape.ask(ask_model((), params={"seed": 7, "dana@example.com": True}))
    tape.ask(replace(ask_model(()), name="ft:dana@example.com"))

    (extra,) = tape.divergences
    assert (extra.type, extra.name) == ("unrecorded_call", "…")
    assert "dana" not in "".join(tape.notes)


def test_a_message_with_an_empty_text_equals_one_without():
    recorded = {"role": "assistant", "parts": ({"type": "text", "content": ""}, {"type": "tool_call", "id": "1"})}
    live = {"role": "assistant", "parts": ({"type": "tool_call", "id": "1"},)}

    assert matcher(model(0, (recorded,))).ask(ask_model((live,))).seq == 0


# --- retrievals


@pytest.mark.parametrize("live", [{"query": "q"}, {"question": "q", "k": 5}, {"x": "q"}, "q"])
def test_a_retrieval_is_compared_by_its_query_whatever_the_function_calls_it(live):
    tape = matcher(Entry(0, "retrieval", "kb", {"query": "q", "top_k": 5}, Returned(())))

    assert tape.ask(Call("retrieval", "kb", live)).seq == 0


def test_a_retrieval_of_more_documents_is_a_change_where_both_say_how_many():
    tape = matcher(Entry(0, "retrieval", "kb", {"query": "q", "top_k": 5}, Returned(())))

    assert tape.ask(Call("retrieval", "kb", {"query": "q", "top_k": 6})).path == "/top_k"


@pytest.mark.parametrize("named", ["top_k", "k", "limit"])
@pytest.mark.parametrize(("recorded", "same"), [({"top_k": 3}, True), ({"top_k": 2}, False), ({}, False)])
def test_the_number_of_documents_that_is_passed_counts_and_not_its_default(recorded, same, named):
    entry = Entry(0, "retrieval", "kb", {"query": "q", **recorded}, Returned(()), instrumentation="runreel.record")
    call = Call("retrieval", "kb", {"query": "q", named: 3}, defaults={named: 2})

    assert isinstance(compare(entry, call, Bindings(), RULES), Bindings) is same
    assert isinstance(compare(entry, replace(call, request={"query": "q"}), Bindings(), RULES), Bindings) is (
        recorded != {"top_k": 3}
    )
