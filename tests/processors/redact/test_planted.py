"""The same planted values as in the test through a collector, through the redactor alone."""

from dataclasses import fields

import pytest

from planted import Plant, Request, Scan, garden
from redaction import redactor, texts
from runreel.otlp import decode
from runreel.values import CleanBatch, RawBatch

COUNT = 1000


@pytest.fixture(scope="module")
def planted() -> tuple[list[Plant], list[Request]]:
    return garden(COUNT)


def batches(requests: list[Request]) -> list[RawBatch]:
    return [
        decode("traces" if signal == "traces" else "logs", body, "protobuf", "default")
        for request in requests
        for signal, body in request.bodies()
    ]


def found(plants: list[Plant], batch: RawBatch | CleanBatch) -> set[int]:
    held = (text.encode("utf-8", "surrogatepass") for text in texts((batch.spans, batch.logs)))
    return Scan(plants).found(held)


def test_both_scanners_leave_the_same_of_everything_planted(planted: tuple[list[Plant], list[Request]]) -> None:
    quick, plain = redactor(), redactor(hyperscan=False)

    for batch in batches(planted[1]):
        one, other = quick.process(batch), plain.process(batch)
        assert (one.spans, one.logs, one.counts) == (other.spans, other.logs, other.counts)


def test_redacting_what_was_redacted_changes_nothing(planted: tuple[list[Plant], list[Request]]) -> None:
    for batch in batches(planted[1]):
        once = redactor().process(batch)
        twice = redactor().process(RawBatch(once.tenant, once.spans, once.logs))
        for before, after in zip((*once.spans, *once.logs), (*twice.spans, *twice.logs), strict=True):
            assert [getattr(before, one.name) for one in fields(before) if one.name != "marks"] == [
                getattr(after, one.name) for one in fields(after) if one.name != "marks"
            ]


def test_nothing_planted_is_left_and_no_value_is_withheld(planted: tuple[list[Plant], list[Request]]) -> None:
    plants, requests = planted

    for batch in batches(requests):
        clean = redactor().process(batch)
        assert found(plants, clean) == set()
        assert "redaction_failures" not in clean.counts
