"""Texts made to be slow, against ordinary text of the usual sizes: two megabytes of digits, at-signs, letters,
brackets, `1-1-1-`, one token of base64; and two megabytes of ordinary text in one piece, which must not be slow either.

A value that the redactor withholds because it took too long would be quick, too, and does not count.
"""

import base64
import random
from collections.abc import Iterator, Sequence

import texts
from harness import Bar, Declared, Row, Say, Side, rate, side_by_side

from rows.redactor import KEY, corpus
from runreel.processors.redact.redactor import Redactor
from runreel.values import RawBatch, Span, SpanKey

_BYTES = 2_000_000
_MARKS = {"digits": "7", "at_signs": "@", "letters": "a", "brackets": "[", "dashes": "1-"}
_BASE64, _ONE_PIECE = "base64", "one_piece"
_NAMES = (*_MARKS, _BASE64, _ONE_PIECE)
ROWS = tuple(
    Declared(f"hostile_{name}", Bar("<=", 3), "times the time of ordinary text, byte for byte") for name in _NAMES
)


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Measure each text against the same ordinary one, as the value of a span's attribute."""
    size, rounds = (_BYTES // 4, 2) if quick else (_BYTES, 3)
    rng = random.Random("hostile")
    one_piece = texts.salt(rng, "\n\n".join(kind(rng, size // 4) for kind in texts.KINDS), 1500, [])
    values = {
        "ordinary": tuple(corpus("hostile", size // 11_000)),
        **{name: (mark * (size // len(mark)),) for name, mark in _MARKS.items()},
        # What it decodes to is text, and searched: more work than where it is a picture.
        _BASE64: (base64.b64encode(one_piece.encode()).decode()[:size],),
        _ONE_PIECE: (one_piece,),
    }
    redactors = [Redactor(KEY) for _ in range(rounds)]
    for redactor in redactors:
        redactor.text("warm: dana@example.com")
    works = {name: _Texts(each, redactors) for name, each in values.items()}
    sides = side_by_side(works, rounds, say=say)
    for declared, name in zip(ROWS, _NAMES, strict=True):
        yield _row(declared, sides[name], sides["ordinary"], works[name].withheld)


class _Texts:
    """Puts texts through a redactor that never saw them: another one each round."""

    def __init__(self, values: Sequence[str], redactors: Sequence[Redactor]) -> None:
        self._batch = _batch(values)
        self._size = float(sum(map(len, values)))
        self._redactors = iter(redactors)
        self.withheld = 0

    def __call__(self) -> float:
        clean = next(self._redactors).process(self._batch)
        self.withheld += clean.counts.get("redaction_failures", 0)
        return self._size


def _row(declared: Declared, side: Side, ordinary: Side, withheld: int) -> Row:
    detail = f"{rate(side)} against {rate(ordinary)}, processor time, {side.spread}"
    if withheld:
        return declared.row(float("inf"), f"withheld, which does not count; {detail}")
    return declared.row(side.median / ordinary.median, detail)


def _batch(values: Sequence[str]) -> RawBatch:
    spans = tuple(
        Span(
            SpanKey("default", "1" * 32, f"{number:016x}"),
            None,
            "execute_tool",
            1,
            2,
            attributes={"gen_ai.tool.call.result": value},
        )
        for number, value in enumerate(values, 1)
    )
    return RawBatch("default", spans)
