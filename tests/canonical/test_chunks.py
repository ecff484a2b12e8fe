"""Long skeletons are cut by their content: whatever they grew from, and whatever follows."""

from hypothesis import given
from hypothesis import strategies as st

from runreel.canonical.chunks import Cut, cut, whole
from runreel.canonical.parts import Parts

PIECES = st.lists(st.text('{}[]" :,ab\ue000日', max_size=400).map(lambda text: text * 9), max_size=9)


@given(PIECES, st.text(min_size=1, max_size=50))
def test_a_skeleton_that_grew_piece_by_piece_is_cut_as_one_that_came_whole(pieces: list[str], rest: str) -> None:
    start, grown, at_once = Cut(), dict[str, tuple[bytes, str]](), dict[str, tuple[bytes, str]]()
    for piece in pieces:
        start = start.grown(piece)

    skeleton = start.closed(rest, grown)

    assert skeleton == cut("".join(pieces) + rest, at_once)
    assert grown == at_once
    assert whole(skeleton, lambda sha256: grown[sha256][0]) == "".join(pieces) + rest


def test_a_long_skeleton_shares_its_chunks_with_the_one_that_continues_it() -> None:
    turns = "".join(f'{{"turn": {number}, "said": "word {number * 7919}"}},' for number in range(400))
    short, long = Parts(), Parts()

    cut(turns, short)
    cut(turns + "and more", long)

    assert len(short) > 3
    assert short.keys() <= long.keys()
    assert sum(len(data) for data, _ in short.values()) > len(turns) // 2


def test_a_short_skeleton_stays_whole() -> None:
    parts: Parts = {}

    assert cut("[]" * 2000, parts) == "[]" * 2000
    assert parts == {}
