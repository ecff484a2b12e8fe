import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import otlp_build as build
from redaction import KEY, redact, redactor, texts
from runreel import otlp
from runreel.processors.redact import Redactor, RedactSettings, TenantKey
from runreel.values import RawBatch, Span, SpanKey, Value

KEEP = [
    "110bcd25-a55d-453a-8046-1297901ea002", "call_dda6f6b3ffcc05d4dca181a9", "0af7651916cd43dd8448eb211c80319c",
    "1747731000", "1767225600000", "2026-01-01T00:00:00Z", "build 10.4.2.1", "v2.1.1.108", "std::vector", "b::",
    "0.9134567890", "38.7223", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "git@github.com:acme/repo.git", "@scope/pkg@1.2.3", "<task-notification>", "0.0.0.0", "127.0.0.1", "chatcmpl-29c1",
    "$12,345.67", "ISBN 978-3-16-148410-0",
]  # fmt: skip
MASK = [
    "+1 202-555-0143", "(202) 555-0143", "+49 30 901820", "4242 4242 4242 4242", "4242-4242-4242-4242", "203.0.113.7",
    "2001:db8::7334", "a+b.c@sub.example.co.uk",
]  # fmt: skip


def decoded(request: object) -> RawBatch:
    return otlp.decode("traces", request.SerializeToString(), "protobuf", "default")  # type: ignore[attr-defined]


def echo(values: list[str]) -> RawBatch:
    """Return spans that hold each value in arguments, in a result and, where it is one, as the call's id."""
    tools = [
        build.tool(
            f"00000000000001{place:02x}", build.ROOT, "echo", {"v": value, "id": value},
            {"v": value, "score": 0.9134567890, "created": 1747731000},
            id=value if value.startswith("call_") else f"c{place}", at=place,
        )
        for place, value in enumerate(values)
    ]  # fmt: skip
    return decoded(build.req(build.agent(), *tools))


def test_what_is_not_personal_passes_byte_for_byte() -> None:
    batch = echo(KEEP)

    clean = redactor().process(batch)

    assert clean.spans == batch.spans
    assert clean.counts == {}


def test_what_is_personal_goes_and_nothing_beside_it() -> None:
    batch = echo(MASK)

    clean = redactor().process(batch)

    for value, before, after in zip(MASK, batch.spans[1:], clean.spans[1:], strict=True):
        assert not [text for text in texts(after) if value in text]
        for name, sent in before.attributes.items():
            assert after.attributes[name] == str(sent).replace(value, redact(value))
    assert sum(clean.counts.values()) == 3 * len(MASK)


def test_a_batch_redacted_twice_is_the_batch_redacted_once() -> None:
    once = redactor().process(echo(KEEP + MASK))

    twice = redactor().process(RawBatch(once.tenant, once.spans, once.logs, once.facts, once.rejected))

    assert replace(twice, counts={}) == replace(once, counts={})
    assert twice.counts == {}


def attributes(values: Mapping[str, Value]) -> Mapping[str, Value]:
    span = Span(SpanKey("default", "1" * 32, "2" * 16), None, "x", 1, 2, attributes=values)
    return redactor().process(RawBatch("default", (span,))).spans[0].attributes


def test_tokens_are_the_same_everywhere_with_one_key_and_others_with_another() -> None:
    other = Redactor(TenantKey("other", b"x" * 32), RedactSettings(entities=("EMAIL",)))
    values = {"a": "bob@example.com", "b": json.dumps(["x\nbob@example.com"]), "c": ("Bob@Example.com",)}

    clean = attributes(values)

    token = redact("bob@example.com")
    assert clean == {"a": token, "b": f'["x\\n{token}"]', "c": (token,)}
    assert other.text("bob@example.com") not in ("bob@example.com", token)
    assert (
        Redactor(KEY, RedactSettings(entities=("EMAIL",), token_digits=12))
        .text("bob@example.com")
        .startswith(token[:-1])
    )


def test_long_texts_are_redacted_to_their_end() -> None:
    big = "A" * 5_000_000 + " end-of-payload dana.fields@example.com"

    assert attributes({"big": big})["big"] == big.replace("dana.fields@example.com", redact("dana.fields@example.com"))


@pytest.mark.parametrize(
    "unit",
    ["0123456789", "1", "@", "a", "[", "([", "{[}]", "a@", "a.", ":", "1:", "(1", "\\", '"', '\\"', '{"a":', "token=",
     "%40", "-----BEGIN PRIVATE KEY-----", "eyJ", "://a", "&a=", "<EMAIL_", "\u200b", "\\u0040", "12-34-", "AA11 "],
)  # fmt: skip
def test_hostile_texts_take_time_in_proportion_to_their_size(unit: str) -> None:
    """With a step that looks at every pair of places, none of these would come back within its budget."""
    text = unit * (400_000 // len(unit))

    left = redactor().text(text)

    assert redactor().text(left) == left


def test_threads_share_a_redactor() -> None:
    one = redactor()
    sent = [
        f"{number} mail{number}@example.com +1 202-555-{number:04d} token=abc{number}def " * 30 for number in range(12)
    ]
    expected = [redactor(memo_size=1).text(text) for text in sent]
    got: dict[int, str] = {}

    def work(number: int) -> None:
        got[number] = one.text(sent[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(sent))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [got[number] for number in range(len(sent))] == expected


def test_importing_the_redactor_imports_no_detector() -> None:
    code = (
        "import sys, runreel.processors.chain\n"
        "print([name for name in ('presidio_analyzer', 'spacy', 'hyperscan', 'phonenumbers', 'regex', 'tldextract')"
        " if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_a_missing_list_of_suffixes_is_not_fetched(tmp_path: Path) -> None:
    """In a process of its own, with a cache folder that must stay empty and no way to open a connection."""
    code = (
        "import socket\n"
        "def refuse(*args, **kwargs): raise SystemExit('asked the network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse; socket.create_connection = refuse\n"
        "from runreel.processors.redact import Redactor, TenantKey\n"
        "print(Redactor(TenantKey('k', b'x' * 32)).text('dana@example.com')[:7])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"TLDEXTRACT_CACHE": str(tmp_path)},
    )

    assert done.stdout.strip() == "<EMAIL_"
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_values_that_are_allowed_stay_wherever_they_stand() -> None:
    lenient = redactor(allow=("support@example.com", "sk-test-51HxFAKE0000000000000000", "dummy-1"))
    kept = [
        "write to support@example.com", "key sk-test-51HxFAKE0000000000000000.", '{"password": "dummy-1"}',
        '{"a": {"mail": "support@example.com"}}',
    ]  # fmt: skip
    span = Span(SpanKey("default", "1" * 32, "2" * 16), None, "x", 1, 2, attributes={"password": "dummy-1"})

    assert [lenient.text(text) for text in kept] == kept
    assert lenient.process(RawBatch("default", (span,))).spans[0].attributes == {"password": "dummy-1"}
    assert "dana" not in lenient.text("dana.fields@example.com, support@example.com")
    assert lenient.text('{"password": "dummy-2"}') == '{"password": "<SECRET:password>"}'
