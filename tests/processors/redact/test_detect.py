import random

import pytest

from presidio_stock import corpus, stock
from runreel.errors import ConfigError
from runreel.processors.redact.detect import DEFAULT_REGIONS, Detector, Finding, without_contained

EIGHT = ("US", "GB", "DE", "FR", "IL", "IN", "CA", "BR")  # Presidio's default


def found(detector: Detector, text: str) -> set[tuple[str, int, int, float]]:
    """Return what the detector finds, compared with Presidio from 7 digits on."""
    return {
        tuple(item)
        for item in detector.find(text)
        if item.entity != "PHONE" or sum(char.isdigit() for char in text[item.start : item.end]) >= 7
    }


@pytest.mark.parametrize("hyperscan", [True, False], ids=["hyperscan", "re"])
@pytest.mark.parametrize("regions", [DEFAULT_REGIONS, EIGHT], ids=["two regions", "eight regions"])
def test_findings_equal_those_of_stock_presidio(regions: tuple[str, ...], hyperscan: bool) -> None:
    detector = Detector(regions=regions, hyperscan=hyperscan)
    total = 0

    for text in corpus(seed=7, count=400):
        expected = stock(text, regions)
        assert found(detector, text) == expected, text
        total += len(expected)

    assert total > 800


@pytest.mark.slow
def test_four_thousand_findings_equal_those_of_stock_presidio() -> None:
    detector = Detector(regions=EIGHT)
    total = beyond_ascii = 0

    for text in corpus(seed=11, count=1500):
        expected = stock(text, EIGHT)
        assert found(detector, text) == expected, text
        total += len(expected)
        beyond_ascii += 0 if text.isascii() else len(expected)

    assert total >= 4000
    assert beyond_ascii > 1000


def test_findings_in_long_texts_equal_those_of_stock_presidio() -> None:
    detector = Detector()
    rng = random.Random(3)
    for seed in range(4):
        words = ["".join(rng.choice("abc 0123.-:@") for _ in range(30)) for _ in range(60)]
        text = "\n".join([*corpus(seed, 40), *words])

        assert found(detector, text) == stock(text, DEFAULT_REGIONS)


@pytest.mark.parametrize("hyperscan", [True, False], ids=["hyperscan", "re"])
def test_a_text_of_nothing_but_candidates_gives_the_same_findings(hyperscan: bool) -> None:
    detector = Detector(hyperscan=hyperscan)

    for text in ("4242424242424242 " * 60, "1.2.3.4 " * 80, "a@b.co," * 90, "1" * 900, "::" * 300, "(((" * 200):
        assert found(detector, text) == stock(text, DEFAULT_REGIONS)


def test_numbers_of_fewer_than_seven_digits_are_the_one_difference() -> None:
    text = "Zimmer 1649, Kasse 168.46"

    assert Detector(regions=("DE",)).find(text) == []


def test_only_the_entities_asked_for_are_found() -> None:
    text = "dana@example.com, +1 202-555-0143, 203.0.113.7"

    assert {item.entity for item in Detector(["IP"]).find(text)} == {"IP"}
    assert {item.entity for item in Detector(["EMAIL", "PHONE"]).find(text)} == {"EMAIL", "PHONE"}


def test_an_unknown_entity_is_named_with_those_that_are_known() -> None:
    with pytest.raises(ConfigError, match=r"'PERSON' is unknown; known are EMAIL, PHONE"):
        Detector(["EMAIL", "PERSON"])


def test_contained_findings_go_unless_their_score_is_higher() -> None:
    outer, inner = Finding("SSN", 0, 11, 0.5), Finding("SSN", 2, 9, 0.05)
    better, other = Finding("SSN", 2, 9, 0.9), Finding("PHONE", 2, 9, 0.4)

    assert without_contained([inner, outer, outer]) == [outer]
    assert without_contained([better, outer]) == [outer, better]
    assert without_contained([other, outer]) == [outer, other]


def test_the_budget_is_asked_between_windows_and_may_stop_the_search() -> None:
    class StopError(Exception):
        pass

    def check() -> None:
        raise StopError

    detector = Detector(["EMAIL"])
    text = "dana@example.com"

    with pytest.raises(StopError):
        detector.judge(text, {0: [(4, 6)]}, check)
