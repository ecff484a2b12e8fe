"""A recorded exception is raised again: its type where it can be found, its text always."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.replay.boundaries.errors import revive_chain, revive_error


class NeedsMuchError(Exception):
    def __init__(self, message, *, request, response):
        super().__init__(message)


@pytest.mark.parametrize(
    ("name", "message", "kind"),
    [
        ("ValueError", "no", ValueError),
        ("builtins.ValueError", "no", ValueError),
        ("ValueError", "", ValueError),
        ("KeyError", "'city'", KeyError),
        ("KeyError", "\"unknown city 'Atlantis'\"", KeyError),
        ("KeyError", "not in quotes", KeyError),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/etc/app.toml'", FileNotFoundError),
        ("OSError", "[Errno 5] Input/output error", OSError),
        ("JSONDecodeError", "Unterminated string starting at: line 1 column 10 (char 9)", json.JSONDecodeError),
        ("json.decoder.JSONDecodeError", "Extra data: line 1 column 2 (char 1)", json.JSONDecodeError),
        ("UnicodeDecodeError", "'utf-8' codec can't decode byte 0xff in position 0", UnicodeDecodeError),
        ("NeedsMuchError", "refused", NeedsMuchError),
        ("ExceptionGroup", "several (2 sub-exceptions)", ExceptionGroup),
    ],
)
def test_the_type_and_the_text_are_the_recorded_ones(name, message, kind):
    error = revive_error(name, message)

    assert isinstance(error, kind)
    assert type(error).__name__ == name.rpartition(".")[2]
    assert str(error) == message


def test_of_several_loaded_classes_of_one_name_the_standard_librarys_is_meant():
    import requests

    error = revive_error("JSONDecodeError", "Extra data: line 1 column 2 (char 1)")

    assert issubclass(requests.exceptions.JSONDecodeError, json.JSONDecodeError)
    assert isinstance(error, json.JSONDecodeError)
    assert not isinstance(error, requests.exceptions.JSONDecodeError)


def test_an_error_revived_before_does_not_stand_in_the_way_of_the_next():
    message = "Expecting value: line 1 column 1 (char 0)"

    errors = [revive_error("JSONDecodeError", message) for _ in range(3)]

    assert all(isinstance(error, json.JSONDecodeError) for error in errors)
    assert [str(error) for error in errors] == [message] * 3


def test_an_os_error_has_its_number_and_file():
    error = revive_error("FileNotFoundError", "[Errno 2] No such file or directory: '/etc/app.toml'")

    assert (error.errno, error.filename) == (2, "/etc/app.toml")


@pytest.mark.parametrize(
    "name", ["Nowhere", "package_that_is_not_there.Nowhere", "SystemExit", "KeyboardInterrupt", ""]
)
def test_a_type_that_is_not_found_or_would_end_the_agent_becomes_an_exception_of_that_name(name):
    error = revive_error(name, "text")

    assert isinstance(error, Exception)
    assert type(error).__name__ == (name.rpartition(".")[2] or "Exception")
    assert str(error) == "text"


def test_the_namespace_of_the_function_decides_between_classes_of_one_name():
    here = type("TwiceError", (Exception,), {})
    there = type("TwiceError", (Exception,), {})

    assert type(revive_error("TwiceError", "x", {"TwiceError": there})) is there
    assert type(revive_error("TwiceError", "x")) not in (here, there)


@given(st.sampled_from(["ValueError", "KeyError", "OSError", "JSONDecodeError", "UnicodeDecodeError"]), st.text())
def test_any_text_survives(name, message):
    assert str(revive_error(name, message)) == message


class NeedsMoreError(RuntimeError):
    def __init__(self, used, limit):
        super().__init__(f"used {used} of {limit}")


def test_a_class_whose_constructor_wants_more_than_the_text_is_raised_itself():
    error = revive_error("NeedsMoreError", "used 7 of 5", globals())

    assert (type(error), str(error), error.args) == (NeedsMoreError, "used 7 of 5", ("used 7 of 5",))


def test_recorded_causes_are_chained_as_they_were():
    error = revive_chain("ValueError", "last", [("KeyError", "'two'"), ("OSError", "one")])

    assert (repr(error), repr(error.__cause__), repr(error.__cause__.__cause__)) == (
        "ValueError('last')",
        "KeyError('two')",
        "OSError('one')",
    )
    assert error.__cause__.__cause__.__cause__ is None


class Numbered(Exception):
    def __init__(self, used, limit):
        super().__init__(used, limit)
        self.limit = limit

    def __str__(self):
        return f"{self.args[0]} of {self.args[1]}"


def test_an_exception_is_made_with_its_recorded_arguments():
    error = revive_error(f"{__name__}.Numbered", "7 of 5", {f"{__name__}.Numbered": Numbered}, (7, 5))

    assert (type(error), error.args, error.limit) == (Numbered, (7, 5), 5)


def test_recorded_arguments_that_make_another_text_are_not_used():
    error = revive_error("ValueError", "the text", None, ("another",))

    assert (type(error), str(error)) == (ValueError, "the text")
