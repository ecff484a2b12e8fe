import random

import pytest

from presidio_stock import corpus
from redaction import KEY as TENANT_KEY
from redaction import redact, redactor
from runreel.processors.redact import Redactor, RedactSettings
from runreel.processors.redact.detect import Check, Detector, Finding, Settled
from runreel.processors.redact.scan import Hits
from runreel.processors.redact.search import Spot, _resolved
from runreel.semconv.secrets import find_secrets, strip_secrets

SECRETS = [
    "password: hunter2", 'api_key="sk-test-51HxFAKE0000000000000000"', "AKIAIOSFODNN7EXAMPLE", "Cookie: a=b; c=d",
    "Authorization: Bearer tok_0123456789abcdef", "https://u:p@h.example.com/x?sig=abc&page=2", "ghp_" + "a1" * 18,
    "eyJhbGciOiJI.eyJzdWIiOiIx.sig-n", "-----BEGIN PRIVATE KEY-----\nMIIBFAKEFAKEFAKEFAKEFAKEFAKE\n", "\\n", "%40",
    "\\u0040", "token", "secret=", "<EMAIL_7f3a9c02>", "<SECRET:password>", "bWFpbCBkYW5hQGV4YW1wbGUuY29t", "x 1234",
]  # fmt: skip


def mixed(seed: int, count: int) -> list[str]:
    """Return texts with secrets, personal values, marks and codes next to each other."""
    rng = random.Random(seed)
    out = []
    for text in corpus(seed, count):
        words = text.split(" ")
        for _ in range(rng.randint(0, 4)):
            words.insert(rng.randrange(len(words) + 1), rng.choice(SECRETS))
        out.append(rng.choice([" ", " ", "", ",", "=", "@", "/"]).join(words))
    return out


def test_redacting_twice_is_redacting_once() -> None:
    for text in mixed(1, 500):
        once = redact(text)
        assert redact(once) == once, text


def test_both_scanners_lead_to_the_same_text() -> None:
    plain = redactor(hyperscan=False)

    for text in mixed(2, 500):
        assert plain.text(text) == redact(text), text


def test_every_secret_that_the_rules_find_in_a_text_goes() -> None:
    for text in mixed(3, 300):
        left = redact(text)
        for start, end, _ in find_secrets(text):
            if end - start > 8 and "<" not in text[start:end]:
                assert text[start:end] not in left, text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password=dana@example.com", "password=<SECRET:password>"),
        ("https://user:pa%40ss@db.example.com/x", "https://<SECRET:url-userinfo>@db.example.com/x"),
        ("<EMAIL_7f3a9c02> <PHONE_2025550143> <WITHHELD:redaction_failed>", None),
        ("<CARD_4242424242424242>", None),
    ],
)
def test_secrets_come_before_personal_data_and_marks_before_both(text: str, left: str | None) -> None:
    assert redact(text) == (text if left is None else left)


def test_a_mark_of_another_name_is_no_mark() -> None:
    assert redact("<ORDER_2025550143>") != "<ORDER_2025550143>"


@pytest.mark.parametrize(
    "text", ["Hi 😀 mail {}!", "e\u0301e\u0301 {}", "𝒟ana <{}>", "\u202e{}\u202c", "{}😀{}", "😀" * 500 + " {} end"]
)
def test_offsets_are_right_behind_anything(text: str) -> None:
    address = "dana.fields@example.com"

    assert redact(text.replace("{}", address)) == text.replace("{}", redact(address))


DANA, PHONE, CARD, KEY = "dana.fields@example.com", "+1 202-555-0143", "4242 4242 4242 4242", "AKIAIOSFODNN7EXAMPLE"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("123‐45‐6789", "123-45-6789"), ("123–45–6789", "123-45-6789"), ("dana\u200b.fields@example.com", DANA),
        ("dana.fields＠example.com", DANA), ("ｄａｎａ.fields@example.com", DANA),
        ("dana.fields@exa\u00admple.com", DANA), ("dana.fields%40example.com", DANA),
        ("dana.fields\\u0040example.com", DANA), ("AKIA\u200dIOSFODNN7EXAMPLE", KEY), ("ＡＫＩＡIOSFODNN7EXAMPLE", KEY),
        ("+1\u00a0202\u2011555\u20110143", PHONE), ("٢٠٢-٥٥٥-٠١٤٣", "202-555-0143"),
        ("４２４２ ４２４２ ４２４２ ４２４２", CARD),
    ],
)  # fmt: skip
def test_a_disguise_goes_whole_and_gets_the_token_of_the_plain_value(text: str, plain: str) -> None:
    assert redact(f"[{text}]") == f"[{redact(plain)}]"


def test_a_text_without_hits_keeps_its_disguises() -> None:
    text = "ｆｕｌｌ　width, 👩‍👩‍👧‍👦🇵🇹, caf\u00ad\u00e9, ½, \\u0041, %20, a–b"

    assert redact(text) == text


def test_an_invisible_border_hides_nothing() -> None:
    assert "4242" not in redact("x\u200b4242 4242 4242 4242")


def test_of_overlapping_spots_secrets_win_and_personal_ones_join() -> None:
    secret = Spot(5, 9, "secret", "password", "")
    long, short = Spot(0, 8, "personal", "EMAIL", "a"), Spot(6, 10, "personal", "PHONE", "b")
    code = Spot(0, 4, "base64", "", "c")

    assert _resolved([long, secret]) == ([secret], True)
    assert _resolved([secret, short]) == ([secret], True)
    assert _resolved([long, short]) == ([Spot(0, 10, "personal", "EMAIL", "a")], False)
    assert _resolved([long, code]) == ([long], True)
    assert _resolved([code, secret]) == ([code, secret], False)


def test_the_profile_presidio_still_removes_secrets() -> None:
    stock = redactor(profile="presidio")

    for text in mixed(4, 60):
        once = stock.text(text)
        assert strip_secrets(once) == once or "\\" in text or "%" in text
        assert stock.text(once) == once


class Thorough(Detector):
    """Judges every phone number, those inside of what goes anyway, too."""

    def judge(
        self, text: str, hits: Hits, check: Check = lambda: None, settled: Settled | None = None
    ) -> list[Finding]:
        every = [item for item in super().judge(text, hits, check) if item.entity == "PHONE"]
        others = [item for item in super().judge(text, hits, check, settled) if item.entity != "PHONE"]
        return others + every


def test_that_numbers_inside_of_what_goes_are_not_judged_changes_nothing() -> None:
    regions = ("US", "GB", "DE", "FR", "IL", "IN", "CA", "BR")
    settings = RedactSettings(regions=regions)
    quick = Redactor(TENANT_KEY, settings)
    thorough = Redactor(TENANT_KEY, settings, detector=Thorough(regions=regions))
    edits = 0

    for text in mixed(23, 400):
        assert quick.edits(text) == thorough.edits(text), text
        edits += len(quick.edits(text))

    assert edits > 500
