"""Tokens are stable, keyed, and the same for spellings of one value."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.canonical import ENTITIES, SECRET_RE, TOKEN_RE, make_token, normalise

KEY = b"k" * 32


@given(st.sampled_from(ENTITIES), st.text(), st.integers(8, 64))
def test_a_token_has_the_shape_that_is_looked_for(entity: str, text: str, digits: int) -> None:
    match = TOKEN_RE.fullmatch(make_token(KEY, entity, text, digits))

    assert match is not None
    assert match[1] == entity
    assert len(match[2]) == digits
    assert make_token(KEY, entity, text, 64).startswith(f"<{entity}_{match[2]}")


@given(st.from_regex(r"[0-9]{1,4}(?:\.[0-9]{1,4}){0,5}", fullmatch=True))
def test_digits_and_dots_are_an_address_in_its_only_spelling_or_none(text: str) -> None:
    try:
        expected = ipaddress.ip_address(text).compressed
    except ValueError:
        expected = text

    assert normalise("IP", text) == expected


@given(st.sampled_from(ENTITIES), st.text())
def test_normalising_twice_changes_nothing(entity: str, text: str) -> None:
    assert normalise(entity, normalise(entity, text)) == normalise(entity, text)


@pytest.mark.parametrize(
    ("entity", "one", "other"),
    [
        ("EMAIL", "Dana.Fields@Example.com ", "dana.fields@example.com"),
        ("EMAIL", "dana\uff20example.com", "dana@example.com"),
        ("EMAIL", "dana\u200b@example.com", "dana@example.com"),
        ("PHONE", "+1 (212) 555-0123", "1.212.555.0123"),
        ("PHONE", "\uff12\uff11\uff12 555\u20110123", "2125550123"),
        ("CARD", "4111 1111 1111 1111", "4111-1111-1111-1111"),
        ("IBAN", "de89 3704 0044 0532 0130 00", "DE89370400440532013000"),
        ("IP", "2001:DB8:0:0::1", "2001:db8::1"),
        ("SSN", "078-05-1120", "078 05 1120"),
        ("PERSON", "Dana  Fields", "dana fields"),
    ],
)
def test_spellings_of_one_value_share_a_token(entity: str, one: str, other: str) -> None:
    assert make_token(KEY, entity, one) == make_token(KEY, entity, other)


@pytest.mark.parametrize(
    ("entity", "one", "other"),
    [
        ("EMAIL", "dana@example.com", "dana@example.org"),
        ("CRYPTO", "1BoatSLRHtKNngkdXEeobR76b53LETtpyT", "1boatslrhtknngkdxeeobr76b53lettpyt"),
        ("IP", "203.0.113.7", "203.0.113.70"),
        ("IP", "not an address", "an address"),
    ],
)
def test_other_values_have_other_tokens(entity: str, one: str, other: str) -> None:
    assert make_token(KEY, entity, one) != make_token(KEY, entity, other)


def test_tokens_need_the_key_and_tell_entities_apart() -> None:
    assert make_token(KEY, "PHONE", "078051120") != make_token(b"other", "PHONE", "078051120")
    assert make_token(KEY, "PHONE", "078051120")[-9:] != make_token(KEY, "SSN", "078051120")[-9:]


@pytest.mark.parametrize("digits", [7, 65])
def test_a_token_too_short_or_too_long_is_refused(digits: int) -> None:
    with pytest.raises(ValueError, match="8 to 64"):
        make_token(KEY, "EMAIL", "a@example.com", digits)


def test_placeholders_of_secrets_name_their_rule() -> None:
    assert SECRET_RE.findall("a <SECRET:aws-key> b <SECRET:pem> <SECRET:> <secret:x>") == ["aws-key", "pem"]
