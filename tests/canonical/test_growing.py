"""The memo of growing texts saves work and changes nothing."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonical_values import ANY_TEXT, JSON_DOCUMENTS
from runreel.canonical import exact_ref, split_payload
from runreel.canonical.growing import Memo

FILLER = "A system prompt that makes the text long enough. " * 100


@given(
    st.lists(st.lists(JSON_DOCUMENTS | st.just(FILLER), max_size=3), min_size=1, max_size=5),
    st.sampled_from([1, 40, 256]),
    st.booleans(),
)
def test_a_memo_changes_no_result(steps: list[list[Any]], threshold: int, ascii_only: bool) -> None:
    memo = Memo(10_000_000)
    history: list[Any] = [{"role": "system", "content": FILLER}]
    for step in steps:
        history += step
        text = json.dumps(history, ensure_ascii=ascii_only)

        assert split_payload(text, threshold, memo) == split_payload(text, threshold)


@given(st.lists(ANY_TEXT, min_size=1, max_size=5))
def test_a_memo_changes_no_result_for_text_that_only_starts_like_json(pieces: list[str]) -> None:
    memo = Memo(10_000_000)
    text = '["' + FILLER + '"'
    for piece in pieces:
        text += piece

        assert split_payload(text, 40, memo) == split_payload(text, 40)


def test_a_memo_knows_the_longest_prefix() -> None:
    memo = Memo(10_000_000)
    split_payload(_history(3), memo=memo)
    split_payload(_history(5), memo=memo)

    known = memo.longest(_history(9))

    assert known.text == _history(5)[: len(known.text)]
    assert known.text.endswith('step 4"')
    assert memo.longest("another text" * 100).text == ""


def _history(steps: int, first: str = "") -> str:
    turns = [{"role": "user", "content": FILLER[:300] + f"step {step}"} for step in range(steps)]
    return json.dumps([{"role": "system", "content": FILLER + first}, *turns])


def test_a_memo_is_bounded() -> None:
    memo = Memo(20_000)
    for number in range(50):
        split_payload(_history(3, f"run {number}"), memo=memo)
        split_payload(f'[{{"a{number:04d}": "{FILLER}"}}]', memo=memo)
    split_payload(_history(100), memo=memo)  # more than the memo may hold

    held = [text for number in range(50) if (text := memo.longest(_history(3, f"run {number}")).text)]

    assert sum(map(len, held)) <= 20_000


def test_runs_of_one_agent_are_told_apart() -> None:
    memo = Memo(10_000_000)
    for number in range(40):
        split_payload(_history(2, f"run {number:02d}"), memo=memo)

    assert all(len(memo.longest(_history(3, f"run {number:02d}")).text) > len(FILLER) for number in range(10, 40))


@pytest.mark.parametrize(
    "text", ['["' + FILLER + "\ud83d" + '"]', FILLER, "[" + "1, " * 3000 + "2]", '["' + "a, " * 3000]
)
def test_what_does_not_grow_is_split_all_the_same(text: str) -> None:
    memo = Memo(10_000_000)

    assert split_payload(text, memo=memo) == split_payload(text)
    assert split_payload(text, memo=memo)[0] == exact_ref(text)


def test_a_memo_serves_several_threads() -> None:
    memo = Memo(100_000)
    texts = [_history(steps, f"run {number}") for steps in range(1, 12) for number in range(6)]
    expected = [split_payload(text) for text in texts]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: split_payload(text, memo=memo), texts))

    assert found == expected
