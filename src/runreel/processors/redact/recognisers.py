"""Presidio's own recognisers, offline and quiet: their patterns and validators, ready to judge small windows."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from runreel.errors import ConfigError
from runreel.processors.redact.memo import Memo

if TYPE_CHECKING:
    import regex  # type: ignore[import-untyped]
    from presidio_analyzer import EntityRecognizer, Pattern, PatternRecognizer

PRESIDIO_NAMES = {
    "EMAIL": "EMAIL_ADDRESS",
    "PHONE": "PHONE_NUMBER",
    "CARD": "CREDIT_CARD",
    "IBAN": "IBAN_CODE",
    "IP": "IP_ADDRESS",
    "SSN": "US_SSN",
    "CRYPTO": "CRYPTO",
}
"""Our entity names, which tokens carry, and Presidio's."""

_SIMPLE_LOCAL = re.compile(r"[\w.+'-]*")
_DOUBLED = bytes.maketrans(b"0123456789", bytes([0, 2, 4, 6, 8, 1, 3, 5, 7, 9]))
_NO_DIGIT = bytes(set(range(256)) - set(b"0123456789"))
# The recogniser's pattern has looked at the size of the numbers already.
_PLAIN_IPV4 = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")
_NOT_BASE58 = re.compile("[0OIl]")

_NEEDS = {"IP": dict.fromkeys(("IPv4_mapped", "IPv4_embedded", "IPv6", "IPv6_unspecified"), ":")}

Judged = tuple[int, int, float]


@dataclass(frozen=True, slots=True)
class Exact:
    """One pattern of a recogniser with its validators. A text without what it `needs` holds no match."""

    pattern: "regex.Pattern[str]"
    score: float
    validate: Callable[[str], bool | None]
    invalidate: Callable[[str], bool | None]
    timeout_s: float | None = None
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Judge:
    """Says what a recogniser finds in a window, as Presidio would in the whole text."""

    exacts: tuple[Exact, ...]
    whole: Callable[[str], list[Judged]] | None = None

    def judge(self, text: str, check: Callable[[], None]) -> list[Judged]:
        """Return (start, end, score) of each finding in a text; scores of 0 are none. `check` may raise to stop."""
        if self.whole is not None:
            return self.whole(text)
        found = []
        for exact in self.exacts:
            if exact.needs not in text:
                continue
            for match in exact.pattern.finditer(text, timeout=exact.timeout_s):
                check()
                written = match.group()
                if not written:
                    continue
                valid = exact.validate(written)
                score = exact.score if valid is None else float(valid)
                if score > 0 and not exact.invalidate(written):
                    found.append((*match.span(), score))
        return found


def judges(entities: Sequence[str]) -> dict[str, Judge]:
    """Build the judges of the given entities (phones have a module of their own). Imports Presidio: about a second.

    Raises ConfigError for an entity that is none of the seven.
    """
    unknown = [entity for entity in entities if entity not in PRESIDIO_NAMES]
    if unknown:
        known = ", ".join(PRESIDIO_NAMES)
        raise ConfigError("redact", [f"entities: {name!r} is unknown; known are {known}" for name in unknown])
    # Its recognisers log the text that they could not validate.
    logging.getLogger("presidio-analyzer").disabled = True
    built = _recognisers()
    made = {entity: judge_of(one, _NEEDS.get(entity, {})) for entity, one in built.items()}
    made["IBAN"] = Judge((), _ibans(built["IBAN"]))
    return {entity: made[entity] for entity in entities if entity != "PHONE"}


def _recognisers() -> "dict[str, PatternRecognizer]":
    from presidio_analyzer import predefined_recognizers as predefined

    class OfflineEmailRecognizer(predefined.EmailRecognizer):
        def validate_result(self, pattern_text: str) -> bool:
            return has_public_suffix(pattern_text)

    # These find and refuse exactly what the stock ones do, some microseconds sooner where the case is plain.

    class QuickCardRecognizer(predefined.CreditCardRecognizer):
        def validate_result(self, pattern_text: str) -> bool:
            return luhn(pattern_text)

    class QuickIpRecognizer(predefined.IpRecognizer):
        def invalidate_result(self, pattern_text: str) -> bool:
            return not _PLAIN_IPV4.fullmatch(pattern_text) and bool(super().invalidate_result(pattern_text))

    class QuickCryptoRecognizer(predefined.CryptoRecognizer):
        def validate_result(self, pattern_text: str) -> bool:
            # A digit or letter that base 58 does not have.
            if pattern_text[0] in "13" and _NOT_BASE58.search(pattern_text):
                return False
            return bool(super().validate_result(pattern_text))

    return {
        "EMAIL": OfflineEmailRecognizer(),
        "CARD": QuickCardRecognizer(),
        "IBAN": predefined.IbanRecognizer(),
        "IP": QuickIpRecognizer(),
        "SSN": predefined.UsSsnRecognizer(),
        "CRYPTO": QuickCryptoRecognizer(),
    }


class _Suffixes:
    """The list of public suffixes that comes in the package. Stock Presidio would ask the network for it."""

    def __init__(self) -> None:
        import tldextract

        self._extract = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=())
        self._memo: Memo[bool] = Memo(10_000, "suffixes")

    def ends(self, address: str) -> bool:
        local, _, domain = address.rpartition("@")
        if not _SIMPLE_LOCAL.fullmatch(local):  # it may look like a URL then, and be read as one
            return bool(self._extract(address).fqdn)
        key = self._memo.key(domain)
        known = self._memo.get(key)
        if known is None:
            known = bool(self._extract(domain).fqdn)
            self._memo.put(key, known)
        return known


@lru_cache(maxsize=1)
def _suffixes() -> _Suffixes:
    return _Suffixes()


def has_public_suffix(address: str) -> bool:
    """Tell whether an address or domain ends in a public suffix, as Presidio asks of e-mail addresses."""
    return _suffixes().ends(address)


def luhn(text: str) -> bool:
    """Tell whether the digits of a text pass the checksum of card numbers."""
    if not text.isascii():
        text = "".join([str(int(char)) for char in text if char.isdecimal()])
    digits = text.encode().translate(None, _NO_DIGIT)
    plain, doubled = digits[-1::-2], digits[-2::-2].translate(_DOUBLED)
    return (sum(plain) - ord("0") * len(plain) + sum(doubled)) % 10 == 0


def judge_of(recogniser: "PatternRecognizer", needs: Mapping[str, str] = MappingProxyType({})) -> Judge:
    """Return the judge that a recogniser is. `needs`: by the name of a pattern, what all that it matches contains."""
    from presidio_analyzer import PatternRecognizer

    if type(recogniser).analyze is not PatternRecognizer.analyze:  # it does more than match and validate
        return Judge((), _analyse(recogniser))
    return Judge(
        tuple(
            Exact(
                pattern,
                item.score,
                recogniser.validate_result,
                recogniser.invalidate_result,
                needs=needs.get(item.name, ""),
            )
            for item, pattern in _compiled(recogniser)
        )
    )


def _compiled(recogniser: "PatternRecognizer") -> "list[tuple[Pattern, regex.Pattern[str]]]":
    import regex

    patterns: Sequence[Pattern] = vars(recogniser)["patterns"]
    return [(item, regex.compile(item.regex, recogniser.global_regex_flags)) for item in patterns]


def _ibans(recogniser: "PatternRecognizer") -> Callable[[str], list[Judged]]:
    """Return what finds IBANs as the stock recogniser does: a match may hold a word too many, so that it counts up to
    the last of its groups with which it is valid."""
    patterns = [(pattern, item.score) for item, pattern in _compiled(recogniser)]

    def analyse(window: str) -> list[Judged]:
        found: list[Judged] = []
        for pattern, score in patterns:
            for match in pattern.finditer(window):
                start = match.start()
                for group in range(pattern.groups, 0, -1):
                    end = match.end(group) if match.end(group) > 0 else match.end()
                    valid = recogniser.validate_result(window[start:end])
                    judged = score if valid is None else float(valid)
                    if judged > 0:
                        found.append((start, end, judged))
                        break
        return found

    return analyse


def _analyse(recogniser: "EntityRecognizer") -> Callable[[str], list[Judged]]:
    entities = recogniser.supported_entities

    def analyse(window: str) -> list[Judged]:
        results = recogniser.analyze(window, entities, None)  # type: ignore[arg-type]
        return [(result.start, result.end, result.score) for result in results]

    return analyse
