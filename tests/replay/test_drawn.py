"""Ids, numbers and times that a replay drew anew stand for what the record has in their place, and for nothing else."""

import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.canonical import Bindings, Mismatch, unify
from runreel.replay.drawn import Drawn, Trial

START = 1_764_000_000_000_000_000
OLD, NEW = "6f9619ff-8b86-4011-b42d-00cf4fc964ff", "0e984725-c51c-4bf4-9960-e1c80e27aba0"
OTHER = "11111111-2222-4333-8444-555555555555"


def drawn(*draws):
    out = Drawn(START, START + 5_000_000_000, since=1000.0, now=lambda: 1010.0)
    for kind, value in draws:
        out.add(kind, value)
    return out


class Passing:
    """Only what was drawn is let pass."""

    def __init__(self, state):
        self.trial = Trial(state)

    def hides(self, path):
        return False

    def as_recorded(self, path, was, now):
        return self.trial.as_recorded(path, was, now)


def same(was, now, state):
    """Compare, and keep what a comparison that succeeds assumed."""
    passing = Passing(state)
    found = unify(was, now, tolerance=passing)
    if isinstance(found, Bindings):
        state.keep(passing.trial)
    return isinstance(found, Bindings)


@pytest.mark.parametrize(
    "form", [str, lambda one: one.hex, lambda one: f"order-{one}/new", lambda one: str(one).upper()]
)
def test_an_id_that_was_drawn_stands_for_the_recorded_one_in_any_form(form):
    state = drawn(("uuid", NEW))

    assert same({"id": form(uuid.UUID(OLD))}, {"id": form(uuid.UUID(NEW))}, state)
    assert list(state.assumed)


def test_an_id_that_was_not_drawn_is_another_one():
    assert not same({"id": OLD}, {"id": NEW}, drawn())


def test_one_drawn_id_stands_for_one_recorded_id_in_the_whole_run():
    state = drawn(("uuid", NEW), ("uuid", OTHER))

    assert same(OLD, NEW, state)
    assert same(f"again {OLD}", f"again {NEW}", state)
    assert not same(OLD, OTHER, state)
    assert not same("7" + OLD[1:], NEW, state)


@given(st.lists(st.uuids(version=4), min_size=4, max_size=12, unique=True))
def test_ids_in_the_same_places_unify_and_in_other_places_do_not(ids):
    half = len(ids) // 2
    was, now = [str(one) for one in ids[:half]], [str(one) for one in ids[half : 2 * half]]
    draws = [("uuid", one) for one in now]

    assert same((*was, *was), (*now, *now), drawn(*draws))
    assert not same((*was, *was), (*now, *reversed(now)), drawn(*draws))


def test_random_numbers_and_bytes_stand_for_the_recorded_ones():
    state = drawn(("random", 0.25), ("random", 171717), ("bytes", "deadbeef"))

    assert same({"p": 0.75, "n": 424242, "nonce": "cafe0123"}, {"p": 0.25, "n": 171717, "nonce": "deadbeef"}, state)
    assert not same({"p": 0.75}, {"p": 0.26}, state)


@pytest.mark.parametrize(("kind", "value", "was"), [("random", 3, 5), ("random", "ab", "cd"), ("random", True, False)])
def test_what_is_in_any_request_is_taken_for_no_draw(kind, value, was):
    assert not same({"count": was}, {"count": value}, drawn((kind, value)))


@pytest.mark.parametrize(
    ("kind", "value", "was"),
    [
        ("uuid", NEW, "alpha"),
        ("uuid", NEW, "<EMAIL_0badc0de>"),
        ("uuid", NEW, OLD.replace("-", "")),
        ("bytes", "deadbeef", "A-1042"),
        ("bytes", "deadbeef", "deadbeef00"),
        ("random", 0.53, 100),
        ("random", 0.53, 100.0),
        ("random", 5_123_456_789, 100),
        ("random", 5_123_456_789, 4900),
    ],
)
def test_a_recorded_value_of_another_form_was_no_draw(kind, value, was):
    assert not same({"to": was}, {"to": value}, drawn((kind, value)))


@pytest.mark.parametrize(("kind", "value", "was"), [("uuid", NEW, "<PHONE_0badc0de>"), ("random", "bravo!", "charly")])
def test_a_token_of_digits_and_a_picked_text_may_have_been_drawn(kind, value, was):
    assert same({"to": was}, {"to": value}, drawn((kind, value)))


@pytest.mark.parametrize("now", [10**400, -(10**400), -float("inf"), f"for {10**400}", "7" * 5000, f"1{'0' * 9}.0e999"])
@pytest.mark.parametrize("was", [1, 1.5, float("inf"), float("nan"), "for 1", "1.0"])
def test_numbers_that_no_clock_shows_are_just_others(was, now):
    assert not same({"n": was}, {"n": now}, drawn(("random", 0.25)))


def iso(seconds):
    return datetime.fromtimestamp(START / 1e9 + seconds, UTC).isoformat()


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (iso(1.5), iso(0)),
        (f"It is {iso(2)}.", f"It is {iso(1)}."),
        (iso(1)[:19], iso(0)[:19]),
        (START / 1e9 + 1.25, START / 1e9),
        (START // 10**9, START // 10**9 + 2),
        (f"at {START // 10**6} ms", f"at {START // 10**6 + 7} ms"),
        (START, START + 5),
    ],
)
def test_times_inside_the_run_stand_for_each_other(was, now):
    state = drawn()

    assert same({"at": was}, {"at": now}, state)
    assert list(state.assumed) == ["time of the clock"]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (iso(1), iso(7200)),
        (iso(-86400), iso(0)),
        (iso(1), "no time"),
        (iso(1), iso(1)[:10]),
        (START // 10**9, START // 10**9 + 7200),
        (f"buy {iso(1)}", f"sell {iso(0)}"),
        (4900, 4800),
        (True, 1),
    ],
)
def test_other_times_and_numbers_do_not(was, now):
    assert not same({"at": was}, {"at": now}, drawn())


def test_a_value_of_a_monotonic_clock_or_a_process_id_is_told():
    state = drawn()
    state.pids.add(4711)
    passing = Passing(state)

    found = unify(
        {"started": 17.25, "tmp": "/tmp/9-a", "same": 1},
        {"started": 1004.5, "tmp": "/tmp/4711-a", "same": 1},
        tolerance=passing,
    )

    assert isinstance(found, Bindings)
    assert [(path, why) for path, _, _, why in passing.trial.volatile] == [
        ("/started", "monotonic clock"),
        ("/tmp", "process id"),
    ]


def test_a_token_beside_a_drawn_id_is_still_compared():
    state = drawn(("uuid", NEW))
    token = "<EMAIL_0badc0de>"

    assert same(f"{token} {OLD}", f"dana@example.com {NEW}", state)
    assert isinstance(unify(f"{token} {OLD}", f"dana {NEW}", tolerance=Passing(state)), Mismatch)
