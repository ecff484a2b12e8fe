"""What a key or an item of a list in JSON says about the texts beside it."""

import json
from typing import Any

import pytest

from redaction import redact

V = "zq8Kp3vRw1Xy"


def redacted(value: Any) -> Any:
    return json.loads(redact(json.dumps(value)))


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"name": "X-Api-Key", "value": V}, {"name": "X-Api-Key", "value": "<SECRET:api-key>"}),
        ({"value": V, "name": "X-Api-Key"}, {"value": "<SECRET:api-key>", "name": "X-Api-Key"}),
        ({"value": "a" * 300, "name": "token"}, {"value": "<SECRET:token>", "name": "token"}),
        (
            [{"key": "password", "value": {"stringValue": V}}, {"key": "n", "value": {"stringValue": "x1y2"}}],
            [
                {"key": "password", "value": {"stringValue": "<SECRET:password>"}},
                {"key": "n", "value": {"stringValue": "x1y2"}},
            ],
        ),
        (
            {"value": {"stringValue": V}, "key": "password"},
            {"value": {"stringValue": "<SECRET:password>"}, "key": "password"},
        ),
        ([["x-api-key", "swordfish"], ["accept", "*/*"]], [["x-api-key", "<SECRET:api-key>"], ["accept", "*/*"]]),
        (["tool", "--password", V, "--x"], ["tool", "--password", "<SECRET:password>", "--x"]),
        ({"args": ["--api-key", V]}, {"args": ["--api-key", "<SECRET:api-key>"]}),
        (["mysql", f"-p{V}"], ["mysql", "-p<SECRET:password>"]),
    ],
)  # fmt: skip
def test_a_name_announces_its_value_wherever_it_stands(value: Any, left: Any) -> None:
    assert redacted(value) == left


@pytest.mark.parametrize(
    "value",
    [
        [{"name": "token", "id": 1}, {"name": "n", "value": "x1y2"}],
        [{"value": "x1y2", "n": 1}, {"name": "token"}],
        [{"name": "max_tokens", "value": "x1y2"}],
        {"name": "the password field", "value": "x1y2"},
        {"required": ["api_key", "model-2 x"]},
        ["password", "username"],
        {"name": "token", "value": None},
        {"name": "token", "other": {"value": "x1y2"}},
    ],
)
def test_names_of_other_things_and_of_other_objects_announce_nothing(value: Any) -> None:
    assert redacted(value) == value


def test_a_long_list_of_options_is_judged_to_its_end() -> None:
    words = ["--n", "1"] * 300 + ["--password", V] + ["x"] * 600 + ["--token", V]

    left = redacted(words)

    assert V not in left
    assert len(left) == len(words)
