from runreel.semconv.dialects import DIALECTS, OWN
from runreel.semconv.registry import BY_KEY, FIELDS, KINDS


def test_no_field_is_there_twice() -> None:
    assert len(BY_KEY) == len(FIELDS)


def test_every_field_belongs_to_a_kind_that_the_page_shows() -> None:
    assert {field.kind for field in FIELDS} == set(KINDS)


def test_dialects_speak_of_registered_fields_only() -> None:
    named = {
        (dialect.name, key)
        for dialect in (OWN, *DIALECTS)
        for table in (dialect.scalars, dialect.contents, dialect.coded)
        for key in table
    }

    assert {(dialect, key) for dialect, key in named if key not in BY_KEY} == set()


def test_every_field_that_is_not_worked_out_is_found_somewhere() -> None:
    found = {
        key
        for dialect in (OWN, *DIALECTS)
        for table in (dialect.scalars, dialect.contents, dialect.coded)
        for key in table
    }
    derived_only = {"decision.input", "step.order"}

    assert {field.key for field in FIELDS if not field.derived} - found - derived_only == set()


def test_scalar_tables_hold_no_content() -> None:
    content = {field.key for field in FIELDS if field.payload}

    assert {key for dialect in (OWN, *DIALECTS) for key in dialect.scalars if key in content} == set()
