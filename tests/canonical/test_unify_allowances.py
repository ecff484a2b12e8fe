"""Tokens in escapes and in base64, and what a comparison lets pass."""

import base64

import pytest
from hypothesis import given

from canonical_values import VALUES
from runreel.canonical import Bindings, Mismatch, make_token, unify
from runreel.values import Value

KEY = b"k" * 32
DANA = "dana.fields@example.com"
DANA_TOKEN = make_token(KEY, "EMAIL", DANA)
OMAR = "omar@example.org"


@pytest.mark.parametrize(
    "written",
    [
        "dana.fields%40example.com",
        "dana.fields&#64;example.com",
        "dana.fields&commat;example.com",
        r"dana.fields\u0040example.com",
    ],
)
def test_a_token_stands_for_its_value_in_an_escape_too(written: str) -> None:
    found = unify(f"to={DANA_TOKEN}&next=1", f"to={written}&next=1", key=KEY)

    assert isinstance(found, Bindings)
    assert found.tokens == {DANA_TOKEN: DANA}


def test_an_escape_of_another_value_is_another_value() -> None:
    assert isinstance(unify(f"to={DANA_TOKEN}", "to=omar%40example.org", key=KEY), Mismatch)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("around", ["{}", "Basic {}", "data:text/plain;base64,{}", '{{"body": "{}"}}'])
def test_a_token_inside_base64_stands_for_its_value_in_the_live_base64(around: str) -> None:
    was, now = (around.format(_base64(f"mail to {who} today")) for who in (DANA_TOKEN, DANA))
    other = around.format(_base64(f"mail to {OMAR} today"))

    found = unify(was, now, key=KEY)

    assert isinstance(found, Bindings)
    assert found.tokens == {DANA_TOKEN: DANA}
    assert isinstance(unify(was, other, key=KEY), Mismatch)
    assert isinstance(unify(was, now + "x", key=KEY), Mismatch)


class Lets:
    """Lets pass what stands at some paths, and a live 7 for a recorded 5."""

    def __init__(self, *paths: str) -> None:
        self.paths, self.hidden = paths, list[str]()

    def hides(self, path: str) -> bool:
        if path in self.paths:
            self.hidden.append(path)
        return path in self.paths

    def as_recorded(self, path: str, was: Value, now: Value) -> Value:
        return 5 if now == 7 else now


def test_a_difference_that_is_let_pass_does_not_end_the_comparison() -> None:
    lets = Lets("/a", "/c/1", "/c/2", "/d")
    was, now = {"a": 1, "b": 5, "c": (1, 2), "d": 1, "e": 9}, {"a": "x", "b": 7, "c": (1, 3, 4), "e": 9}

    assert isinstance(unify(was, now, tolerance=lets), Bindings)
    assert lets.hidden == ["/a", "/c/1", "/c/2", "/d"]
    assert unify(was, {**now, "e": 10}, tolerance=lets) == Mismatch("/e", 9, 10, "value")
    assert unify(was, {**now, "f": 1}, tolerance=lets) == Mismatch("/f", None, 1, "added")


@given(VALUES, VALUES)
def test_whatever_is_let_pass_everywhere_unifies(was: Value, now: Value) -> None:
    class Everything(Lets):
        def hides(self, path: str) -> bool:
            return True

    assert isinstance(unify(was, now, tolerance=Everything()), Bindings)
