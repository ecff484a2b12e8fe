from hypothesis import given
from hypothesis import strategies as st

from runreel.semconv.names import names_of

NAMES = st.lists(st.sampled_from(["gen_ai.a", "gen_ai.b", "llm.x", "ai.y", "x", ""]) | st.text(max_size=8), unique=True)


@given(NAMES, st.sampled_from(["gen_ai.", "llm.", ("ai.", "llm."), "", ()]))
def test_names_begin_as_one_of_them_does_however_often_it_is_asked(names, starts):
    expected = any(name.startswith(starts) for name in names)
    assert [names_of(names).begin(starts) for _ in range(3)] == [expected] * 3


def test_an_answer_is_found_once_for_each_set_of_names():
    asked = []
    for names in (("a", "b"), ("a", "b"), ("b", "a")):
        names_of(names).once("question of this test", lambda names=names: asked.append(names))
    assert asked == [("a", "b"), ("b", "a")]


def test_sets_of_names_are_kept_in_bounds():
    long = ("n" * 5000,)
    assert names_of(long) is not names_of(long)
    first = names_of(("first of many",))
    for number in range(1100):
        names_of((f"set {number}",))
    assert names_of(("first of many",)) is not first
