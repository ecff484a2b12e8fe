import pytest

from redaction import redact, redactor


@pytest.mark.parametrize(
    "card", ["4242.4242.4242.4242", "4242/4242/4242/4242", "4242  4242  4242  4242", "4242_4242_4242_4242"]
)
def test_cards_with_other_separators_get_the_same_token(card: str) -> None:
    assert redact(f"card {card}, ok") == f"card {redact('4242 4242 4242 4242')}, ok"


@pytest.mark.parametrize("text", ["4242.4242.4242.4243", "1.4242.4242.4242.4242", "4242.4242/4242.4242"])
def test_what_only_looks_like_such_a_card_stays(text: str) -> None:
    assert redact(text) == text


def test_examples_of_social_security_numbers_go_too() -> None:
    assert redact("123-45-6789") != "123-45-6789"
    assert redact("000-45-6789 666-45-6789 123-00-6789") == "000-45-6789 666-45-6789 123-00-6789"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("GET /lookup?email=dana.fields@example.com&x=1", "GET /lookup?email={}&x=1"),
        ("email=dana.fields@example.com", "email={}"),
        ("a?email%3Ddana.fields%40example.com", "a?email%3D{}"),
        ("'dana.fields@example.com'", "'{}'"),
        ("mailto:dana.fields@example.com", "mailto:{}"),
        ("a|dana.fields@example.com|b", "a|{}|b"),
        ("mail\u2013dana.fields@example.com", "mail\u2013{}"),
    ],
)
def test_the_same_address_gets_the_same_token_whatever_stands_before_it(text: str, left: str) -> None:
    assert redact(text) == left.format(redact("dana.fields@example.com"))


def test_an_address_inside_an_address_goes_whole() -> None:
    text = "bounces+dana.fields=example.com@list.example.org"

    assert "dana" not in redact(text)
    assert "@" not in redact(text)


def test_a_bracket_before_a_number_stays() -> None:
    phone = redact("+1 202-555-0143")

    assert redact("[+1 202-555-0143]") == f"[{phone}]"
    assert redact("(+1 202-555-0143, home)") == f"({phone}, home)"
    assert redact("(202) 555-0143") == redact("x (202) 555-0143").removeprefix("x ")


def test_the_profile_presidio_has_no_extras() -> None:
    stock = redactor(profile="presidio")

    assert stock.text("4242.4242.4242.4242") == "4242.4242.4242.4242"
    assert stock.text("123-45-6789") == "123-45-6789"


@pytest.mark.parametrize("card", ["4242 4242\n4242 4242", "4242\t4242\t4242\t4242", "4242-4242-\n4242-4242"])
def test_a_card_over_lines_or_columns_gets_the_same_token(card: str) -> None:
    assert redact(f"card {card}, ok") == f"card {redact('4242 4242 4242 4242')}, ok"


@pytest.mark.parametrize(
    "text",
    ["4242\t4242\t4242\t4242\t4242", "1000\n4242\n4242\n4242\n4242", "4242\t4242\t4242\t4243", "3000 3100\n3200 3300"],
)
def test_tables_of_numbers_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("text", ["wa:{}", "tel:{}", "to whatsapp:{} now", "sip:{}@h"])
def test_what_stands_behind_a_channel_is_a_phone_number_of_any_country(text: str) -> None:
    assert "<PHONE_" in redact(text.format("4915112345679"))
    assert "11234567" not in redact(text.format("4915112345679"))


def test_an_address_at_a_domain_of_ones_own_goes() -> None:
    assert "<EMAIL_" in redact("mail dana.fields@corp.internal, ok")
    assert redact("a@b.unknowndomain") == "a@b.unknowndomain"
