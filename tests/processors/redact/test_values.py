import json
from collections import Counter

import pytest

from redaction import redact, redactor
from runreel.values import Value

CARD = 4242424242424242


def value(item: Value, name: str = "v") -> Value:
    return redactor()._whole.values.value(item, name, Counter())


def test_texts_at_every_depth_of_lists_and_maps_are_redacted() -> None:
    mail = redact("bob@example.com")

    assert value(("bob@example.com", {"a": ({"bob@example.com": "bob@example.com"},)})) == (
        mail,
        {"a": ({mail: mail},)},
    )


def test_other_values_pass_through() -> None:
    item = {"a": None, "b": True, "c": 1.5, "d": -0.0, "e": 1747731000, "f": float("inf"), "g": 2**63, "h": b"\xff\xfe"}

    assert value(item) == item


def test_bytes_that_are_text_are_redacted_as_bytes() -> None:
    assert value(b"mail bob@example.com") == redact("mail bob@example.com").encode()
    picture = b"\x89PNG" + bytes(range(256)) + b"\xff bob@example.com"
    assert value(picture) == picture


@pytest.mark.parametrize("codec", ["latin-1", "utf-16", "utf-16-le", "utf-16-be"])
def test_bytes_that_are_text_in_another_encoding_stay_in_it(codec: str) -> None:
    left = value("caf\u00e9 bob@example.com".encode(codec))

    assert isinstance(left, bytes)
    assert left.decode(codec) == f"caf\u00e9 {redact('bob@example.com')}"


@pytest.mark.parametrize("number", [CARD, float(CARD)])
def test_a_card_number_sent_as_a_number_becomes_its_token(number: float) -> None:
    assert value(number) == redact("4242 4242 4242 4242")
    assert value((number,)) == (redact("4242 4242 4242 4242"),)


def test_numbers_that_count_or_fail_the_checksum_stay() -> None:
    assert value(CARD + 1) == CARD + 1
    assert value(CARD, "start_time_ns") == CARD
    assert value(12025550143, "size") == 12025550143


def test_a_phone_number_as_a_number_goes_where_its_name_says_so() -> None:
    assert str(value(12025550143, "phone")).startswith("<PHONE_")


def test_under_a_telling_name_the_whole_value_goes() -> None:
    assert value("x", "password") == "<SECRET:password>"
    assert value(("Bearer x", 5, None, False), "http.request.header.authorization") == (
        "<SECRET:authorization>", "<SECRET:authorization>", None, False,
    )  # fmt: skip
    assert value({"a": {"b": "x"}, "c": b"y"}, "credentials") == {
        "a": {"b": "<SECRET:credential>"}, "c": b"<SECRET:credential>",
    }  # fmt: skip
    assert value({"cookie": "a", "n": 1}) == {"cookie": "<SECRET:cookie>", "n": 1}


def test_marks_empty_values_and_schemas_under_such_a_name_stay() -> None:
    for item in ("<SECRET:openai-key>", "<WITHHELD:redaction_failed>", "", b"", None, True):
        assert value(item, "api_key") == item
    schema = {"type": "string", "description": "The key"}
    assert value({"api_key": schema}) == {"api_key": schema}


def test_two_keys_that_were_one_secret_each_stay_two() -> None:
    item = {f"sk-test-51HxFAKE000000000000000{n}": n for n in range(3)}

    assert value(item) == {"<SECRET:openai-key>": 0, "<SECRET:openai-key>#2": 1, "<SECRET:openai-key>#3": 2}


def test_identifiers_are_not_searched_for_persons_but_for_secrets() -> None:
    assert value("resp-2025550143-x", "gen_ai.response.id") == "resp-2025550143-x"
    assert value("sk-test-51HxFAKE0000000000000000", "gen_ai.response.id") == "<SECRET:openai-key>"
    assert value("bob@example.com", "gen_ai.conversation.id") == redact("bob@example.com")


@pytest.mark.parametrize(
    ("item", "name", "other"),
    [("219099999", "v", "ssn"), ("call-2025550143", "gen_ai.response.id", "v"), ("203.0.113.7", "version", "v")],
)
def test_what_is_clean_under_one_name_is_looked_at_under_another(item: str, name: str, other: str) -> None:
    for _ in range(2):
        for one in (item, (item,)):
            assert value(one, name) is one
            assert "<" in str(value(one, other))


def test_of_what_is_known_to_be_clean_no_text_is_kept() -> None:
    values = redactor(memo_size=100)._whole.values
    for _ in range(2):
        assert values.value("an unheard-of remark", "remark", Counter()) == "an unheard-of remark"

    assert values._texts.is_clean("an unheard-of remark", "remark")
    assert not any("unheard" in repr(held) for held in (values._texts._memo._entries, values._texts._hashers))


def test_what_is_found_is_counted() -> None:
    counts: Counter[str] = Counter()

    redactor()._whole.values.value(
        {"a": "bob@example.com, +1 202-555-0143, bob@example.com", "password": "x"}, "v", counts
    )
    redactor()._whole.values.value(json.dumps({"token": "abc", "n": CARD}), "v", counts)

    assert counts == {"EMAIL": 2, "PHONE": 1, "SECRET:password": 1, "SECRET:token": 1, "CARD": 1}


def test_a_private_key_as_a_list_of_lines_goes_line_by_line() -> None:
    lines = ("-----BEGIN PRIVATE KEY-----", "MIIBFAKE" + "0123456789ABCDEFabcdef" * 2, "-----END PRIVATE KEY-----")

    assert value(("x", *lines, "y", 5)) == ("x", *["<SECRET:private-key>"] * 3, "y", 5)
    assert value((*lines[:2], None)) == (*["<SECRET:private-key>"] * 2, None)
    assert value(lines[::2]) == lines[::2]
