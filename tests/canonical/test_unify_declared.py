"""Unification with what declared classes leave behind, and with more than one key."""

import pytest

from runreel.canonical import Bindings, Mismatch, make_token, unify
from runreel.canonical.unify import whole_text
from runreel.values import Value

KEY, OTHER = b"k" * 32, b"o" * 32
CUSTOMER: Value = {"name": "Dana", "age": 41, "tags": ("a", None)}


def regulated(value: Value, key: bytes = KEY) -> str:
    return make_token(key, "REGULATED", whole_text(value))


@pytest.mark.parametrize("live", [CUSTOMER, '{"tags": ["a", null], "age": 41, "name": "Dana"}'])
def test_a_regulated_token_stands_for_a_whole_value_however_it_is_written(live: Value) -> None:
    found = unify({"c": regulated(CUSTOMER)}, {"c": live}, key=KEY)

    assert isinstance(found, Bindings)
    assert found.assumed == frozenset()
    assert [*found.tokens] == [regulated(CUSTOMER)]


@pytest.mark.parametrize("live", [{"name": "Eve"}, "Dana", None, ()])
def test_it_stands_for_no_other_value(live: Value) -> None:
    found = unify({"c": regulated(CUSTOMER)}, {"c": live}, key=KEY)

    assert isinstance(found, Mismatch)
    assert (found.path, found.reason) == ("/c", "token")


def test_without_a_key_it_is_assumed_and_holds_from_then_on() -> None:
    token = regulated(CUSTOMER)

    assert unify((token, token), (CUSTOMER, CUSTOMER)) == Bindings({token: whole_text(CUSTOMER)}, frozenset({token}))
    assert isinstance(unify((token, token), (CUSTOMER, {"name": "Eve"})), Mismatch)


@pytest.mark.parametrize("live", [CUSTOMER, "x", 5, None, True, "<WITHHELD:dropped>"])
def test_what_was_dropped_is_not_compared_and_binds_nothing(live: Value) -> None:
    assert unify({"c": "<WITHHELD:dropped>"}, {"c": live}, key=KEY) == Bindings()


def test_what_was_dropped_must_still_be_there() -> None:
    assert isinstance(unify({"c": "<WITHHELD:dropped>"}, {}), Mismatch)


def test_a_field_token_stands_for_exactly_its_value_blanks_included() -> None:
    token = make_token(KEY, "FIELD", " Dana ")

    assert isinstance(unify(token, " Dana ", key=KEY), Bindings)
    assert isinstance(unify(token, "dana", key=KEY), Mismatch)


def test_a_hash_is_proved_with_all_its_digits() -> None:
    token = make_token(KEY, "HASH", "Dana", 16)

    assert isinstance(unify(token, "Dana", key=KEY), Bindings)
    assert isinstance(unify(token, "Dane", key=KEY), Mismatch)


def test_a_token_of_an_older_key_is_proved_among_several() -> None:
    old = make_token(OTHER, "EMAIL", "a@x.org")
    new = make_token(KEY, "EMAIL", "a@x.org")

    found = unify((old, new), ("a@x.org", "a@x.org"), key=(KEY, OTHER))

    assert isinstance(found, Bindings)
    assert found.assumed == frozenset()
    assert isinstance(unify(old, "b@x.org", key=(KEY, OTHER)), Mismatch)
    assert isinstance(unify(old, "a@x.org", key=(KEY,)), Mismatch)
