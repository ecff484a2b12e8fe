"""Failures of redaction that people met in the field, each with its whole kind, through decoding and the redactor."""

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from otlp_build import ROOT, agent, req, span, tool
from redaction import redact, redactor
from runreel.otlp import decode
from runreel.processors.schema import Schema
from runreel.values import CleanBatch

MAIL, OTHER = "dana.fields@example.com", "bob@example.com"
PHONE, CARD = "+1 202-555-0143", "4242 4242 4242 4242"


def cleaned(*spans: Any) -> CleanBatch:
    request = req(agent(), *spans)
    return redactor().process(Schema().process(decode("traces", request.SerializeToString(), "protobuf", "default")))


def echoed(values: Sequence[Any]) -> list[tuple[str, str]]:
    """Return arguments and result of tool calls that were given each of the values in both."""
    calls = [
        tool(f"00000000000001{place:02x}", ROOT, "echo", {"t": value}, value, id=f"c{place}", at=place)
        for place, value in enumerate(values)
    ]
    spans = cleaned(*calls).spans[1:]
    return [
        (str(one.attributes["gen_ai.tool.call.arguments"]), str(one.attributes["gen_ai.tool.call.result"]))
        for one in spans
    ]


# C22: offsets behind an emoji
EMOJI = [
    f"Hi \U0001f600 mail {MAIL}!",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466\U0001f1f5\U0001f1f9 " + PHONE + " ok",
    f"e\u0301e\u0301 {MAIL}", f"\U0001d49fana <{MAIL}>", "\U0001f600" * 500 + f" {CARD} end", f"\u202e{MAIL}\u202c",
    f"{MAIL}\U0001f600{MAIL}", f"\U0001f600{PHONE}\U0001f600", f"\u05d0\u05d1 {MAIL} \u05d2", f"{CARD}\u200d\U0001f600",
]  # fmt: skip


def test_c22_exactly_the_value_is_replaced_whatever_stands_around_it() -> None:
    for text, (arguments, result) in zip(EMOJI, echoed(EMOJI), strict=True):
        right = text
        for value in (MAIL, PHONE, CARD):
            right = right.replace(value, redact(value))

        assert result == right
        assert json.loads(arguments) == {"t": right}
        assert result.encode()  # no half of a surrogate pair


# C23: redacting the serialised JSON
RESULTS: list[Any] = [
    {"cmd": 'curl -H "Authorization: Bearer tok_0123456789abcdef" "http://svc.example.com"'},
    {"log": f"line1\n{OTHER}\nline3"}, {"log": f"a\t{OTHER}"}, {"password": "p@ss\\", "errno": -2},
    {"headers": {"Cookie": {"session": "abc123"}, "Host": "example.com"}}, {"X-Api-Key": 12345, "next": "kept"},
    {"out": '"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"'},
    {"deep": json.dumps({"deeper": json.dumps({"email": OTHER})})}, {"a": [{"token": ["x1", {"y": 2.5}]}, None, True]},
    {f"key of {OTHER}": {"\u0000\u0001": OTHER}}, {"card": 4242424242424242, "neg": -4242424242424242},
]  # fmt: skip
SECRETS = ["tok_0123456789abcdef", OTHER, "p@ss", "abc123", "12345", "wJalrXUtnFEMI", "4242424242424242"]


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [_shape(item) for item in value.values()]
    return [_shape(item) for item in value] if isinstance(value, list) else None


def test_c23_every_payload_parses_and_differs_only_inside_its_texts() -> None:
    for before, (_, result) in zip(RESULTS, echoed(RESULTS), strict=True):
        after = json.loads(result)

        assert _shape(after) == _shape(before)
        assert [key.replace(redact(OTHER), OTHER) for key in after] == list(before)
        assert not any(secret in result for secret in SECRETS)
    assert json.loads(echoed(RESULTS)[3][1])["errno"] == -2
    assert json.loads(echoed(RESULTS)[5][1])["next"] == "kept"


def test_c23_all_spellings_of_an_address_give_one_token() -> None:
    left = echoed([RESULTS[1], RESULTS[2], RESULTS[7], RESULTS[9], OTHER])

    assert {token for _, result in left for token in re.findall("<EMAIL_[0-9a-f]+>", result)} == {redact(OTHER)}


# C25: private keys over many lines, and without an end
def pem(kind: str = "PRIVATE KEY", line: str = "\n", *, end: bool = True) -> str:
    body = line.join("MIIBFAKE" + "0123456789ABCDEFabcdef" * 2 for _ in range(6))
    last = f"-----END {kind}-----{line}" if end else "... (output truncated)"
    return f"-----BEGIN {kind}-----{line}{body}{line}{last}"


KEYS: list[Any] = [
    pem(), pem("RSA PRIVATE KEY", "\r\n"), pem("OPENSSH PRIVATE KEY"), pem("ENCRYPTED PRIVATE KEY"), pem(end=False),
    pem(line="\\n"), "  | ".join(pem().splitlines(keepends=True)), pem() + "between " + pem("EC PRIVATE KEY"),
    {"key": pem()},
    pem().splitlines(), {"env": f"KEY={pem(line=chr(92) + 'n')}"}, json.dumps(json.dumps({"key": pem(end=False)})),
    pem("PGP PRIVATE KEY BLOCK"), "> " + pem().replace("\n", "\n> "), pem()[100:],
]  # fmt: skip
PUBLIC = [pem("CERTIFICATE"), pem("PUBLIC KEY"), "the marker -----BEGIN PRIVATE KEY----- in prose"]


def test_c25_of_a_private_key_no_line_is_left() -> None:
    for arguments, result in echoed(KEYS):
        assert "MIIBFAKE" not in arguments + result
        assert "ABCDEFabcdef" not in arguments + result
        assert "<SECRET:private-key>" in result
    assert "between " in echoed(KEYS)[7][1]


def test_c25_what_is_public_stays() -> None:
    assert [result for _, result in echoed(PUBLIC)] == PUBLIC


# C26: signed URLs
URLS = {
    "https://b.s3.amazonaws.com/r.pdf?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20260101"
    "%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Signature=0badc0de0badc0de&X-Amz-Security-Token=tok":
    "https://b.s3.amazonaws.com/r.pdf?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=*&X-Amz-Signature=*"
    "&X-Amz-Security-Token=*",
    "https://acct.blob.core.windows.net/c/f?sv=2024-01-01&se=2026-01-02&sig=Zm9vYmFy%2Bfoo%3D":
    "https://acct.blob.core.windows.net/c/f?sv=2024-01-01&se=2026-01-02&sig=*",
    "https://storage.googleapis.com/b/o?X-Goog-Signature=00ff&X-Goog-Credential=x":
    "https://storage.googleapis.com/b/o?X-Goog-Signature=*&X-Goog-Credential=*",
    "https://user:pa%40ss@db.example.com:5432/x?sslmode=on": "https://*@db.example.com:5432/x?sslmode=on",
    "https://api.example.com/v1?x_amz_signature=aa&API%5FKEY=k-123&page=2#access_token=abc":
    "https://api.example.com/v1?x_amz_signature=*&API%5FKEY=*&page=2#access_token=*",
    "https://cdn.example.com/f?Policy=eyJ&Signature=abc&Key-Pair-Id=K1":
    "https://cdn.example.com/f?Policy=eyJ&Signature=*&Key-Pair-Id=K1",
    "https://example.com/reset?token=abc.def.ghi&next=/home": "https://example.com/reset?token=*&next=/home",
    "https://x.example.com/a?b=1&amp;sig=abc&amp;c=2": "https://x.example.com/a?b=1&amp;sig=*&amp;c=2",
}  # fmt: skip


def test_c26_of_a_signed_url_only_the_credentials_go_and_always_alike() -> None:
    texts = [f"saved {url}, see ({url})." for url in URLS]
    web = span("GET", "00000000000000c1", ROOT, kind=3, attrs={f"url.{n}.full": url for n, url in enumerate(URLS)})

    seen = [re.sub("<SECRET:[a-z-]+>", "*", result) for _, result in echoed(texts)]
    attributes = cleaned(web).spans[1].attributes
    kept = [re.sub("<SECRET:[a-z-]+>", "*", str(attributes[f"url.{n}.full"])) for n in range(len(URLS))]

    assert seen == [f"saved {left}, see ({left})." for left in URLS.values()]
    assert kept == list(URLS.values())


# C28: numbers and ids that are not personal
KEEP = [
    "110bcd25-a55d-453a-8046-1297901ea002", "call_dda6f6b3ffcc05d4dca181a9", "0af7651916cd43dd8448eb211c80319c",
    "1747731000", "1767225600000", "2026-01-01T00:00:00Z", "build 10.4.2.1", "v2.1.1.108", "std::vector", "b::",
    "0.9134567890", "38.7223", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "git@github.com:acme/repo.git", "@scope/pkg@1.2.3", "<task-notification>", "0.0.0.0", "127.0.0.1", "chatcmpl-29c1",
    "$12,345.67", "ISBN 978-3-16-148410-0", "add::face", "max_tokens=4096", "rev 1.2.3.4", "1747731000.123456",
    "resp_68a1b2c3d4e5f60718293a4b5c6d7e8f", "2001-01-01 00:00:00.000", "localhost:8080", "10.0.0.12", "ttl=86400000",
]  # fmt: skip
MASK = [
    PHONE, "(202) 555-0143", "+49 30 901820", CARD, "4242-4242-4242-4242", "203.0.113.7", "2001:db8::7334",
    "a+b.c@sub.example.co.uk", "DE89370400440532013000", "123-45-6789", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
]  # fmt: skip


def test_c28_ids_hashes_versions_times_and_scores_stay_byte_for_byte() -> None:
    values = [{"v": value, "id": value, "score": 0.9134567890, "created": 1747731000} for value in KEEP]

    assert [json.loads(result) for _, result in echoed(values)] == values
    assert [result for _, result in echoed([f"got {value} ok" for value in KEEP])] == [f"got {one} ok" for one in KEEP]


def test_c28_what_is_personal_goes() -> None:
    for value, (arguments, result) in zip(MASK, echoed([f"got {value} ok" for value in MASK]), strict=True):
        assert re.fullmatch(r"got <[A-Z]+_[0-9a-f]{8}> ok", result), value
        assert value not in arguments


# C29: disguised by Unicode
DISGUISED = {
    "123\u201045\u20106789": "123-45-6789", "123\u201345\u20136789": "123-45-6789",
    "dana\u200b.fields@example.com": MAIL, "dana.fields\uff20example.com": MAIL,
    "\uff44\uff41\uff4e\uff41.fields@example.com": MAIL, "+1\u00a0202\u2011555\u20110143": PHONE,
    "\uff14\uff12\uff14\uff12 \uff14\uff12\uff14\uff12 \uff14\uff12\uff14\uff12 \uff14\uff12\uff14\uff12": CARD,
    "dana.fields@exa\u00admple.com": MAIL, "AKIA\u200dIOSFODNN7EXAMPLE": "AKIAIOSFODNN7EXAMPLE",
    "\u0662\u0660\u0662-\u0665\u0665\u0665-\u0660\u0661\u0664\u0663": "202-555-0143",
    "d\u0430na.fields@ex\u0430mple.com": MAIL, "dana.fields@example.c\u043em": MAIL,
    "\U0001d41d\U0001d41a\U0001d427\U0001d41a.fields@example.com": MAIL, "dana\ufe52fields\ufe6bexample.com": MAIL,
    "4242\u20074242\u20074242\u20074242": CARD, "AK\u0406AIOSFODNN7EXAMPLE": "AKIAIOSFODNN7EXAMPLE",
}  # fmt: skip


@pytest.mark.parametrize(("text", "plain"), DISGUISED.items())
def test_c29_a_disguised_value_goes_whole_and_gets_the_token_of_the_plain_one(text: str, plain: str) -> None:
    ((arguments, result),) = echoed([f"[{text}]"])

    assert result == f"[{redact(plain)}]"
    assert json.loads(arguments) == {"t": result}


def test_c29_text_without_a_finding_keeps_its_bytes() -> None:
    texts = [
        "\uff46\uff55\uff4c\uff4c\u3000width",
        "caf\u00ad\u00e9 \u00bd \u2013",
        "\u043f\u0440\u0438\u0432\u0435\u0442 abc",
    ]

    assert [result for _, result in echoed(texts)] == texts
