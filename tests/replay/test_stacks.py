"""The causes of an exception are read out of the traceback that was recorded with it."""

import traceback

from runreel.replay.stacks import causes_in


def stack_of(raising):
    try:
        raising()
    except Exception:
        return traceback.format_exc()
    raise AssertionError


def chained():
    try:
        try:
            raise OSError(2, "No such file", "a.txt")
        except OSError as error:
            raise KeyError("two\nlines") from error
    except KeyError as error:
        raise ValueError("last") from error


def handled():
    try:
        raise OSError("lost")
    except OSError:
        raise ValueError("while handling")  # noqa: B904


def test_each_cause_has_its_type_and_its_text_nearest_first():
    assert list(causes_in(stack_of(chained))) == [
        ("KeyError", repr("two\nlines")),
        ("FileNotFoundError", "[Errno 2] No such file: 'a.txt'"),
    ]


def test_what_was_only_being_handled_is_no_cause():
    assert list(causes_in(stack_of(handled))) == []


def test_what_is_no_traceback_has_no_causes():
    assert list(causes_in("")) == []
    text = "no traceback\nThe above exception was the direct cause of the following exception:\nmore"
    assert list(causes_in(text)) == []


def test_an_exception_of_a_library_is_named_with_its_path():
    def raising():
        import json

        try:
            json.loads("{")
        except ValueError as error:
            raise RuntimeError("broken") from error

    ((kind, text),) = causes_in(stack_of(raising))

    assert kind == "json.decoder.JSONDecodeError"
    assert text.startswith("Expecting property name")
