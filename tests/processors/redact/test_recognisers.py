import logging
import socket
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runreel.errors import ConfigError
from runreel.processors.redact.detect import Detector
from runreel.processors.redact.recognisers import PRESIDIO_NAMES, has_public_suffix, judges, luhn


def nothing(*_: object) -> None:
    return None


def test_no_recogniser_asks_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a recogniser opened a socket")

    has_public_suffix.__globals__["_suffixes"].cache_clear()
    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    judge = judges(["EMAIL"])["EMAIL"]

    assert judge.judge("dana@example.co.uk", nothing) == [(0, 18, 1.0)]
    assert judge.judge("dana@host.internal", nothing) == []


def test_nothing_that_a_recogniser_sees_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for judge in judges(list(PRESIDIO_NAMES)).values():
            judge.judge("GB29 NWBK 6016 1331 9268 19 dana@example.com 4242 4242 4242 4242", nothing)

    assert caplog.text == ""


def test_phones_have_no_judge_and_unknown_entities_are_refused() -> None:
    assert "PHONE" not in judges(["PHONE", "IP"])
    with pytest.raises(ConfigError, match="'EMAIL_ADDRESS' is unknown"):
        judges(["EMAIL_ADDRESS"])


def test_a_public_suffix_is_asked_for() -> None:
    assert has_public_suffix("example.com")
    assert not has_public_suffix("example.internal")


def test_the_checksum_of_cards_in_any_spelling() -> None:
    assert luhn("4242 4242-4242 4242")
    assert luhn("٤٢٤٢٤٢٤٢٤٢٤٢٤٢٤٢")
    assert not luhn("4242 4242 4242 4241")


@pytest.mark.parametrize(
    "text", ["1.2.3.4", "1.2.3.4/32", "1.2.3.4/39", "01.2.3.4", "1.2.3.04/8", "0.0.0.0", "1.2.3.4/08"]
)
def test_plain_addresses_are_judged_as_all_others(text: str) -> None:
    from presidio_analyzer.predefined_recognizers import IpRecognizer

    stock = {(result.start, result.end, result.score) for result in IpRecognizer().analyze(text, ["IP_ADDRESS"])}

    assert set(judges(["IP"])["IP"].judge(text, nothing)) == stock


_PIECES = st.sampled_from(
    [
        "DE89370400440532013000",
        "GB29 NWBK 6016 1331 9268 19",
        "FR14-2004-1010-0505-0001-3M02-606",
        "GB29NWBK60161331926818",  # the checksum fails
        "NO9386011117947",
        "BE68 5390 0754 7034",  # whole groups: what follows may look like one more
        "LT121000011101001000",
        "PL61109010140000071219812874 1234",
        "AB12",
        "2001:db8::8a2e:370:7334",
        "::1",
        "::ffff:192.0.2.128",
        "::",
        "64:ff9b::192.0.2.33/96",
        "192.0.2.1",
        " ",
        "-",
        ":",
        "2 days",
        "X",
        "X7",
        "1234",
        "in ",
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(_PIECES, max_size=6).map("".join))
def test_bank_accounts_and_addresses_of_every_kind_are_judged_as_the_stock_recognisers_do(text: str) -> None:
    stock, detector = _stock()
    theirs = {
        (entity, found.start, found.end, found.score)
        for entity, recogniser in stock.items()
        for found in recogniser.analyze(text, [PRESIDIO_NAMES[entity]])
    }

    assert {tuple(one) for one in detector.find(text)} == theirs


@lru_cache(maxsize=1)
def _stock() -> tuple[dict[str, Any], Detector]:
    from presidio_analyzer.predefined_recognizers import IbanRecognizer, IpRecognizer

    return {"IBAN": IbanRecognizer(), "IP": IpRecognizer()}, Detector(["IBAN", "IP"])
