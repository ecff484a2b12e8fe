from hypothesis import given
from hypothesis import strategies as st

from runreel.semconv.indexed import branches, indexed
from runreel.semconv.view import View
from span_kit import make_span


def test_entries_come_in_the_order_of_their_numbers() -> None:
    view = View(make_span({"t.10.name": "k", "t.2.name": "c", "t.0.name": "a", "tx.0.name": "no"}))

    source, entries, complete = indexed(view, "t")

    assert (source, entries, complete) == ("attributes", [{"name": "a"}, {"name": "c"}, {"name": "k"}], False)


def test_a_list_without_holes_is_complete() -> None:
    assert indexed(View(make_span({"t.0.a": 1, "t.1.a": 2})), "t")[2] is True


def test_branches_are_the_lists_inside() -> None:
    (entry,) = indexed(View(make_span({"t.0.calls.1.id": "b", "t.0.calls.0.id": "a", "t.0.calls.x.id": "no"})), "t")[1]

    assert branches(entry["calls"]) == [{"id": "a"}, {"id": "b"}]
    assert branches("no list") == []


@given(st.lists(st.lists(st.sampled_from(["0", "1", "a", "", "99999999999", "-1"]), max_size=4), max_size=8))
def test_no_key_makes_it_fail(keys: list[list[str]]) -> None:
    attributes = {".".join(["t", *segments]): index for index, segments in enumerate(keys)}

    for entry in indexed(View(make_span(attributes)), "t")[1]:
        branches(entry.get("a"))
