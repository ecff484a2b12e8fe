"""What of two calls is compared, and what is left out."""

from hypothesis import given
from hypothesis import strategies as st

from runreel.canonical import Bindings, Mismatch
from runreel.replay.unifying import Call, Rules, comparable, compare, not_compared, tokens_in, without_defaults
from runreel.replay.values import Entry, Returned
from runreel.semconv.secrets import is_secret

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
