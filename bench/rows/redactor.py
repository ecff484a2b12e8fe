"""The redactor against Presidio as it comes, without NLP: the same seven entities, the same phone regions.

`detector` is the stage that finds what Presidio's recognisers find, and nothing else: the same work. `redactor` is all
that a new text goes through: JSON and base64 in it, secrets, folded spellings, suppressions, tokens. Cold means that no
phone number was ever judged before; warm, that all were, while the memo of whole texts is empty.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import texts
from harness import Bar, Declared, Row, Say, Side, rate, side_by_side
from stock import STOCK_REGIONS, Presidio

from runreel.processors.redact.detect import DEFAULT_REGIONS, Detector
from runreel.processors.redact.keys import TenantKey
from runreel.processors.redact.redactor import Redactor
from runreel.processors.redact.settings import RedactSettings

_COLD, _WARM = Bar(">=", 25), Bar(">=", 80)
_UNIT = "times Presidio's speed"
ROWS = (
    Declared("redactor_findings", Bar("<=", 0), "of Presidio's findings differ"),
    Declared("detector_cold", _COLD, _UNIT),
    Declared("detector_warm", _WARM, _UNIT),
    Declared("detector_cold_us_gb", _COLD, _UNIT),
    Declared("detector_warm_us_gb", _WARM, _UNIT),
    Declared("redactor_cold", _COLD, _UNIT),
    Declared("redactor_warm", _WARM, _UNIT),
)
KEY = TenantKey("bench", b"\x17" * 32)
_ODD = "\u2011\u2013\u2014\u00a0\u200bé٣ßſ日\u3000＠😀"


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Measure findings first, then speeds: with Presidio's own eight regions, then with RunReel's two."""
    declared = {row.name: row for row in ROWS}
    presidio: Mapping[tuple[str, ...], Presidio] = {
        regions: Presidio(regions) for regions in (STOCK_REGIONS, DEFAULT_REGIONS)
    }
    yield _findings(declared["redactor_findings"], presidio, 40 if quick else 400, say)
    eight = _speeds(presidio[STOCK_REGIONS], STOCK_REGIONS, quick, say, whole=True)
    yield eight.row(declared["detector_cold"], "detector, cold")
    yield eight.row(declared["detector_warm"], "detector, warm")
    two = _speeds(presidio[DEFAULT_REGIONS], DEFAULT_REGIONS, quick, say, whole=False)
    yield two.row(declared["detector_cold_us_gb"], "detector, cold")
    yield two.row(declared["detector_warm_us_gb"], "detector, warm")
    yield eight.row(declared["redactor_cold"], "redactor, cold")
    yield eight.row(declared["redactor_warm"], "redactor, warm")


@dataclass(frozen=True, slots=True)
class _Speeds:
    sides: dict[str, Side]
    regions: Sequence[str]

    def row(self, declared: Declared, side: str) -> Row:
        ours, stock = self.sides[side], self.sides["Presidio"]
        return declared.row(
            stock.median / ours.median,
            f"{rate(ours)} against {rate(stock)}, processor time, {ours.spread}; "
            f"phone regions {' '.join(self.regions)}",
        )


def _speeds(presidio: Presidio, regions: tuple[str, ...], quick: bool, say: Say, *, whole: bool) -> _Speeds:
    """Measure Presidio and the detector, and the `whole` redactor if wanted."""
    rounds, ours, theirs = (2, 60, 6) if quick else (5, 200, 24)
    corpora = [corpus(f"speed-{number}-{len(regions)}", ours) for number in range(rounds)]
    stages: dict[str, list[Callable[[str], object]]] = {"detector": [Detector(regions=regions).find for _ in corpora]}
    if whole:
        settings = RedactSettings(regions=regions, memo_size=0)
        stages["redactor"] = [Redactor(KEY, settings).text for _ in corpora]
    works = {"Presidio": through([presidio.find] * rounds, [corpus[:theirs] for corpus in corpora])}
    for name, judges in stages.items():
        for judge in judges:
            judge("warm: dana@example.com")
        works[f"{name}, cold"] = through(judges, corpora)
        works[f"{name}, warm"] = through(judges, corpora)
    return _Speeds(side_by_side(works, rounds, say=say), regions)


def through(judges: Sequence[Callable[[str], object]], corpora: Sequence[Sequence[str]]) -> Callable[[], float]:
    """Return work that puts one corpus after the other through its judge, and returns the characters."""
    turns = iter(zip(judges, corpora, strict=True))

    def work() -> float:
        judge, corpus = next(turns)
        for text in corpus:
            judge(text)
        return float(sum(map(len, corpus)))

    return work


def _findings(declared: Declared, presidio: Mapping[tuple[str, ...], Presidio], count: int, say: Say) -> Row:
    """Compare findings one by one: entity, place and score; phone numbers of fewer than 7 digits left out."""
    different = found = number = 0
    for regions, stock in presidio.items():
        detector = Detector(regions=regions)
        for text in [*corpus("findings", count // 4), *_short("findings", count)]:
            say(f"findings, text {number}")
            number += 1
            theirs = long_enough(text, stock.findings(text))
            found += len(theirs)
            different += len(theirs ^ long_enough(text, detector.find(text)))
    return declared.row(
        different / found,
        f"{different} differences in {found} findings of {number} texts (entity, place, score; Unicode included)",
    )


Finding = tuple[str, int, int, float]


def long_enough(text: str, findings: Iterable[Finding]) -> set[Finding]:
    """Drop phone numbers of fewer than 7 digits: RunReel does not look for those, and says so."""
    return {
        (entity, start, end, score)
        for entity, start, end, score in findings
        if entity != "PHONE" or sum(char.isdigit() for char in text[start:end]) >= 7
    }


def corpus(seed: str, count: int) -> list[str]:
    """Return texts as tools return them: prose, code, JSON and logs of 1 to 40 KB with planted values."""
    rng = random.Random(f"corpus-{seed}")
    kinds = [texts.KINDS[number % len(texts.KINDS)] for number in range(count)]
    return [texts.salt(rng, kind(rng, texts.size(rng, 1000, 40000)), 1500, []) for kind in kinds]


def _short(seed: str, count: int) -> Iterator[str]:
    """Yield short texts full of values, with odd characters around and inside them."""
    rng = random.Random(f"short-{seed}")
    for _ in range(count):
        pieces = []
        for _ in range(rng.randint(1, 10)):
            piece = texts.personal_value(rng).value if rng.random() < 0.6 else texts.word(rng)
            if rng.random() < 0.2:
                place = rng.randrange(len(piece))
                piece = piece[:place] + rng.choice(_ODD) + piece[place:]
            if rng.random() < 0.1:
                piece = piece.replace("-", "\u2011").replace(" ", "\u00a0")
            pieces.append(piece + rng.choice([" ", " ", ", ", "\n", ";", "/", "", rng.choice(_ODD)]))
        yield "".join(pieces)
