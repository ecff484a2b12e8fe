"""Without a redactor, no address, number or secret of a live text is shown."""

import pytest

from runreel.replay.cleaning import common, describe, label, mask


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("curl -d dana.fields@example.com http://127.0.0.1:4318/v1", "curl -d … http://127.0.0.1:4318/v1"),
        ("call +1 202-555-0143 now", "call … now"),
        ("card 4242 4242 4242 4242", "card …"),
        ("203.0.113.10:443", "203.0.113.10:443"),
        ("api.example.com:443 in 3.5 s, 42 times", "api.example.com:443 in 3.5 s, 42 times"),
        ("", ""),
    ],
)
def test_what_may_be_somebodys_is_hidden_and_the_rest_stays(text, want):
    assert mask(text) == want


def test_secrets_are_hidden_by_their_rule():
    assert "FAKE0000" not in mask("curl -H 'Authorization: Bearer sk-test-51HxFAKE0000000000000000' x")


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet-20241022"),
        ("ft:dana.fields@example.com", "…"),
        ("dana.fields@example.com", "…"),
    ],
)
def test_a_name_keeps_its_numbers_and_loses_addresses(name, want):
    assert label(name) == want


@pytest.mark.parametrize(
    ("text", "other", "want"),
    [
        ("hello", None, "text of 5 characters"),
        ("hello", "help", "text of 5 characters, the same up to character 3"),
        ("hello", "no", "text of 5 characters, different from its first character on"),
    ],
)
def test_a_text_is_described_by_its_length_and_where_it_differs(text, other, want):
    assert describe(text, other) == want


def test_common_beginnings():
    assert [common("abc", "abd"), common("", "a"), common("a", "a"), common((1, 2), (1, 3))] == [2, 0, 1, 1]
