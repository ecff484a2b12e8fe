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
    return AnalyzerEngine(registry=registry, nlp_engine=NoOpNlpEngine([{"lang_code": "en", "model_name": "none"}]), supported_languages=["en"])


def stock(text: str, regions: tuple[str, ...]) -> set[tuple[str, int, int, float]]:
    """Return what stock Presidio finds, but for phone numbers of fewer than 7 digits."""
    results = engine(regions).analyze(text, language="en", entities=list(PRESIDIO_NAMES.values()))
    return {
        (OURS[result.entity_type], result.start, result.end, result.score)
        for result in results
        if result.entity_type != "PHONE_NUMBER" or sum(c.isdigit() for c in text[result.start : result.end]) >= 7
    }


_WORDS = (
    "the order of build and call from card at 2.1 v10.4.2.1 std::vector b:: id=call_dda6f6b3ffcc05d4dca181a9 sha256:9f86d0"
    " 2026-01-01T00:00:00Z 2026-11-03 08:12:44.120 [12:33] $12,345.67 0.9134567890 ISBN 978-3-16-148410-0 x=7 a@b @scope/p@1.2"
    " https://ex.example.com/a?b=1 git@github.com:a/b.git 1747731000 110bcd25-a55d-453a-8046-1297901ea002 1649 168.46 12:30:: ,"
).split()
_ODD = ["\u2011", "\u2013", "\u2014", "\u00a0", "\u200b", "😀", "é", "e\u0301", "٣", "ß", "ſ", "日", "\u3000", "＠", "(", ")", ",", "\n"]


def _digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choice("0123456789") for _ in range(count))


def _luhn(head: str) -> str:
    total = sum(sum(divmod(int(d) * (2 - i % 2), 10)) for i, d in enumerate(reversed(head), 0))
    return head + str(-total % 10)


def _value(rng: random.Random) -> str:
    card = _luhn(rng.choice(["4242", "5555", "4111", "3782", "6011"]) + _digits(rng, 11))
    d = _digits
    return rng.choice(
        [
            f"{rng.choice(['dana.fields', 'a+b.c', 'x', 'o''neil', 'D_F-1', '.dot', 'dot.'])}@{rng.choice(['example.com', 'sub.example.co.uk', 'mail-1.example.org', 'corp.internal', '1.2.3.4', 'exämple.de'])}",
            f"({rng.choice(['202', '415', '212'])}) 555-{d(rng, 4)}", f"+1 {rng.choice(['202', '415'])} 555 01{d(rng, 2)}",
            f"+49 30 {d(rng, 6)}", f"020 7946 0{d(rng, 3)}", f"030/{d(rng, 8)}", f"+33 1 {d(rng, 2)} {d(rng, 2)} {d(rng, 2)} {d(rng, 2)}",
            f"202.555.{d(rng, 4)}", d(rng, rng.randint(6, 16)), f"{d(rng, 3)}-{d(rng, 4)} ext. {d(rng, 3)}", f"+55 11 9{d(rng, 4)}-{d(rng, 4)}",
            f"0{d(rng, 2)}-{d(rng, 7)}", f"202-555-0143 x{d(rng, 2)}", f"{d(rng, 4)} {d(rng, 3)} {d(rng, 3)} / {d(rng, 4)}",
            card, f"{card[:4]} {card[4:8]} {card[8:12]} {card[12:]}", f"{card[:4]}-{card[4:8]}-{card[8:12]}-{card[12:]}",
            f"{d(rng, 3)}-{d(rng, 2)}-{d(rng, 4)}", f"{d(rng, 5)}-{d(rng, 4)}", d(rng, 9), f"{d(rng, 3)} {d(rng, 2)} {d(rng, 4)}",
            "DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19", "FR14 2004 1010 0505 0001 3M02 606 X", "DE89370400440532013001",
            f"{rng.randint(0, 300)}.{rng.randint(0, 300)}.{rng.randint(0, 255)}.{rng.randint(0, 255)}", "203.0.113.7/24", "2001:db8::7334",
            "::1", "::", "::ffff:192.0.2.1", "fe80::1%eth0", "2001:0db8:85a3:0000:0000:8a2e:0370:7334", "64:ff9b::192.0.2.33", "1:2:3:4:5:6:7:8",
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "bc1qar0srr7xfkvy5l643lydnw9re59gtzzwf5mdq", "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy",
        ]
    )


def corpus(seed: int, count: int) -> Iterator[str]:
    """Yield texts: prose and code with values in them, odd characters around and inside, values run together."""
    rng = random.Random(seed)
    for _ in range(count):
        pieces = []
        for _ in range(rng.randint(1, 14)):
            piece = _value(rng) if rng.random() < 0.5 else rng.choice(_WORDS)
            if rng.random() < 0.15 and len(piece) > 1:
                at = rng.randrange(1, len(piece))
                piece = piece[:at] + rng.choice(_ODD) + piece[at:]
            if rng.random() < 0.1:
                piece = piece.replace("-", "\u2011").replace(" ", "\u00a0")
            pieces.append(piece)
        yield "".join(piece + rng.choice([" ", " ", " ", " ", "\n", ",", ", ", ";", "", "-", "/", ":", rng.choice(_ODD)]) for piece in pieces)
