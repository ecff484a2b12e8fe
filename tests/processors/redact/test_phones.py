import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presidio_stock import stock
from runreel.errors import ConfigError
from runreel.processors.redact.detect import Detector
from runreel.processors.redact.phones import Phones


def phones(text: str, *regions: str) -> list[str]:
    detector = Detector(["PHONE"], regions or ("US", "GB"))
    return [text[item.start : item.end] for item in detector.find(text)]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("call +1 202-555-0143 now", "+1 202-555-0143"),
        ("call (202) 555-0143.", "(202) 555-0143"),
        ("Tel. +49 30 901820", "+49 30 901820"),
        ("+1\u00a0202\u2011555\u20110143", "+1\u00a0202\u2011555\u20110143"),
        ("202-555-0143 ext. 12 ok", "202-555-0143 ext. 12"),
    ],
)
def test_national_and_international_numbers_are_found(text: str, number: str) -> None:
    assert phones(text) == [number]


@pytest.mark.parametrize(
    "text",
    ["2026-01-01T00:00:00Z", "a2025550143", "2025550143b", "$2025550143", "1" * 500, "12.34.56", "page 211-227 (2003)"],
)
def test_dates_and_numbers_that_belong_to_something_else_are_not(text: str) -> None:
    assert phones(text) == []


def test_the_verdict_on_a_spelling_is_remembered_with_its_neighbours() -> None:
    detector = Detector(["PHONE"])

    first = [detector.find(text) for text in ("call 2025550143!", "x2025550143", "call 2025550143!")]

    assert [len(found) for found in first] == [1, 0, 1]


def test_national_numbers_need_their_region() -> None:
    assert phones("020 7946 0018", "US") == []
    assert phones("020 7946 0018", "GB") == ["020 7946 0018"]


@pytest.mark.parametrize(
    "text",
    [
        "1112508482300 (202) 555-4739",  # a prefix that stands there twice
        "+1 202 555 0143 999", "+1 851 555 0132 217 / 202-555-0143", "203.0.113.37 445", "020 7946 0018 (202) 555-0143",
        "+00 44 20 7946 0018", "202-555-0143 - 202-555-0144 - 1 - 22", "+00925363172964",
        "+00-4367612874 (202) 555-0143", "(20) 7946 0018 202-555-0143", "+1 446 555 0183 202.555.0143",
        "+442079460958 8 (202) 555-0143", "+442079460018  +442079460958  8 (202) 555-0143",
    ],
)  # fmt: skip
def test_parts_of_a_candidate_that_is_none_as_a_whole_are_what_presidio_finds(text: str) -> None:
    regions = ("US", "GB", "FR")

    assert {text.index(number) for number in phones(text, *regions)} == {
        start for entity, start, *_ in stock(text, regions) if entity == "PHONE"
    }


def test_candidates_inside_of_what_is_taken_are_left_out_and_those_that_reach_out_are_not() -> None:
    finder = Phones(("US",))
    text = "a 202-555-0143 and (202-555-0144 and 202-555-0145 ext. 7 and 202-555-0146 b"
    spans = [match.span() for match in re.finditer(r"\d{3}-\d{3}-\d{4}", text)]
    hits = [(start, end + 1) for start, end in spans]

    found = finder.find(text, hits, lambda: None, spans[:3])

    assert [text[start:end] for start, end in found] == ["(202-555-0144", "202-555-0145 ext. 7", "202-555-0146"]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["202-555-0143, ", "1-", "+1 202 555 0143;", "2025550143\n", "12025550143  "])
    | st.text("0123456789-. ()+x", min_size=1, max_size=14),
    st.integers(30, 150),
    st.sampled_from(["", "7", "b", " ext 5", "-0143 ", "202-555-0143"]),
)
def test_a_number_again_and_again_is_found_as_often_as_without_a_leap(unit: str, times: int, rest: str) -> None:
    text = unit * times + rest
    detector = Detector(["PHONE"])

    found = detector.find(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("runreel.processors.redact.phones._repeats", lambda *_: 0)
        assert detector.find(text) == found


def test_a_text_of_one_and_the_same_candidate_is_leapt_over() -> None:
    asked: list[None] = []
    text = "1-" * 100_000

    assert Phones(("US",)).find(text, [(0, 13)], lambda: asked.append(None)) == []

    assert len(asked) < 100


def test_an_unknown_region_is_named() -> None:
    with pytest.raises(ConfigError, match="regions: 'XX' is unknown; write ISO 3166 codes"):
        Detector(["PHONE"], ["US", "XX"])
