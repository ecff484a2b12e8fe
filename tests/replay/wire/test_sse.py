import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.replay.wire.sse import event, pieces


@given(st.text())
def test_pieces_add_up_to_the_text(text):
    assert "".join(pieces(text)) == text


@pytest.mark.parametrize(("length", "count"), [(0, 0), (1, 1), (4, 1), (5, 2), (100_000, 64)])
def test_a_text_comes_in_several_pieces_but_never_in_many(length, count):
    assert len(list(pieces("x" * length))) == count


def test_events_are_lines_with_an_empty_one_after_them():
    assert event(b'{"a":1}') == b'data: {"a":1}\n\n'
    assert event(b"{}", "ping") == b"event: ping\ndata: {}\n\n"
