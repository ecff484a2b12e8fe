"""Payloads as stored: exact, verified, and cheap where a history grows."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonical_values import JSON_DOCUMENTS, VALUES, json_texts
from runreel.canonical import dumps, exact_ref, join_payload, make_ref, split_payload
from runreel.canonical.growing import Memo
from runreel.canonical.literals import STYLES
from runreel.canonical.parts import Seen
from runreel.errors import CorruptError, NotFoundError
from runreel.values import Value


def again(value: Value, threshold: int = 256) -> Value:
    ref, skeleton, parts = split_payload(value, threshold)
    assert ref == exact_ref(value)
    skeleton.encode()
    return join_payload(ref.sha256, skeleton, lambda sha256: parts[sha256][0])


@given(VALUES | json_texts(), st.sampled_from([1, 8, 256]))
def test_any_payload_comes_back_exactly(value: Value, threshold: int) -> None:
    assert dumps(again(value, threshold)) == dumps(value)


def history(steps: int) -> list[dict[str, object]]:
    messages: list[dict[str, object]] = [{"role": "system", "content": "You are brief. " * 40}]
    for step in range(steps):
        messages += [
            {"role": "user", "content": f"question {step}"},
            {"role": "assistant", "tool_calls": [{"id": f"call_{step}", "arguments": {"n": step, "at": "noon"}}]},
            {"role": "tool", "content": f"answer {step}: " + f"line {step} of a longer text. " * 20},
        ]
    return messages


@pytest.mark.parametrize("native", [False, True])
def test_a_growing_history_is_stored_once(native: bool) -> None:
    stored: dict[str, int] = {}
    sent = skeletons = 0
    for steps in range(1, 81):
        text = json.dumps(history(steps))
        value: Value = json.loads(text, object_hook=dict) if native else text
        if native:
            value = _tuples(value)
        ref, skeleton, parts = split_payload(value)
        assert join_payload(ref.sha256, skeleton, lambda sha256: parts[sha256][0]) == value  # noqa: B023
        stored |= {sha256: len(data) for sha256, (data, _) in parts.items()}
        skeletons += len(skeleton)
        sent += len(text)

    assert sum(stored.values()) < len(text) * 2
    assert skeletons < sent / 10


def test_a_document_inside_of_a_long_text_may_hold_a_lone_surrogate() -> None:
    inner = json.dumps({"path": "\ud800.txt", "body": "b" * 300}, ensure_ascii=False)
    text = json.dumps([{"content": inner}, {"content": "c" * 5000}])
    ref, skeleton, parts = split_payload(text, memo=Memo(100_000))
    assert ref == exact_ref(text)
    assert join_payload(ref.sha256, skeleton, lambda sha256: parts[sha256][0]) == text


def _tuples(value: object) -> Value:
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return value  # type: ignore[return-value]


def test_values_that_differ_in_type_or_order_only_are_two_payloads() -> None:
    one: Value = {"a": 1, "b": ("x" * 300,)}
    other: Value = {"b": ("x" * 300,), "a": 1.0}

    assert make_ref(one) == make_ref(other)
    assert split_payload(one)[0] != split_payload(other)[0]
    assert split_payload(one)[2] == split_payload(other)[2]


def test_what_does_not_give_the_value_is_corrupt() -> None:
    value = json.dumps(history(60))
    ref, skeleton, parts = split_payload(value)
    longest = max(parts, key=lambda sha256: len(parts[sha256][0]))
    get = {sha256: data for sha256, (data, _) in parts.items()}

    for bad in (skeleton[:-1], skeleton[1:], "", "\ue000c:;", "[" * 100_000, skeleton.replace("role", "rule")):
        with pytest.raises(CorruptError, match=ref.sha256):
            join_payload(ref.sha256, bad, get.__getitem__)
    with pytest.raises(CorruptError, match=ref.sha256):
        join_payload(ref.sha256, skeleton, {**get, longest: b"other text"}.__getitem__)
    with pytest.raises(CorruptError, match=ref.sha256):
        join_payload(ref.sha256, skeleton, lambda _: b"\xff")


def test_a_part_that_is_missing_is_said_by_who_was_asked() -> None:
    ref, skeleton, _ = split_payload("x" * 300)

    def nothing(sha256: str) -> bytes:
        raise NotFoundError(f"no part {sha256}")

    with pytest.raises(NotFoundError):
        join_payload(ref.sha256, skeleton, nothing)


@given(st.lists(JSON_DOCUMENTS, min_size=1, max_size=5), st.sampled_from([1, 40, 256]))
def test_literals_that_were_seen_change_no_result(documents: list[Any], threshold: int) -> None:
    seen = Seen()
    texts = [json.dumps({"inside": json.dumps(document), "text": "long " * 60}) for document in documents]

    for text in [*texts, *texts, json.dumps(texts)]:
        assert split_payload(text, threshold, seen=seen) == split_payload(text, threshold)


HEAD = "the same beginning, " * 20
ENDS = st.sampled_from(["", "a", '"', "\\", "\\n", "\n", "/", "é", "\ud800", '", "', '\\",', "<&>", "]"])


@given(st.lists(ENDS, min_size=1, max_size=6), st.lists(st.sampled_from("agpuvb"), min_size=1, max_size=6))
def test_literals_that_begin_alike_are_told_apart(ends: list[str], styles: list[str]) -> None:
    literals = [
        f'"{HEAD}{end}"' if style == "b" else STYLES[style](HEAD + end)
        for end, style in zip(ends, styles * len(ends), strict=False)
    ]
    texts = [f'{{"a":{literal}}}' for literal in literals]
    texts += [f'["x",{",".join(literals)}', *literals]
    seen = Seen()

    for text in [*texts, *reversed(texts)]:
        assert split_payload(text, seen=seen) == split_payload(text)


def test_a_very_large_literal_is_not_kept_to_be_known_again() -> None:
    seen = Seen()
    large, small = "x" * 1_000_001, "y" * 1000

    ref, _, parts = split_payload(json.dumps([large, small]), seen=seen)

    assert [*seen.contents] == [small]
    assert [literal for literal, _, _ in seen.literals.values()] == [f'"{small}"']
    assert ref.size > len(large)
    assert sorted(len(data) for data, _ in parts.values()) == [1000, 1_000_001]
