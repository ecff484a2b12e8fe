"""What a swapped function returns and raises is what it used to."""

import functools
from dataclasses import dataclass

import pytest

from runreel.errors import DivergedError
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.functions import FailedError


class Tape:
    """Answers with one value, or raises one error; keeps what it was asked."""

    def __init__(self, value=None, error=None):
        self.value, self.error, self.asked = value, error, []

    def call(self, kind, name, arguments, *, call_id="", defaults=None):
        self.asked.append((kind, name, arguments, call_id))
        if self.error is not None:
            raise self.error
        return self.value


def answering(function, value=None, error=None):
    tape = Tape(value, error)
    functions.connect(tape)
    functions.swap(function, "tool", function.__name__)
    return tape


class OwnError(Exception):
    """An error of the agent's."""


def test_text_is_read_as_json_unless_the_function_says_that_it_is_text():
    def untold(city):
        raise AssertionError

    def text(city) -> str:
        raise AssertionError

    def text_in_quotes(city) -> "str":
        raise AssertionError

    for function, want in ((untold, {"a": 1}), (text, '{"a": 1}'), (text_in_quotes, '{"a": 1}')):
        answering(function, '{"a": 1}')
        assert function("x") == want


def test_a_dataclass_comes_back_by_the_annotation():
    @dataclass
    class Order:
        number: int

    def find(number) -> Order:
        raise AssertionError

    answering(find, '{"number": 7}')

    assert find(7) == Order(7)


def test_a_recorded_error_is_raised_again_with_its_text_and_no_trace_of_the_replay():
    def get(city):
        raise AssertionError

    answering(get, error=FailedError("KeyError", "\"unknown city 'Atlantis'\""))

    with pytest.raises(KeyError) as caught:
        get("Atlantis")

    assert f"{type(caught.value).__name__}: {caught.value}" == "KeyError: \"unknown city 'Atlantis'\""
    assert caught.value.__context__ is None


def test_an_error_class_of_the_tools_own_module_is_found():
    def get(city):
        raise AssertionError

    answering(get, error=FailedError("OwnError", "no"))

    with pytest.raises(OwnError, match=r"^no$"):
        get("x")


def test_a_divergence_reaches_the_agent_as_it_is():
    def get(city):
        raise AssertionError

    answering(get, error=DivergedError("not recorded"))

    with pytest.raises(DivergedError):
        get("x")


def test_the_call_id_is_taken_from_the_current_span():
    from opentelemetry.sdk.trace import TracerProvider

    def get(city):
        raise AssertionError

    tape = answering(get, "1")
    tracer = TracerProvider().get_tracer("test")

    with tracer.start_as_current_span("execute_tool get", attributes={"gen_ai.tool.call.id": "call_7"}):
        get("x")
    get("y")

    assert [call_id for _, _, _, call_id in tape.asked] == ["call_7", ""]


def test_arguments_that_json_has_no_form_for_are_asked_about_by_their_text():
    class Session:
        def __str__(self):
            return "session"

    def get(session, when={1}):  # noqa: B006
        raise AssertionError

    tape = answering(get, "1")

    get(Session())

    assert tape.asked[0][2] == {"session": "session", "when": (1,)}


def test_a_wrapper_of_functools_is_looked_through():
    def get(city):
        raise AssertionError

    cached = functools.lru_cache(get)
    functions.connect(Tape("5"))
    functions.swap(cached, "tool", "get")

    assert cached("x") == 5
