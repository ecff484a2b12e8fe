"""Something done again and again in a thread, whatever goes wrong with it."""

import threading

import pytest

from collector_kit import until
from runreel.collector.regularly import Regularly
from runreel.errors import StoreError


def test_what_fails_is_done_again_and_said_once_until_it_worked(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []

    def look() -> None:
        done.append(1)
        if len(done) < 4 or 5 < len(done) < 9:
            raise StoreError("away")

    looking = Regularly(look, 0.001, name="looking", failing="it cannot be looked at")
    looking.start()
    until(lambda: len(done) > 11)
    looking.stop()
    looking.stop()

    assert caplog.text.count("it cannot be looked at") == 2


def test_it_is_done_at_once_or_after_a_while() -> None:
    first, never = threading.Event(), threading.Event()
    at_once = Regularly(first.set, 3600, name="one", failing="-", at_once=True)
    later = Regularly(never.set, 3600, name="two", failing="-")
    for one in (later, at_once):
        one.start()

    assert first.wait(30)
    for one in (later, at_once):
        one.stop()
    assert not never.is_set()


def test_what_never_started_stops() -> None:
    Regularly(lambda: None, 1, name="one", failing="-").stop()
