"""A user's recognisers and words: found as Presidio alone finds them, gate or no gate."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redaction import KEY
from runreel.errors import ConfigError
from runreel.processors.redact import Redactor, RedactSettings, own
from runreel.processors.redact.detect import Detector, without_contained
from runreel.processors.redact.own import Own, Recogniser, presidio
from runreel.semconv.pem import LIMIT

DETECTOR = Detector()
RECOGNISERS = (
    Recogniser("EMPLOYEE_ID", ((r"\bE-\d{6}\b", 0.8), (r"(?<!\w)emp[a-z]{0,3}\s?#\d+", 0.4))),
    Recogniser("PROJECT", (), ("Quilla", "Blue Moon", "a.b+c")),
    Recogniser("BADGE", ((r"(?i:badge)[ :]*(?=\d)\d{3,5}(?!\d)", 0.6), (r"^B\d+$", 0.9), (r"(\d)\1{4}", 0.3))),
    Recogniser("ODD", ((r"\p{Lu}{4}-é+", 0.5), (r"(?:zebra){e<=1}", 0.5), (r"[[a-f]--[b]]{5}", 0.5))),
)


def stock(text: str) -> set[tuple[str, int, int, float]]:
    """Return what Presidio's recognisers find, each asked alone."""
    found = set()
    for one in RECOGNISERS:
        for result in presidio(one).analyze(text, [one.entity], None) or []:  # type: ignore[arg-type]
            found.add((one.token_entity, result.start, result.end, result.score))
    return found


def ours(finder: Own, text: str) -> set[tuple[str, int, int, float]]:
    return {tuple(item) for item in without_contained(finder.find(text, lambda: None))}  # type: ignore[misc]


GATED, UNGATED = Own(RECOGNISERS), Own(RECOGNISERS, hyperscan=False)
PIECES = st.sampled_from(
    ["E-123456", "e-654321", "E-1234567", "emp #12", "EMPLO#7", "Quilla", "quilla", "Quillas", "blue moon", "a.b+c",
     "aXb+c", "badge: 1234", "BADGE 123456", "B77", "\nB78\n", "11111", "QUER-é", "zebra", "zebta", "acdef", " ", ",",
     "x", "é", "\u212a", "ſ", "\n"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_findings_are_those_of_presidio_alone_with_the_gate_and_without(text: str) -> None:
    assert ours(GATED, text) == ours(UNGATED, text) == stock(text)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(st.characters(max_codepoint=0x2FF), max_size=8) | PIECES, max_size=10).map("".join))
def test_any_text_is_judged_alike(text: str) -> None:
    text = text.replace(LIMIT, "")

    assert ours(GATED, text) == stock(text)


def test_the_gate_spares_the_recognisers_ordinary_text() -> None:
    gate = GATED._gate
    assert gate is not None

    assert [*gate.open("nothing of the kind in here")] == [3]  # the one whose patterns the matcher cannot read
    assert [*gate.open("badge 123 of Quilla")] == [1, 2, 3]


def test_texts_that_are_joined_are_judged_each_for_itself() -> None:
    wide = Own((Recogniser("WIDE", ((r"a[\s\S]*b", 0.5),)),))

    found = wide.find(LIMIT.join(["xa", "b", "a-b"]), lambda: None)

    assert [(item.start, item.end) for item in found] == [(5, 8)]


def redactor(*recognisers: Recogniser, **more: Any) -> Redactor:
    return Redactor(KEY, RedactSettings(recognizers=recognisers, **more), detector=DETECTOR)


def test_what_is_found_becomes_a_token_and_a_second_redaction_changes_nothing() -> None:
    told = redactor(*RECOGNISERS[:2])
    text = json.dumps(
        {"who": "Quilla", "Quilla": [1], "note": "E-123456 wrote to a@example.com about Blue Moon, 10.0.0.1"}
    )

    once = told.text(text)

    assert not [value for value in ("Quilla", "E-123456", "a@example.com", "Blue Moon") if value in once]
    assert {"<EMPLOYEEID_", "<PROJECT_", "<EMAIL_"} <= {
        once[at : once.index("_", at) + 1] for at in range(len(once)) if once[at] == "<"
    }
    assert json.loads(once)["who"] == next(name for name in json.loads(once) if name.startswith("<PROJECT_"))
    assert told.text(once) == once


def test_a_secret_goes_before_a_word() -> None:
    told = redactor(Recogniser("WORD", (), ("AKIAIOSFODNN7EXAMPLE",)))

    assert told.text("key AKIAIOSFODNN7EXAMPLE") == "key <SECRET:aws-access-key>"


def test_a_pattern_that_does_not_end_withholds_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "_TIMEOUT_S", 0.05)
    told = redactor(Recogniser("SLOW", ((r"x(a|a|aa|a?)+$y", 0.5),)))

    assert told.text("x" + "a" * 4000 + "b y") == "<WITHHELD:redaction_failed>"


@pytest.mark.parametrize(
    ("recogniser", "said"),
    [
        (Recogniser("employee", (("x", 0.5),)), "entity: 'employee' cannot be one: write capital letters"),
        (Recogniser("EMAIL", (("x", 0.5),)), "and none of CARD"),
        (Recogniser("X1"), "neither patterns nor deny_list is there"),
        (Recogniser("X1", (), ("ok", " ")), "deny_list: a word is empty"),
        (Recogniser("X1", (("(", 0.5),)), "patterns[0]: '(' is no regular expression"),
        (Recogniser("X1", (("a", 0.5), ("x*", 0.5))), "patterns[1]: 'x*' matches the empty text"),
        (Recogniser("X1", (("a", 0.0),)), "score 0.0 is not between 0 and 1"),
    ],
)
def test_a_recogniser_that_cannot_be_says_what_to_write(recogniser: Recogniser, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Own((RECOGNISERS[0], recogniser))

    (problem,) = raised.value.problems
    assert problem.startswith("recognizers[1]: ")
    assert said in problem


def test_without_hyperscan_every_recogniser_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "hyperscan", None)

    plain = Own(RECOGNISERS)

    assert ours(plain, "E-123456 Quilla") == stock("E-123456 Quilla")
