"""A labelled corpus of our own making, and how well the default profile finds what is personal in it.

    PYTHONPATH=tests python tests/labelled.py docs/redaction.md

writes the table between its two markers in the page; a test holds the page against it. The corpus is the same each
time. It is meant to be hard: foreign phone numbers written as at home, addresses at internal domains, numbers of orders
and parcels that look like somebody's.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from planted import PERSONAL
from redaction import redactor
from runreel.processors.redact.budget import Budget

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
ENTITIES = ("EMAIL", "PHONE", "CARD", "IBAN", "IP", "SSN", "CRYPTO")
TEXTS = 3000


class Label(NamedTuple):
    """A value at text[start:end]."""

    entity: str
    start: int
    end: int


def _pattern(rng: random.Random, pattern: str) -> str:
    return "".join(
        rng.choice("0123456789") if char == "#" else rng.choice("23456789") if char == "N" else char for char in pattern
    )


def _value(rng: random.Random, number: int) -> tuple[str, str]:
    entity = ENTITIES[number % len(ENTITIES)]
    kind = entity.lower()
    if entity == "EMAIL" and rng.random() < 0.3:
        return entity, rng.choice(
            [
                "o'neil+x@sub.example.co.uk",
                "dana.fields@corp.internal",
                "d@example.museum",
                "DANA@EXAMPLE.ORG",
                "dana_fields-1@m\u00fcller.example.de",
                "root@localhost",
                "x.y@[192.0.2.1]",
                "dana@example.travel",
            ]
        )
    if entity == "PHONE":
        if rng.random() < 0.5:
            return entity, PERSONAL["phone"](rng, number)
        return entity, _pattern(
            rng,
            rng.choice(
                [
                    "(202) 555-01##",
                    "202.555.01##",
                    "+44 20 7946 0###",
                    "020 7946 0###",
                    "+49 30 90182#",
                    "030 90182###",
                    "+33 1 42 68 53 ##",
                    "01 42 68 53 ##",
                    "202-555-01## x12",
                    "+351 21 790 ####",
                    "tel:+120255501##",
                ]
            ),
        ).removeprefix("tel:")
    if entity == "IP" and rng.random() < 0.3:
        return entity, f"2001:db8:{rng.randrange(65536):x}::{rng.randrange(65536):x}"
    if entity == "SSN" and rng.random() < 0.2:
        return entity, PERSONAL["ssn"](rng, number).replace("-", rng.choice([" ", ""]))
    return entity, PERSONAL[kind](rng, number)


_AROUND = [
    ("Please call or write to ", " before noon."),
    ('{"user": {"contact": "', '", "n": 1}}'),
    ("[12:33:08] INFO from=", " status=200"),
    ("(", ")"),
    ("name,value\nx,", ",7\n"),
    ("<td>", "</td>"),
    ("see https://x.example.com/a?q=", "&page=2"),
    ("\u2022 ", " \u2014 ok"),
    ("- ", "\n- next"),
    ("", ""),
    ("to:", ";"),
    ("Kontakt: ", "."),
]
_OTHER = [
    "order 48########",
    "parcel 1Z######################",
    "version 10.4.2.#",
    "v2.1.1.10#",
    "at 2026-11-0N 08:12:44.1##",
    "took 0.91345678##",
    "17477#####",
    "17672256#####",
    "ISBN 978-3-16-14841#-0",
    "id 110bcd25-a55d-453a-8046-1297901ea0##",
    "$12,345.##",
    "commit 0af7651916cd43dd8448eb211c8031##",
    "127.0.0.1:80##",
    "10.0.0.1#",
    "lat 38.7223## lon -9.1393##",
    "std::vector<int>::at",
    "row 12 of 4####",
    "git@github.com:acme/repo.git",
    "@scope/pkg@1.2.#",
    "SKU 4006381333##1",
    "invoice 2026-00####",
    "call_dda6f6b3ffcc05d4dca181##",
    "1,234,567.##",
    "EAN 4006381333931",
    "ticket #12####",
    "0x7ffee4######",
    "Zimmer 16##",
    "ttl=86400###",
    "q3 2025 up 12.#%",
    "sha256:9f86d081884c7d65",
]


def corpus() -> Iterator[tuple[str, list[Label]]]:
    """Yield texts with the personal values in them."""
    rng = random.Random("labelled")
    for _number in range(TEXTS):
        text, labels = "", []
        for _ in range(rng.randint(1, 3)):
            if rng.random() < 0.55:
                before, after = rng.choice(_AROUND)
                entity, value = _value(rng, rng.randrange(700))
                start = len(text) + len(before)
                labels.append(Label(entity, start, start + len(value)))
                text += before + value + after + " "
            else:
                text += _pattern(rng, rng.choice(_OTHER)) + rng.choice([" ", "\n", ", "])
        yield text, labels


class Score(NamedTuple):
    """Counts of one entity."""

    labelled: int
    found: int
    missed: int
    wrong: int


def measured() -> dict[str, Score]:
    """Return the counts of each entity: a value is found where all of it goes, under whatever name of the seven."""
    counts: Counter[tuple[str, str]] = Counter()
    texts = redactor()._whole._texts
    for text, labels in corpus():
        edits = [edit for edit in texts.edits(text, "", Budget(60)) if edit.labels[0] in ENTITIES]
        for label in labels:
            counts[label.entity, "labelled"] += 1
            gone = any(edit.start <= label.start and edit.end >= label.end for edit in edits)
            counts[label.entity, "found" if gone else "missed"] += 1
        for edit in edits:
            if not any(label.start < edit.end and edit.start < label.end for label in labels):
                counts[edit.labels[0], "wrong"] += 1
    return {entity: Score(*(counts[entity, what] for what in Score._fields)) for entity in ENTITIES}


def table() -> str:
    """Return the table of the page."""
    lines = ["| entity | values | precision | recall |", "|---|---|---|---|"]
    for entity, score in measured().items():
        precision = score.found / (score.found + score.wrong)
        lines.append(f"| {entity} | {score.labelled} | {precision:.3f} | {score.found / score.labelled:.3f} |")
    return "\n".join(lines)


def in_page(page: str) -> str:
    """Return the table that a page has now."""
    return page.partition(BEGIN)[2].partition(END)[0].strip()


if __name__ == "__main__":
    path = Path(sys.argv[1])
    page = path.read_text(encoding="utf-8")
    head, _, rest = page.partition(BEGIN)
    path.write_text(f"{head}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
