import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runreel.spool.records import decode, encode
from runreel.values import Part, Payload, Ref, Rejection, Sealed, SplitBatch
from stored_rows import log_events, part, row, span_rows

batches = st.builds(
    SplitBatch,
    st.just("default"),
    st.lists(span_rows("default"), max_size=3).map(tuple),
    st.lists(log_events("default"), max_size=3).map(tuple),
    st.lists(
        st.builds(
            Payload,
            st.just("default"),
            st.builds(Ref, st.text("0123456789abcdef", min_size=64, max_size=64), st.integers(0, 2**40)),
            st.text(max_size=30),
            st.lists(st.text("0123456789abcdef", min_size=64, max_size=64), max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    st.lists(st.binary(max_size=300).map(part), max_size=3).map(tuple),
    st.lists(st.builds(Rejection, st.sampled_from(["span", "log"]), st.text(max_size=9)), max_size=2).map(tuple),
    st.lists(
        st.builds(
            Sealed, st.just("default"), st.text(max_size=9), st.text(max_size=9), st.text(max_size=9), st.binary()
        ),
        max_size=2,
    ).map(tuple),
)


@settings(max_examples=60)
@given(batches)
def test_a_batch_comes_back_exactly(batch: SplitBatch) -> None:
    again = decode(encode(batch))

    assert again == batch
    assert repr(again) == repr(batch)  # 1 and 1.0 and True are equal and are not the same


def test_what_many_rows_share_is_written_once() -> None:
    shared = row("00000000000000a1")
    rows = tuple(row(f"{number:016x}", resource=shared.span.resource) for number in range(1, 101))

    text = encode(SplitBatch("default", rows))

    assert text.count(b"billing-1") == 1


@settings(max_examples=60)
@given(batches, st.data())
def test_a_record_that_is_cut_is_no_batch(batch: SplitBatch, data: st.DataObject) -> None:
    record = encode(SplitBatch("default", batch.rows, parts=(Part("default", "ab" * 32, b"data"),)))
    size = data.draw(st.integers(0, len(record) - 1))

    with pytest.raises((ValueError, TypeError, KeyError, struct.error)):
        decode(record[:size])
