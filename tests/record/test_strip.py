import json

import pytest

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
