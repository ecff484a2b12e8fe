"""The values that texts are salted with are what they are called."""

import random
import re

import pytest
import texts

PATTERNS = {
    "EMAIL_ADDRESS": r"[a-z]+\.[a-z]+\d+@(example\.(com|org)|mail\.example\.net)",
    "PHONE_NUMBER": r"[-+(). \d]{12,15}",
    "IP_ADDRESS": r"203\.0\.113\.\d{1,3}",
    "CREDIT_CARD": r"(411111|555555|400000)\d{10}",
    "US_SSN": r"\d{3}-\d{2}-\d{4}",
    "IBAN_CODE": r"(DE|GB|FR)\d{2}\w+",
    "OPENAI_KEY": r"sk-proj-\w{48}",
    "AWS_KEY": r"AKIA[A-Z2-7]{16}",
    "GITHUB_TOKEN": r"ghp_\w{36}",
    "SLACK_TOKEN": r"xoxb-\d{11}-\d{11}-\w{24}",
    "JWT": r"eyJ\w{33}\.eyJ\w{60}\.\w{43}",
}


def test_every_kind_of_value_occurs_and_looks_like_its_kind() -> None:
    rng = random.Random(1)

    values = [texts.personal_value(rng) for _ in range(600)]

    assert {value.entity for value in values} == set(PATTERNS)
    for value in values:
        assert re.fullmatch(PATTERNS[value.entity], value.value), value.entity


def test_card_numbers_pass_the_checksum() -> None:
    number = texts.luhn(random.Random(2), "411111")

    digits = [int(char) for char in number]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    assert len(number) == 16
    assert (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def test_salting_keeps_the_text_around_what_it_puts_in() -> None:
    planted: list[texts.Planted] = []
    plain = "word " * 2000

    salted = texts.salt(random.Random(3), plain, 500, planted)

    assert 5 < len(planted) < 60
    for value in planted:
        assert f" {value.value}" in salted
    without = salted
    for value in planted:
        without = re.sub(rf" (contact|call|from|card|ssn|iban|token) {re.escape(value.value)}", "", without, count=1)
    assert without == plain


@pytest.mark.parametrize("kind", texts.KINDS, ids=lambda kind: kind.__name__)
def test_each_kind_of_text_is_as_long_as_asked_for_and_the_same_again(kind) -> None:
    first, second = (kind(random.Random(4), 3000) for _ in range(2))

    assert first == second
    assert 3000 <= len(first) < 3600


def test_sizes_are_in_their_range_and_mostly_small() -> None:
    rng = random.Random(5)

    sizes = [texts.size(rng, 1000, 40_000) for _ in range(500)]

    assert all(1000 <= size <= 40_000 for size in sizes)
    assert sum(size < 10_000 for size in sizes) > 250
