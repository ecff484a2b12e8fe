import pytest

from runreel.errors import ConfigError
from runreel.processors.redact.classes import Rule, contract, leads_to, pointer, rule, rules


def test_a_rule_says_class_place_and_pointer() -> None:
    written = [
        {"class": "regulated", "tool": "refund", "pointer": "/customer/a~1b~0c"},
        {"class": "keep", "attribute": "app.region.*"},
        {"class": "drop", "source": "hr"},
    ]

    assert rules(written) == (
        Rule("regulated", tool="refund", pointer=("customer", "a/b~c")),
        Rule("keep", attribute="app.region.*"),
        Rule("drop", source="hr"),
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"class": "secret", "tool": "x"}, "'secret' is no class: write one of drop, token, hash, regulated, keep"),
        ({"tool": "x"}, "class: '' is no class"),
        ({"class": "drop"}, "none is there: write exactly one of tool, attribute, source"),
        ({"class": "drop", "tool": "x", "source": "y"}, "tool and source are there: write exactly one"),
        ({"class": "drop", "tool": "x", "pointer": "customer"}, "'customer' is no JSON pointer: write it with a /"),
        ({"class": "drop", "source": "x", "pointer": "/a"}, "a source has none"),
        ({"class": "drop", "attribute": "a.*.b"}, "a * may only stand at the end"),
    ],
)  # fmt: skip
def test_a_rule_that_cannot_be_meant_says_what_to_write(body: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError) as raised:
        rule(body)

    assert said in str(raised.value)


def test_all_problems_of_a_list_are_said_at_once_each_with_its_place() -> None:
    with pytest.raises(ConfigError) as raised:
        rules([{"class": "x", "tool": "t"}, {"class": "drop", "tool": "t"}, {"class": "drop"}])

    assert [problem[:11] for problem in raised.value.problems] == ["classes[0]:", "classes[2]:"]


def test_a_sender_may_ask_for_more_but_never_for_less() -> None:
    entries = ["/iban", "regulated:/customer", "keep:/email", "drop:", 7, "iban"]

    assert contract(entries) == (
        ("token", ("iban",)),
        ("regulated", ("customer",)),
        ("token", ("email",)),
        ("drop", ()),
    )


@pytest.mark.parametrize(
    ("text", "path", "there"),
    [
        ("/a/b", ("a", "b"), True),
        ("/a/*", ("a", "7"), True),
        ("/a", ("a", "b"), False),
        ("", (), True),
        ("/a", ("b",), False),
    ],
)
def test_a_pointer_leads_along_its_members(text: str, path: tuple[str, ...], there: bool) -> None:
    assert leads_to(pointer(text), path) is there
