"""The redactor against Presidio as most people set it up: with a language model of spaCy, which reads every text before
the recognisers do. The same seven entities, none of which needs the model.
"""

from collections.abc import Iterator

from harness import SKIPPED, Bar, Declared, Row, Say, rate, side_by_side
from stock import STOCK_REGIONS, Presidio

from rows.redactor import KEY, corpus, through
from runreel.processors.redact.ner import MODEL
from runreel.processors.redact.redactor import Redactor
from runreel.processors.redact.settings import RedactSettings

ROWS = (Declared("redactor_against_spacy", Bar(">=", 300), "times the speed of Presidio with a small model of spaCy"),)


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Measure new text on both sides, phones judged for the first time on RunReel's."""
    rounds, ours, theirs = (2, 60, 4) if quick else (3, 200, 8)
    try:
        presidio = Presidio(STOCK_REGIONS, MODEL)
    except ImportError:
        yield ROWS[0].row(None, f"{SKIPPED}the model is not installed: pip install 'runreel[ner]'")
        return
    corpora = [corpus(f"language-{number}", ours) for number in range(rounds)]
    settings = RedactSettings(regions=STOCK_REGIONS, memo_size=0)
    redactors = [Redactor(KEY, settings).text for _ in corpora]
    for redact in redactors:
        redact("warm: dana@example.com")
    works = {
        "Presidio": through([presidio.find] * rounds, [corpus[:theirs] for corpus in corpora]),
        "redactor": through(redactors, corpora),
    }
    sides = side_by_side(works, rounds, say=say)
    mine, stock = sides["redactor"], sides["Presidio"]
    yield ROWS[0].row(
        stock.median / mine.median,
        f"{rate(mine)}, cold, against {rate(stock)}, processor time, {mine.spread}; model {MODEL}; "
        f"phone regions {' '.join(STOCK_REGIONS)}",
    )
