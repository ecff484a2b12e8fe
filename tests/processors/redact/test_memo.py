import gc
import json
import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from redaction import redactor
from runreel.processors.redact.memo import Memo, encoded
from runreel.values import RawBatch, Value
from span_kit import make_span


def test_the_least_recently_used_goes_first() -> None:
    memo: Memo[int] = Memo(2, "1")
    a, b, c = (memo.key(text) for text in "abc")
    memo.put(a, 1)
    memo.put(b, 2)

    assert memo.get(a) == 1
    memo.put(c, 3)

    assert memo.get(b) is None
    assert (memo.get(a), memo.get(c), len(memo)) == (1, 3, 2)


@given(st.text(st.characters(), min_size=1))
def test_keys_do_not_hold_the_text_and_differ_between_memos(text: str) -> None:
    memo: Memo[int] = Memo(2, "1")

    assert len(memo.key(text)) == 32
    assert memo.key(text) == memo.key(text) != memo.key(text + "x")
    assert memo.key(text) != Memo[int](2, "1").key(text)


def test_lone_surrogates_have_keys() -> None:
    assert Memo[int](2, "1").key("\ud800") != Memo[int](2, "1").key("?")


def test_a_heavy_result_takes_the_room_of_several() -> None:
    memo: Memo[int] = Memo(3, "1")
    a, b, c = (memo.key(text) for text in "abc")
    memo.put(a, 1)
    memo.put(b, 2, 2)
    memo.put(b, 2, 1)
    memo.put(c, 3, 2)

    assert [memo.get(key) for key in (a, b, c)] == [None, 2, 3]
    memo.put(a, 1, 4)

    assert len(memo) == 0


def test_a_key_may_be_made_in_pieces() -> None:
    memo: Memo[int] = Memo(2, "1")
    hasher = memo.hasher()
    hasher.update(encoded("a\ud800"))
    hasher.update(encoded("b"))

    assert hasher.digest() == memo.key("a\ud800b")


def test_names_of_any_length_do_not_stay_in_memory() -> None:
    clean = redactor()
    names = [f"{'a name ' * 20_000}{number}" for number in range(20)]  # 140 KB each

    def take(some: list[str]) -> None:
        attributes: dict[str, Value] = {
            **dict.fromkeys(some, "a value of it"),
            "document": json.dumps(dict.fromkeys(some, 1)),
        }
        clean.process(RawBatch("default", (make_span(attributes),)))

    take(["a name"])
    tracemalloc.start()
    try:
        take(names)
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert held < 500_000
