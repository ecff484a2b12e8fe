from hypothesis import given
from hypothesis import strategies as st

from runreel.onward import Onward

HOUR = 3600 * 10**9


@given(st.lists(st.tuples(st.integers(-10 * HOUR, 10 * HOUR), st.integers(0, HOUR)), max_size=30))
def test_it_never_goes_back_and_never_lags_what_has_passed(steps: list[tuple[int, int]]) -> None:
    wall, steady = [100 * HOUR], [0]
    clock = Onward(lambda: wall[0], lambda: steady[0])
    before = clock()

    for jump, passed in steps:
        wall[0] += jump + passed
        steady[0] += passed
        now = clock()
        assert now >= max(wall[0], before + passed)
        before = now


def test_it_is_the_clocks_time_where_nobody_sets_it() -> None:
    wall, steady = [100 * HOUR], [0]
    clock = Onward(lambda: wall[0], lambda: steady[0])
    wall[0] += 5
    steady[0] += 5

    assert clock() == wall[0]
