import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.semconv.reading import read
from runreel.semconv.usage import including_cache
from runreel.semconv.view import View
from runreel.values import Value
from span_kit import make_span

COUNT = st.integers(0, 10**6)


@pytest.mark.parametrize(
    ("usage", "total", "wanted"),
    [
        # more cached than read: the cached tokens were left out
        ({"input_tokens": 12, "cache_read": 15000, "cache_write": 240}, None, 15252),
        # the sender's total adds them
        ({"input_tokens": 100, "output_tokens": 5, "cache_read": 40}, 145, 140),
        # the total says that they are included
        ({"input_tokens": 100, "output_tokens": 5, "cache_read": 40}, 105, 100),
        ({"input_tokens": 100, "output_tokens": 5, "cache_read": 40}, None, 100),
        ({"input_tokens": 100, "output_tokens": 5}, 105, 100),
        ({"input_tokens": 40, "cache_read": 40}, None, 40),
        ({"cache_read": 40}, 40, None),
    ],
)
def test_tokens_read_include_the_cached_ones(usage: dict[str, Value], total: Value, wanted: Value) -> None:
    assert including_cache(usage, total).get("input_tokens") == wanted


@given(read_=COUNT, new=COUNT, written=COUNT, answered=COUNT)
def test_whoever_means_it_so_already_is_left_alone(read_: int, new: int, written: int, answered: int) -> None:
    usage: dict[str, Value] = {
        "input_tokens": read_ + written + new,
        "output_tokens": answered,
        "cache_read": read_,
        "cache_write": written,
    }

    assert including_cache(usage, read_ + written + new + answered) == usage


def test_a_spans_own_total_is_looked_at() -> None:
    usage: dict[str, Value] = {"input_tokens": 10, "output_tokens": 2, "cache_read.input_tokens": 8, "total_tokens": 20}
    span = make_span({"gen_ai.operation.name": "chat"} | {f"gen_ai.usage.{key}": one for key, one in usage.items()})

    assert read(View(span)).fields["usage"] == {"input_tokens": 18, "output_tokens": 2, "cache_read": 8}
