"""How much of a labelled corpus is found: held against the table in the docs, and against a floor."""

from pathlib import Path

import pytest

from labelled import ENTITIES, in_page, measured, table

PAGE = Path(__file__).resolve().parents[3] / "docs" / "redaction.md"


@pytest.mark.slow
def test_the_table_in_the_docs_is_what_is_measured() -> None:
    assert in_page(PAGE.read_text(encoding="utf-8")) == table()


@pytest.mark.slow
def test_every_entity_has_values_and_most_are_found() -> None:
    scores = measured()

    assert scores.keys() == set(ENTITIES)
    assert all(score.labelled > 400 for score in scores.values())
    assert all(score.found >= 0.88 * score.labelled for score in scores.values())
    assert sum(score.wrong for score in scores.values()) < 0.05 * sum(score.found for score in scores.values())
