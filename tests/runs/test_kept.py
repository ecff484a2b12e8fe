from dataclasses import replace

import pytest

from runreel.errors import StoreError
from runreel.runs import kept
from runreel.storage import KeptGolden

GOLDEN = KeptGolden("run-1", "receipt", "https://tickets.example/1", "a" * 64, 17)


def test_a_golden_comes_back_from_its_document() -> None:
    assert kept.from_document(kept.document(GOLDEN)) == GOLDEN
    assert kept.from_document({**kept.document(GOLDEN), "of_another_version": 1}) == GOLDEN


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"run_id": ""}, "run_id of a golden"),
        ({"run_id": "x" * 501}, "run_id of a golden"),
        ({"name": 3}, "name of a golden"),
        ({"ticket": "x" * 2001}, "ticket of a golden"),
        ({"sha256": "A" * 64}, "sha256 of a golden"),
        ({"sha256": None}, "sha256 of a golden"),
        ({"registered_ns": -1}, "registered_ns of a golden"),
        ({"registered_ns": "now"}, "registered_ns of a golden"),
    ],
)
def test_what_is_no_golden_is_refused_without_its_text(change: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem) as raised:
        kept.from_document({**kept.document(GOLDEN), **change})

    assert "xxx" not in str(raised.value)


@pytest.mark.parametrize("found", [None, [], "golden", 3])
def test_a_golden_is_a_map(found: object) -> None:
    with pytest.raises(ValueError, match="a golden is a map"):
        kept.from_document(found)


def test_what_people_wrote_is_redacted_and_the_runs_id_is_not() -> None:
    assert kept.redacted(GOLDEN, lambda text: f"<{text}>") == replace(
        GOLDEN, name="<receipt>", ticket="<https://tickets.example/1>"
    )


def test_what_cannot_be_redacted_is_not_registered_and_not_told() -> None:
    def fail(text: str) -> str:
        raise ValueError(text)

    with pytest.raises(StoreError, match="could not be redacted") as raised:
        kept.redacted(GOLDEN, fail)

    assert "tickets" not in str(raised.value)
