"""Everything to be taken out of one text: secrets first, then personal data, until nothing more is found."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from runreel.processors.redact import encoded, extras, fold
from runreel.processors.redact.budget import Budget
from runreel.processors.redact.detect import Detector, Finding, without_contained
from runreel.processors.redact.ner import Names
from runreel.processors.redact.own import Own
from runreel.processors.redact.scan import NO_PLACE, Gate, Hits, Scanner, scanner
from runreel.processors.redact.settings import RedactSettings
from runreel.processors.redact.suppress import Context, kept_as
from runreel.semconv.pem import LIMIT
from runreel.semconv.secret_rules import INERT, RULES
from runreel.semconv.secret_values import Span
from runreel.semconv.secrets import MARKS, blanked, masked, merge

_KINDS = {"secret": 0, "personal": 1, "base64": 2}  # of two that overlap, the first stays
# Which of two findings over the same characters names the token, where neither is longer.
_RANK = {"CARD": 0, "IBAN": 1, "EMAIL": 2, "IP": 3, "CRYPTO": 4, "SSN": 5, "PHONE": 6}
_PLAIN = frozenset([*" \t\r\n\"'()[]{}<>,;!?|", INERT, LIMIT, ""])
_REACH = 12
_KEEPS_APART = r"A-WYZa-wyz\"'`{}<>|&$%!?*_\r\n" + INERT + LIMIT
_DIGIT_BEFORE = re.compile(rf"\d[^{_KEEPS_APART}\d]*\Z")
_DIGIT_AFTER = re.compile(rf"[^{_KEEPS_APART}\d]{{0,{_REACH}}}\d")

_NUMBER_EDGES = frozenset("0123456789+()[]")

Where = Callable[[int], tuple[Context, int, int]]
"""The context at an offset, and the borders of the piece of text that it holds for."""


class Spot(NamedTuple):
    """Something to be replaced at [start:end] of a text. For a secret `name` is the rule, else the entity; `value` is
    the text that a token is made of, or what takes the place of base64."""

    start: int
    end: int
    kind: str
    name: str
    value: str
    labels: tuple[str, ...] = ()


class Search:
    """Finds what must go. Thread-safe."""

    def __init__(self, settings: RedactSettings, detector: Detector, *, hyperscan: bool | None = None) -> None:
        self._settings = settings
        self._detector = detector
        self.on_kept: Callable[[str, str, str], object] | None = None  # is told entity, reason and text of what stays
        self._plain_profile = settings.profile == "presidio"
        more = [] if self._plain_profile else [gate for entity, gate in extras.GATES]
        self._first_extra = len(detector.gates)
        self._base64 = self._first_extra + len(more)
        self._first_rule = self._base64 + 1
        self._scanner: Scanner = scanner(
            [
                *(gate for _, gate in detector.gates),
                *more,
                encoded.GATE,
                *(
                    Gate(rule.gate, rule.near is not None, rule.near is None, rule.caseless, rule.hints)
                    for rule in RULES
                ),
            ],
            hyperscan=hyperscan,
        )

        self._own: list[Own | Names] = []
        if settings.recognizers:
            self._own.append(Own(settings.recognizers, hyperscan=hyperscan))
        if settings.ner:
            self._own.append(Names(settings.ner))
        names = "|".join(name for one in self._own for name in one.entities)
        self._own_marks = re.compile(f"<(?:{names})_[0-9a-f]{{8,64}}>") if names else None
        self._runs: Scanner = scanner([encoded.STARTS], hyperscan=hyperscan)

    def spots(self, text: str, where: Where, decoded: Callable[[str], str | None], budget: Budget) -> list[Spot]:
        """Return what must go from a text, in order and apart from each other.

        Args:
            where: The context at an offset.
            decoded: Redacts what base64 decodes to; None where it holds nothing to redact.
        """
        base = self._masked(text)
        if not self._plain_profile:
            base = fold.aligned(base)
        found: list[Spot] = []
        while True:
            data = fold.one_byte(base)
            hits = self._scanner.scan(data)
            runs = self._starts(data, hits[self._base64][0][1]) if self._base64 in hits else ()
            base, binary, new = self._encoded(base, runs, decoded) if runs else (base, [], [])
            if hits or self._own:
                new += self._pass(base, hits, binary, where, budget)
            view = None if self._plain_profile else fold.compact(base)
            if view is not None:
                new += self._compact_pass(view, where, budget)
            if not new:
                break
            new, clash = _resolved(new)
            found += new
            if view is None and not clash and all(_is_apart(base, spot) for spot in new):
                break  # what was found joined nothing to anything: another look would see the same
            base = blanked(base, [(spot.start, spot.end) for spot in new])
        return sorted(found)

    def _starts(self, data: bytes, first: int) -> Sequence[tuple[int, int]]:
        """Return where base64 may start, from the first place on that is long enough, which ends at `first`."""
        start = first - encoded.SHORTEST
        return [(start + left, start + right) for left, right in self._runs.scan(data[start:]).get(0, ())]

    def _masked(self, text: str) -> str:
        """Return the text with the marks of an earlier redaction made inert."""
        text = masked(text)
        if self._own_marks is None or "<" not in text:
            return text
        return self._own_marks.sub(lambda mark: INERT * len(mark[0]), text)

    def _pass(self, base: str, hits: Hits, binary: list[tuple[int, int]], where: Where, budget: Budget) -> list[Spot]:
        """Search a text once. `binary` are places without personal data."""
        secrets = self._secrets(base, hits, budget)
        rest = blanked(base, [*((spot.start, spot.end) for spot in secrets), *binary])
        return secrets + self._personal(rest, hits, where, budget)

    def _compact_pass(self, view: fold.View, where: Where, budget: Budget) -> list[Spot]:
        plain = self._masked(view.text)  # `&lt;EMAIL_7f3a9c02&gt;` is a mark there
        hits = self._scanner.scan(fold.one_byte(plain))
        if not hits and not self._own:
            return []

        def where_there(offset: int) -> tuple[Context, int, int]:
            context, _, _ = where(view.back(offset, offset + 1)[0])
            return context, plain.rfind(LIMIT, 0, offset) + 1, len(plain)

        out = []
        for spot in self._pass(plain, hits, [], where_there, budget):
            start, end = view.back(spot.start, spot.end)
            out.append(spot._replace(start=start, end=end))
        return out

    def _secrets(self, base: str, hits: Hits, budget: Budget) -> list[Spot]:
        spans: list[Span] = []
        for number in sorted([number for number in hits if number >= self._first_rule]):
            budget.check()
            rule, places = RULES[number - self._first_rule], hits[number]
            if rule.near is not None and places[0] != NO_PLACE:
                spans += rule.near(base, places)
            else:
                spans += rule.find(base, max(0, places[0][1] - rule.reach))
        return [Spot(start, end, "secret", rule, "", (f"SECRET:{rule}",)) for start, end, rule in merge(spans)]

    def _personal(self, base: str, hits: Hits, where: Where, budget: Budget) -> list[Spot]:
        if self._plain_profile:
            found = without_contained(self._detector.judge(base, hits, budget.check))
        else:
            found = self._by_default(base, hits, where, budget)
        for one in self._own:
            found = [*found, *without_contained(one.find(base, budget.check))]
        return [
            Spot(item.start, item.end, "personal", item.entity, base[item.start : item.end], (item.entity,))
            for item in found
        ]

    def _by_default(self, base: str, hits: Hits, where: Where, budget: Budget) -> list[Finding]:
        """Return what the default profile finds. Phones last: a number inside of an address or a card that goes, goes
        with it whatever else it is, and to judge a phone number takes longer than all else."""
        entities = self._settings.entities
        own = [item for item in extras.find(base, hits, self._first_extra) if item.entity in entities]

        def settled(found: list[Finding], signs: Sequence[tuple[int, int]]) -> list[Finding]:
            mine = [item for item in own if item.entity != "PHONE"]
            if signs and "EMAIL" in entities:
                mine += extras.addresses(base, signs, {item.end for item in found if item.entity == "EMAIL"})
            return kept(extras.narrowed(base, found, mine))

        def kept(found: list[Finding]) -> list[Finding]:
            return [item for item in without_contained(found) if not self._suppressed(base, item, where)]

        found = self._detector.judge(base, hits, budget.check, settled)
        numbers = [item for item in (*own, *found) if item.entity == "PHONE"]
        others = [item for item in found if item.entity != "PHONE"]
        return others + kept(extras.narrowed(base, numbers, ())) if numbers else others

    def _suppressed(self, base: str, item: Finding, where: Where) -> bool:
        context, start, end = where(item.start)
        piece = base if start == 0 and end >= len(base) else base[start:end]
        moved = item._replace(start=item.start - start, end=item.end - start)
        reason = kept_as(piece, moved, context, mask_private_addresses=self._settings.mask_private_addresses)
        if reason and self.on_kept is not None:
            self.on_kept(item.entity, reason, base[item.start : item.end])
        return bool(reason)

    def _encoded(
        self, base: str, hits: Sequence[tuple[int, int]], decoded: Callable[[str], str | None]
    ) -> tuple[str, list[tuple[int, int]], list[Spot]]:
        """Look into base64. Return the text without pictures and the like, the places of other binary content (no
        personal data there, but perhaps a key), and what must be replaced."""
        spots: list[Spot] = []
        pictures: list[tuple[int, int]] = []
        binary: list[tuple[int, int]] = []
        for run in encoded.runs(base, hits):
            clean = None if run.text is None else decoded(run.text)
            if clean is not None:
                value = encoded.encode(run, clean, base[run.start : run.end])
                spots.append(Spot(run.start, run.end, "base64", "", value, ("base64",)))
            elif run.text is None:
                (pictures if run.sure else binary).append((run.start, run.end))
            elif MARKS.search(run.text):  # redacted before, like what is replaced here
                pictures.append((run.start, run.end))
        return blanked(base, pictures), binary, spots


def _resolved(spots: Sequence[Spot]) -> tuple[list[Spot], bool]:
    """Return spots that do not overlap, and whether one was left out: what stands beside it needs another look.

    Secrets win over personal data, both over base64 that was looked into. Of personal data the longest names the
    token, and all that they cover goes.
    """
    out: list[Spot] = []
    clash = False
    for spot in sorted(spots, key=lambda spot: (spot.start, _KINDS[spot.kind], -spot.end, _RANK.get(spot.name, 9))):
        before = out[-1] if out else None
        if before is None or spot.start >= before.end:
            out.append(spot)
        elif spot.kind == before.kind:
            wider = max(before, spot, key=lambda one: (one.end - one.start, -_RANK.get(one.name, 9)))
            out[-1] = wider._replace(start=before.start, end=max(before.end, spot.end))
        else:
            clash = True
            if _KINDS[spot.kind] < _KINDS[before.kind]:
                out[-1] = spot
    return out, clash


def _is_apart(base: str, spot: Spot) -> bool:
    """Tell whether what stands around a spot cannot be part of another finding once the spot is gone."""
    if base[max(0, spot.start - 1) : spot.start] not in _PLAIN or base[spot.end : spot.end + 1] not in _PLAIN:
        return False
    # A number that is gone may have been one with digits on the other side of blanks and punctuation; x announces an
    # extension.
    if base[spot.start] in _NUMBER_EDGES and _DIGIT_BEFORE.search(base, max(0, spot.start - _REACH), spot.start):
        return False
    return base[spot.end - 1] not in _NUMBER_EDGES or _DIGIT_AFTER.match(base, spot.end) is None
