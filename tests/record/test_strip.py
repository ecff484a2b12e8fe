import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.record import strip
from runreel.record.strip import attribute, command_line, to_json, without_secrets

KEY = "sk-test-51HxFAKE0000000000000000"
MARK = "<SECRET:openai-key>"


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ({"password": "hunter2"}, {"password": "<SECRET:password>"}),
        ({"api_key": KEY}, {"api_key": "<SECRET:openai-key>"}),
        ({"note": (f"key {KEY}.",)}, {"note": ("key <SECRET:openai-key>.",)}),
        ({"password": ""}, {"password": ""}),
        ({"password": "<SECRET:password>"}, {"password": "<SECRET:password>"}),
        ({"max_tokens": "256", "total": 12, "raw": b"x"}, {"max_tokens": "256", "total": 12, "raw": b"x"}),
        ("nothing to hide", "nothing to hide"),
        ({KEY: 1, f"{KEY}1": 2}, {"<SECRET:openai-key>": 1, "<SECRET:openai-key>#2": 2}),
        (
            {"password": ("a", {"old": "b"}, 7, ())},
            {"password": ("<SECRET:password>", {"old": "<SECRET:password>"}, "<SECRET:password>", ())},
        ),
        ({"token": {"type": "string", "description": KEY}}, {"token": {"type": "string", "description": MARK}}),
        ({"pwd": 1234, "secret": True, "token": None}, {"pwd": "<SECRET:password>", "secret": True, "token": None}),
        (f"key {KEY}".encode(), b"key <SECRET:openai-key>"),
        ({"password": b"x"}, {"password": b"<SECRET:password>"}),
        (b"\xff" + KEY.encode(), b"\xff" + KEY.encode()),
        (("tool", "--password", "hunter2", 5), ("tool", "--password", "<SECRET:password>", 5)),
        (("mysql", "-phunter2", "db"), ("mysql", "-p<SECRET:password>", "db")),
        ((("x-api-key", "hunter2"),), (("x-api-key", "<SECRET:api-key>"),)),
        (("--token", MARK), ("--token", MARK)),
    ],
)
def test_secrets_go_and_everything_else_stays(value, clean):
    assert without_secrets(value) == clean


def test_json_stays_json():
    assert json.loads(to_json({"env": (f"API_KEY={KEY}",), "n": 1})) == {"env": ["API_KEY=<SECRET:openai-key>"], "n": 1}


def test_a_command_line_loses_what_an_option_announces():
    given = ["agent.py", "--api-key", "abc", "--name", "abc", f"--x={KEY}", "--verbose", "--password"]

    clean = ["agent.py", "--api-key", "<SECRET:api-key>", "--name", "abc", "--x=<SECRET:openai-key>"]
    assert command_line(given) == [*clean, "--verbose", "--password"]


@pytest.mark.parametrize(
    ("name", "value", "clean"),
    [
        ("url.full", "https://h/x?sig=Qm9ndXNTaWduYXR1cmVWYWx1ZTEyMw%3D%3D&a=1", None),
        ("http.request.header.authorization", ["Bearer q8Zr2LmV0TnB7wXcY4KdPq"], None),
        ("body", '{"password": "correct-horse-81Tq", "n": 1.0}', '{"password":"<SECRET:password>","n":1.0}'),
        ("nested", {"password": "correct-horse-81Tq", "n": 1}, {"password": "<SECRET:password>", "n": 1}),
    ],
)
def test_an_attribute_of_any_instrumentation_loses_its_secrets_alone(name, value, clean):
    found = attribute(name, value)

    assert "<SECRET:" in str(found)
    assert type(found) is type(value)
    assert clean is None or found == clean


@pytest.mark.parametrize(
    "value", ["plain", '{"n": 1.0,  "a": [1]}', "{no json", "[1, 2", 7, 1.5, True, ["a", "b"], (1, 2), {"a": [None]}]
)
def test_an_attribute_without_secrets_stays_itself(value):
    assert attribute("any", value) is value


LONG = "a line of the history that is sent again and again, with nothing in it that is to be hidden from anybody. "


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30), st.integers(1, 3))
def test_texts_that_come_again_are_given_back_as_the_first_time(texts, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strip, "_MOST_CLEAN", most)
        for number, hides in texts:
            text = f"{LONG * number}{number} \ud800"

            assert without_secrets(f"{text} {KEY} {text}" if hides else text) == (
                f"{text} {MARK} {text}" if hides else text
            )


def test_what_is_known_of_texts_is_bounded_and_not_the_texts():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strip, "_MOST_CLEAN", 10)
        strip._clean.clear()
        for number in range(25):
            without_secrets(f"{LONG}{number}")

    assert 0 < len(strip._clean) <= 10
    assert all(len(known) == 32 for known in strip._clean)
