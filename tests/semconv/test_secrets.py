import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.semconv.secret_rules import RULES
from runreel.semconv.secrets import find_secrets, is_secret, strip_secrets

TABLE = json.loads((Path(__file__).resolve().parents[1] / "data" / "secret_rules.json").read_text(encoding="utf-8"))
HOLE = "\u27e8\u27e9"
# Invented examples of each rule: the secret, and the text around it that makes it one.
EXAMPLES = [(rule, one["secret"], one["text"]) for rule, cases in TABLE.items() for one in cases["found"]]
KEPT = [(rule, text) for rule, cases in TABLE.items() for text in cases["kept"]]


@pytest.mark.parametrize(("rule", "secret", "around"), EXAMPLES)
def test_each_rule_finds_its_example_and_nothing_around_it(rule: str, secret: str, around: str) -> None:
    text = around.replace(HOLE, secret)

    found = [span for span in find_secrets(text) if span[2] == rule or rule != "aws-secret-key"]

    start = around.index(HOLE)
    assert found == [(start, start + len(secret), rule)]
    assert f"<SECRET:{rule}>" in strip_secrets(text)
    assert secret not in strip_secrets(text)


@pytest.mark.parametrize(("rule", "secret", "around"), EXAMPLES)
def test_what_a_rule_removes_is_a_secret_of_that_rule(rule: str, secret: str, around: str) -> None:
    assert is_secret(rule, secret)


@pytest.mark.parametrize(("rule", "text"), KEPT)
def test_what_only_looks_like_a_secret_stays(rule: str, text: str) -> None:
    assert find_secrets(text) == [], rule


def test_every_rule_has_examples_of_what_goes_and_what_stays() -> None:
    by_name = {"assigned", "paired", "login-file", "option", "command"}  # these name what they find by its name

    assert {rule.name for rule in RULES} - by_name <= TABLE.keys()
    assert all(cases["found"] and cases["kept"] for cases in TABLE.values())


@pytest.mark.parametrize(("rule", "secret", "around"), EXAMPLES)
def test_every_find_comes_with_its_gate_and_a_hint(rule: str, secret: str, around: str) -> None:
    text = around.replace(HOLE, secret)

    for one in RULES:
        spans = list(one.find(text, 0))
        if not spans:
            continue
        gate = re.compile(one.gate, re.IGNORECASE if one.caseless else 0)
        hits = [match.span() for match in gate.finditer(text)]
        assert hits
        assert hits[0][1] - one.reach <= spans[0][0]
        assert any(hint in text.lower() for hint in one.hints)
        if one.near is not None:
            assert set(one.near(text, hits)) == set(spans)


@pytest.mark.parametrize(
    ("url", "left"),
    [
        (
            "https://b.example.com/r?X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F2026&X-Amz-Signature=0badc0de&X-Amz-Date=1",
            "https://b.example.com/r?X-Amz-Credential=*&X-Amz-Signature=*&X-Amz-Date=1",
        ),
        (
            "https://acct.blob.core.windows.net/c/f?sv=2024-01-01&se=2026-01-02&sig=Zm9vYmFy%2Bfoo%3D",
            "https://acct.blob.core.windows.net/c/f?sv=2024-01-01&se=2026-01-02&sig=*",
        ),
        (
            "https://storage.googleapis.com/b/o?X-Goog-Signature=00ff&X-Goog-Credential=x",
            "https://storage.googleapis.com/b/o?X-Goog-Signature=*&X-Goog-Credential=*",
        ),
        ("https://user:pa%40ss@db.example.com:5432/x?sslmode=on", "https://*@db.example.com:5432/x?sslmode=on"),
        (
            "https://api.example.com/v1?x_amz_signature=aa&API%5FKEY=k-123&page=2#access_token=abc",
            "https://api.example.com/v1?x_amz_signature=*&API%5FKEY=*&page=2#access_token=*",
        ),
        (
            "https://cdn.example.com/f?Policy=eyJ&Signature=abc&Key-Pair-Id=K1",
            "https://cdn.example.com/f?Policy=eyJ&Signature=*&Key-Pair-Id=K1",
        ),
        ("https://example.com/reset?token=abc.def.ghi&next=/home", "https://example.com/reset?token=*&next=/home"),
    ],
)
def test_of_signed_urls_only_the_secret_values_go(url: str, left: str) -> None:
    text = f"saved {url}, see ({url})."

    stripped = re.sub("<SECRET:[a-z-]+>", "*", strip_secrets(text))

    assert stripped == f"saved {left}, see ({left})."


def test_marks_of_an_earlier_redaction_are_not_secrets() -> None:
    text = "password: <SECRET:password> token=<EMAIL_7f3a9c02> api_key: <WITHHELD:redaction_failed>"

    assert find_secrets(text) == []


def test_a_name_in_the_place_of_a_value_does_not_hide_the_value() -> None:
    assert strip_secrets("token: password: abc1 x") == "token: password: <SECRET:password> x"


def test_an_unknown_rule_and_an_empty_text_are_no_secrets() -> None:
    assert not is_secret("no-such-rule", "AKIAIOSFODNN7EXAMPLE")
    assert not is_secret("password", "")


def test_a_secret_with_more_around_it_is_not_what_the_rule_removed() -> None:
    assert not is_secret("aws-access-key", "AKIAIOSFODNN7EXAMPLE and more")


_PIECES = st.sampled_from(
    [around.replace(HOLE, secret) for _, secret, around in EXAMPLES]
    + ["token", "password", ": ", "=", '"', "'", "\n", "\\n", "://", "@", "?", "&", "(", "<EMAIL_7f3a9c02>", "x", "4"]
)


@given(st.lists(_PIECES, max_size=8).map("".join))
def test_stripping_twice_is_stripping_once(text: str) -> None:
    once = strip_secrets(text)

    assert strip_secrets(once) == once
