"""The rule table for secrets: keys, passwords, tokens and private keys in text, and the names that announce them.

Pure `re`, so that the light recorder strips secrets with the same rules as the collector. Secrets are found first and
removed for good (`<SECRET:rule>`); personal data is another matter, and the redactor's. Public material stays:
certificates, public keys, publishable keys, the names of parameters and headers.
"""

import re
from collections.abc import Iterable

from runreel.semconv.secret_names import KEY_RULES
from runreel.semconv.secret_rules import INERT, RULES, Rule
from runreel.semconv.secret_values import Span

MARKS = re.compile(
    r"<(?:SECRET:[a-z0-9-]{1,40}|WITHHELD:[a-z_]{1,40}|(?:EMAIL|PHONE|CARD|IBAN|IP|SSN|CRYPTO|FIELD|HASH|REGULATED)_[0-9a-f]{8,64})>"
)
"""What redaction left behind: never looked at again."""


def find_secrets(text: str) -> list[Span]:
    """Return (start, end, rule) of every secret in a text: in order, apart from each other, marks left alone."""
    low = text.lower()
    if len(low) != len(text):  # a few capitals grow in lower case; hints only need their presence
        low = low + text
    rules = _hinted(low)
    found: list[Span] = []
    text = masked(text) if rules else text
    while new := merge([span for rule in rules for span in rule.find(text, 0)]):
        found += new  # and once more: what stood beside one of these may be one by itself
        text = blanked(text, ((start, end) for start, end, _ in new))
    return sorted(found)


def _hinted(low: str) -> list[Rule]:
    """Return the rules of which a hint is in a text in lower case."""
    if len(low) > _SHORT:
        return [rule for rule in RULES if any(hint in low for hint in rule.hints)]
    found = {place for hint, place in _SHORT_HINTS if hint in low}
    for start in range(len(low) - 1):
        for hint, place in _BY_START.get(low[start : start + 2], ()):
            if place not in found and low.startswith(hint, start):
                found.add(place)
    return [RULES[place] for place in sorted(found)]


def is_secret(rule: str, text: str) -> bool:
    """Tell whether a whole text is what `rule` would have removed.

    Rules that go by the name beside a value (password, token, url-param...) remove any value, so any text but the
    empty one will do. An unknown rule removes nothing.
    """
    if not text:
        return False
    if rule in KEY_RULES:
        return True
    return any(span == (0, len(text), rule) for found in RULES if found.name == rule for span in found.find(text, 0))


def strip_secrets(text: str) -> str:
    """Return the text with every secret replaced by `<SECRET:rule>`."""
    out, last = [], 0
    for start, end, rule in find_secrets(text):
        out += [text[last:start], f"<SECRET:{rule}>"]
        last = end
    return "".join([*out, text[last:]]) if last else text


def masked(text: str) -> str:
    """Return the text, at the same length, with the marks of an earlier redaction made inert."""
    return MARKS.sub(lambda mark: INERT * len(mark[0]), text) if "<" in text else text


def blanked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text, at the same length, with spans made inert."""
    out: list[str] = []
    last = 0
    for start, end in sorted(spans):
        if end > last:
            start = max(start, last)
            out += [text[last:start], INERT * (end - start)]
            last = end
    return "".join([*out, text[last:]]) if out else text


def merge(spans: list[Span]) -> list[Span]:
    """Join spans that overlap: the first to start names the rule, then the longest, then the first in the table."""
    out: list[Span] = []
    for start, end, rule in sorted(spans, key=lambda span: (span[0], -span[1], _ORDER.get(span[2], len(RULES)))):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]), out[-1][2])
        else:
            out.append((start, end, rule))
    return out


_SHORT = 128  # characters, of ids say: for these, two hundred searches for hints cost more than looking at each place
_HINTS = [(hint, place) for place, rule in enumerate(RULES) for hint in rule.hints]
_SHORT_HINTS = [(hint, place) for hint, place in _HINTS if len(hint) < 2]
_BY_START = {
    start: [(hint, place) for hint, place in _HINTS if hint.startswith(start)]
    for start in {hint[:2] for hint, _ in _HINTS if len(hint) > 1}
}
_ORDER = {rule.name: place for place, rule in reversed(list(enumerate(RULES)))}
_ORDER["url-param"] = len(RULES) + 1  # says the least: `API_KEY=x` at the start of a text also looks like a parameter
