"""Stock Presidio, as a user would set it up for the same entities, and texts to hold the detector against it."""

import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from runreel.processors.redact.recognisers import PRESIDIO_NAMES

OURS = {theirs: ours for ours, theirs in PRESIDIO_NAMES.items()}


@lru_cache(maxsize=4)
def engine(regions: tuple[str, ...]) -> Any:
    """Build the stock analyser without NLP; its suffix list comes from the package, as everywhere in these tests."""
    import tldextract.tldextract
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer import predefined_recognizers as predefined
    from presidio_analyzer.nlp_engine import NoOpNlpEngine

    tldextract.tldextract.TLD_EXTRACTOR.suffix_list_urls = ()
    recognisers = [
        predefined.EmailRecognizer(), predefined.PhoneRecognizer(supported_regions=regions),
        predefined.CreditCardRecognizer(), predefined.IbanRecognizer(), predefined.IpRecognizer(),
        predefined.UsSsnRecognizer(), predefined.CryptoRecognizer(),
    ]  # fmt: skip
    registry = RecognizerRegistry(recognizers=recognisers, supported_languages=["en"])
    return AnalyzerEngine(
        registry=registry,
        nlp_engine=NoOpNlpEngine([{"lang_code": "en", "model_name": "none"}]),
        supported_languages=["en"],
    )


def stock(text: str, regions: tuple[str, ...]) -> set[tuple[str, int, int, float]]:
    """Return what stock Presidio finds, but for phone numbers of fewer than 7 digits."""
    results = engine(regions).analyze(text, language="en", entities=list(PRESIDIO_NAMES.values()))
    return {
        (OURS[result.entity_type], result.start, result.end, result.score)
        for result in results
        if result.entity_type != "PHONE_NUMBER" or sum(c.isdigit() for c in text[result.start : result.end]) >= 7
    }


_WORDS = """the order of build and call from card at 2.1 v10.4.2.1 std::vector b:: id=call_dda6f6b3ffcc05d4dca181a9
2026-01-01T00:00:00Z 2026-11-03 08:12:44.120 [12:33] $12,345.67 0.9134567890 ISBN 978-3-16-148410-0 x=7 a@b @scope/p@1.2
https://ex.example.com/a?b=1 git@github.com:a/b.git 1747731000 110bcd25-a55d-453a-8046-1297901ea002 1649 168.46 12:30::
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b ,"""
_ODD = [*"\u2011\u2013\u2014\u00a0\u200b😀é\u0301٣ßſ日\u3000＠(),\n"]
_BETWEEN = [" ", " ", " ", " ", "\n", ",", ", ", ";", "", "-", "/", ":"]


def _digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(count))


def _luhn(head: str) -> str:
    total = sum(sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(reversed(head), 0))
    return head + str(-total % 10)


_LOCALS = ["dana.fields", "a+b.c", "x", "o'neil", "D_F-1", ".dot", "dot."]
_DOMAINS = ["example.com", "sub.example.co.uk", "mail-1.example.org", "corp.internal", "1.2.3.4", "exämple.de"]
_FIXED = """DE89370400440532013000|GB29 NWBK 6016 1331 9268 19|FR14 2004 1010 0505 0001 3M02 606 X
DE89370400440532013001
203.0.113.7/24|2001:db8::7334|::1|::|::ffff:192.0.2.1|fe80::1%eth0|2001:0db8:85a3:0000:0000:8a2e:0370:7334
64:ff9b::192.0.2.33|1:2:3:4:5:6:7:8|1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa|bc1qar0srr7xfkvy5l643lydnw9re59gtzzwf5mdq
3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy|202-555-0143 x12"""


def _value(rng: random.Random) -> str:
    card = _luhn(rng.choice(["4242", "5555", "4111", "3782", "6011"]) + _digits(rng, 11))
    groups = [card[place : place + 4] for place in range(0, 16, 4)]
    pattern = rng.choice(
        ["(202) 555-dddd", "+1 415 555 01dd", "+49 30 dddddd", "020 7946 0ddd", "030/dddddddd", "+33 1 dd dd dd dd",
         "202.555.dddd", "ddd-dddd ext. ddd", "+55 11 9dddd-dddd", "0dd-ddddddd", "dddd ddd ddd / dddd", "ddd-dd-dddd",
         "ddddd-dddd", "ddddddddd", "ddd dd dddd"]
    )  # fmt: skip
    return rng.choice(
        [
            f"{rng.choice(_LOCALS)}@{rng.choice(_DOMAINS)}",
            "".join(_digits(rng, 1) if char == "d" else char for char in pattern),
            "".join(_digits(rng, 1) if char == "d" else char for char in pattern),
            _digits(rng, rng.randint(6, 16)),
            rng.choice(["", " ", "-"]).join(groups),
            ".".join(str(rng.randint(0, 300)) for _ in range(4)),
            rng.choice(_FIXED.replace("\n", "|").split("|")),
        ]
    )


def corpus(seed: int, count: int) -> Iterator[str]:
    """Yield texts: prose and code with values in them, odd characters around and inside, values run together."""
    rng = random.Random(seed)
    for _ in range(count):
        pieces = []
        for _ in range(rng.randint(1, 14)):
            piece = _value(rng) if rng.random() < 0.5 else rng.choice(_WORDS.split())
            if rng.random() < 0.15 and len(piece) > 1:
                at = rng.randrange(1, len(piece))
                piece = piece[:at] + rng.choice(_ODD) + piece[at:]
            if rng.random() < 0.1:
                piece = piece.replace("-", "\u2011").replace(" ", "\u00a0")
            pieces.append(piece)
        yield "".join(piece + rng.choice([*_BETWEEN, rng.choice(_ODD)]) for piece in pieces)
