import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redaction import redact, redactor
from runreel.processors.redact.budget import Budget
from runreel.processors.redact.edits import apply
from runreel.processors.redact.search import Search, Spot
from runreel.processors.redact.suppress import NO_CONTEXT

PLAIN = "bob@example.com"


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (
            {"cmd": 'curl -H "Authorization: Bearer tok_0123456789abcdef" "http://svc.example.com"'},
            {"cmd": 'curl -H "Authorization: Bearer <SECRET:authorization>" "http://svc.example.com"'},
        ),
        ({"log": f"line1\n{PLAIN}\nline3"}, {"log": "line1\n{}\nline3"}),
        ({"log": f"a\t{PLAIN}"}, {"log": "a\t{}"}),
        ({"password": "p@ss\\", "errno": -2}, {"password": "<SECRET:password>", "errno": -2}),
        (
            {"headers": {"Cookie": {"session": "abc123"}, "Host": "example.com"}},
            {"headers": {"Cookie": {"session": "<SECRET:cookie>"}, "Host": "example.com"}},
        ),
        ({"X-Api-Key": 12345, "next": "kept"}, {"X-Api-Key": "<SECRET:api-key>", "next": "kept"}),
        (
            {"out": '"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"'},
            {"out": '"AWS_SECRET_ACCESS_KEY=<SECRET:api-key>"'},
        ),
        (
            {"deep": json.dumps({"deeper": json.dumps({"email": PLAIN})})},
            {"deep": json.dumps({"deeper": json.dumps({"email": "{}"})})},
        ),
        ({PLAIN: 1}, {"{}": 1}),
        ([PLAIN, [PLAIN]], ["{}", ["{}"]]),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("escaped", [True, False])
def test_json_is_judged_decoded_and_replaced_as_written(
    value: object, left: object, indent: int | None, escaped: bool
) -> None:
    token = redact(PLAIN)

    def written(one: object) -> str:
        return json.dumps(one, indent=indent, ensure_ascii=escaped)

    assert redact(written(value)) == written(left).replace("{}", token)


def test_all_that_is_not_replaced_keeps_its_bytes() -> None:
    text = ' { "a" : "caf\\u00e9 \\/ \\ud83d\\ude42 bob@example.com \\t x" ,\n"n":1.50,"e":1E5, "b":"x\\u00e9" } '

    assert redact(text) == text.replace(PLAIN, redact(PLAIN))


def test_a_replacement_behind_escapes_lands_in_its_place() -> None:
    value = {"t": '🙂\n"é" \\ 😀 bob@example.com 😀\n'}

    left = json.loads(redact(json.dumps(value)))

    assert left == {"t": value["t"].replace(PLAIN, redact(PLAIN))}


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_json_in_json_stays_json_at_every_layer(layers: int) -> None:
    text = json.dumps({"card": 4242424242424242, "password": 5, "mail": PLAIN})
    for _ in range(layers):
        text = json.dumps({"x": text})

    inner = redact(text)
    for _ in range(layers):
        inner = json.loads(inner)["x"]

    assert json.loads(inner) == {
        "card": redact("4242 4242 4242 4242"), "password": "<SECRET:password>", "mail": redact(PLAIN),
    }  # fmt: skip


@pytest.mark.parametrize("cut", [1, 2, 9])
def test_broken_json_is_text_whose_escapes_are_understood(cut: int) -> None:
    text = json.dumps({"log": f"line1\n{PLAIN}\nend", "password": "hunter2!", "x": "0123456789"})[:-cut]

    left = redact(text)

    assert left == text.replace(PLAIN, redact(PLAIN)).replace("hunter2!", "<SECRET:password>")


def test_escapes_in_broken_json_inside_json() -> None:
    text = json.dumps({"a": json.dumps({"t": f"x\n{PLAIN}"})[:-1]})

    assert redact(text) == text.replace(PLAIN, redact(PLAIN))


@pytest.mark.parametrize(
    "text",
    [
        '{"token": null, "password": true, "secret": ""}',
        '{"properties": {"password": {"type": "string", "description": "The password"}}, "required": ["password"]}',
        '{"logprobs": {"content": [{"token": "Hello", "logprob": -0.1, "bytes": [72]}]}}',
        '{"max_tokens": 5, "usage": {"input_tokens": 7}, "next_page_token": "abc123def"}',
        '{"score": 0.9134567890, "created": 1747731000, "n": [1, 2, 4242424242424241]}',
        '{"a": 1}\n{"b": [true, false, null]}',
    ],
)
def test_what_only_names_a_secret_or_counts_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"cookies": [{"name": "a", "value": 5}, null]}', '{"cookies": [{"name": "*", "value": "*"}, null]}'),
        ('{"credentials": {}, "token": []}', '{"credentials": {}, "token": []}'),
        ('{"token":  "x" , "b": "y"}', '{"token":  "*" , "b": "y"}'),
        ('{"secret": {"type": "opaque", "v": "s"}}', '{"secret": {"type": "*", "v": "*"}}'),
    ],
)
def test_under_a_telling_name_every_text_and_number_goes_and_the_structure_stays(text: str, left: str) -> None:
    redacted = redact(text)
    for rule in ("cookie", "credential", "token", "secret"):
        redacted = redacted.replace(f"<SECRET:{rule}>", "*")

    assert redacted == left


def test_personal_keys_of_a_covered_object_go_too() -> None:
    assert PLAIN not in redact('{"secrets": {"bob@example.com": "x"}}')


def test_base64_of_text_is_redacted_inside() -> None:
    code = base64.b64encode(f"mail {PLAIN} now".encode()).decode()

    left = redact(f"see {code}, ok")

    assert base64.b64decode(left.removeprefix("see ").removesuffix(", ok")).decode() == f"mail {redact(PLAIN)} now"


def test_base64_of_json_in_json_is_redacted_inside() -> None:
    code = base64.b64encode(json.dumps({"password": "hunter2"}).encode()).decode()

    left = json.loads(redact(json.dumps({"data": code})))

    assert json.loads(base64.b64decode(left["data"])) == {"password": "<SECRET:password>"}


def test_a_header_in_base64_goes_whole() -> None:
    code = base64.b64encode(f"{PLAIN}:pw-1234".encode()).decode()

    assert redact(f"Authorization: Basic {code}") == "Authorization: Basic <SECRET:authorization>"


def test_a_picture_is_left_alone_and_the_text_beside_it_is_not() -> None:
    picture = base64.b64encode(b"\x89PNG" + bytes(range(256)) * 2000).decode()
    text = json.dumps({"text": f"mail {PLAIN}", "blob": picture, "url": f"data:image/png;base64,{picture}"})

    assert redact(text) == text.replace(PLAIN, redact(PLAIN))


def test_more_layers_than_are_opened_are_still_searched() -> None:
    text = json.dumps([PLAIN])
    for _ in range(14):
        text = json.dumps([text]) if len(text) < 200_000 else text

    assert "@example" not in redact(text)


def test_a_remembered_text_gives_the_same_edits() -> None:
    one = redactor(memo_size=4)
    text = json.dumps({"a": f"{PLAIN} " * 40, "b": [f"{PLAIN} " * 40] * 3})

    assert one.text(text) == one.text(text) == text.replace(PLAIN, redact(PLAIN))


LEAVES = st.one_of(
    st.sampled_from(
        [PLAIN, "+1 202-555-0143", "hunter2", "x", "AKIAIOSFODNN7EXAMPLE", "4242 4242 4242 4242", "\n", "é"]
    ),
    st.integers(0, 10**17),
    st.none(),
    st.text(max_size=8),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "password", "phone", "token", "id", PLAIN]), inner, max_size=3),
        inner.map(json.dumps),
    ),
    max_leaves=8,
)


def shape(value: object) -> object:
    """Return the structure of a value, a text that holds JSON opened."""
    if isinstance(value, dict):
        return {key.replace(PLAIN, redact(PLAIN)): shape(item) for key, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else None


@given(VALUES)
def test_redacted_json_parses_and_has_the_same_structure(value: object) -> None:
    left = redact(json.dumps([value]))

    assert shape(json.loads(left)) == shape([value])
    assert redact(left) == left
    for planted in (PLAIN, "202-555-0143", "AKIAIOSFODNN7EXAMPLE", "4242 4242 4242 4242"):
        assert planted not in left


def test_nothing_reaches_from_one_literal_into_the_next() -> None:
    begin, end, key = "-----BEGIN PRIVATE KEY----- x", "y -----END PRIVATE KEY-----", "AKIAIOSFODNN7EXAMPLE"
    value = {"a": begin, "b": key, "c": 'password: "abc\\', "d": 'd" e', "f": end}

    left = redact(json.dumps(value))

    assert json.loads(left) == {**value, "b": "<SECRET:aws-access-key>"}


def test_a_private_key_as_a_list_of_lines_goes_line_by_line() -> None:
    lines = [
        "-----BEGIN PRIVATE KEY-----",
        *["MIIBFAKE" + "0123456789ABCDEFabcdef" * 2] * 3,
        "-----END PRIVATE KEY-----",
    ]
    value = {"before": "x1", "lines": lines, "after": "y1"}

    assert json.loads(redact(json.dumps(value))) == {**value, "lines": ["<SECRET:private-key>"] * 5}


def test_a_spot_over_a_border_would_go_from_both_texts() -> None:
    class Crossing(Search):
        def spots(self, text: str, *args: object) -> list[Spot]:
            return [Spot(text.index("x"), text.index("y") + 1, "secret", "token", "", ("SECRET:token",))]

    texts = redactor()._whole._texts
    search, texts._search = texts._search, Crossing.__new__(Crossing)
    try:
        found = texts.plain(["a x1", "2", "3y b"], [NO_CONTEXT] * 3, 0, Budget(1.0))
    finally:
        texts._search = search

    mark = "<SECRET:token>"
    assert [apply(text, found[place]) for place, text in enumerate(["a x1", "2", "3y b"])] == [
        f"a {mark}",
        mark,
        f"{mark} b",
    ]
