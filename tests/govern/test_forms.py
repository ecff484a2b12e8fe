import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.govern.forms import forms, samples


@given(st.text(st.characters(codec="utf-8"), min_size=5, max_size=40))
def test_a_value_is_found_in_every_form_that_a_program_writes(value: str) -> None:
    needles = forms(value)

    for form, sample in samples(value):
        assert any(needle in sample for needle in needles.values()), form


def test_forms_that_look_the_same_are_looked_for_once() -> None:
    needles = forms("abcdef")

    assert len(set(needles.values())) == len(needles)
    assert "json" not in needles
    assert needles["plain"] == b"abcdef"


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_base64_is_found_at_each_alignment(shift: int) -> None:
    (sample,) = [data for form, data in samples("dana.fields@example.com") if form == f"base64/{shift}"]
    needles = forms("dana.fields@example.com")

    assert needles[f"base64/{shift}"] in sample
