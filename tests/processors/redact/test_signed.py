import json

import pytest

from redaction import redactor
from runreel.processors.redact.signed import broken
from runreel.values import RawBatch, Span, SpanKey

SIGNATURE = "EqQBCgIYAhIkNzQzYWJjZGVm"
MAIL = "dana.fields@example.com"
BLOCK = {"type": "thinking", "thinking": "mail dana.fields@example.com", "signature": SIGNATURE}


@pytest.mark.parametrize("key", ["signature", "thoughtSignature", "content_hash", "sha256", "checksum", "etag"])
def test_a_signed_block_that_changed_is_broken(key: str) -> None:
    before = {"text": "a", key: SIGNATURE}

    assert broken(before, {**before, "text": "b"})
    assert broken((before,), ({**before, "text": "b"},))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BLOCK, BLOCK),
        ({"text": "a", "signature": ""}, {"text": "b", "signature": ""}),
        ({"text": "a", "hash": "no"}, {"text": "b", "hash": "no"}),
        ([BLOCK, {"text": "a"}], [BLOCK, {"text": "b"}]),
        ("a", "b"),
        (1, 2),
    ],
)
def test_what_is_unsigned_or_unchanged_is_not_broken(before: object, after: object) -> None:
    assert not broken(before, after)


def test_a_span_says_where_redaction_broke_a_signature() -> None:
    fine = json.dumps([{"a": {"text": MAIL}, "b": {"text": "x", "signature": SIGNATURE}}, {"text": MAIL, "hash": "no"}])
    attributes = {"gen_ai.input.messages": json.dumps([{"role": "assistant", "parts": [BLOCK]}]), "other": fine}
    span = Span(SpanKey("default", "1" * 32, "2" * 16), None, "chat", 1, 2, attributes=attributes)

    (clean,) = redactor().process(RawBatch("default", (span,))).spans

    broke = [mark for mark in clean.marks if mark.startswith("signature_broken:")]
    assert broke == ["signature_broken:attributes/gen_ai.input.messages:redacted"]
    assert SIGNATURE in str(clean.attributes["gen_ai.input.messages"])
