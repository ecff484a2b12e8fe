"""What libphonenumber's metadata say numbers of a region look like: what cannot be one need not be parsed.

All here is necessary for a number, nothing is enough: whatever passes is for libphonenumber to judge.
"""

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from phonenumbers import PhoneMetadata

_FEWEST_DIGITS = 7
_GROUPS = re.compile(r"[\s./()\[\]]+|(?<=\d)-(?=\s)")
_PLUS_AND_DIGIT = re.compile(r"[\[( ]*\+\d")
_NO_DIGIT = re.compile(r"\D")
_KINDS = (
    "fixed_line", "mobile", "toll_free", "premium_rate", "shared_cost", "voip", "personal_number", "pager", "uan",
    "voicemail",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Format:
    """One way to write the numbers of a country: which, and whether the prefix of national calls is part of it."""

    leading: re.Pattern[str] | None
    whole: re.Pattern[str]
    needs_prefix: bool

    def fits(self, run: str) -> bool:
        """Tell whether a number is written like this, without any prefix."""
        return (self.leading is None or self.leading.match(run) is not None) and self.whole.fullmatch(run) is not None


@dataclass(frozen=True, slots=True)
class Region:
    """What the metadata of a region say a number must look like, as digits only. None: anything may match."""

    code: str
    national: re.Pattern[str] | None
    abroad: re.Pattern[str] | None
    prefixed: re.Pattern[str] | None = None  # how a number starts that has a country's code, or the prefix of calls
    formats: tuple[Format, ...] = ()

    def may_match(self, runs: set[str]) -> bool:
        """Tell whether any of some runs of digits may be a number. One of seven digits or more must look like one at
        least: shorter numbers are not looked for, and only taken beside it."""
        if self.national is None:
            return True
        long = [run for run in runs if len(run) >= _FEWEST_DIGITS and self._looks_right(run)]
        if not long:
            return False
        return any(map(self.may_be_one, long)) or any(map(self.may_be_one, runs))

    def may_be_one(self, run: str) -> bool:
        """Tell whether a run of digits, and all that stands between them, may be a number."""
        return self._looks_right(run) and not self._lacks_prefix(run)

    def _looks_right(self, run: str) -> bool:
        if self.national is None or self.national.fullmatch(run):
            return True
        return self.abroad is not None and self.abroad.match(run) is not None

    def _lacks_prefix(self, run: str) -> bool:
        """Tell whether a number is none because it stands without the zero, say, that numbers like it are written with
        inside of the country."""
        if self.prefixed is None or self.prefixed.match(run) or (self.abroad and self.abroad.match(run)):
            return False
        return next((one.needs_prefix for one in self.formats if one.fits(run)), False)

    def may_be(self, group: str, refused: Container[str]) -> bool:
        """Tell the same of a part of a candidate that holds digits and what is written between them, no extension.
        `refused` are numbers with a plus that are none in any region."""
        digits = _NO_DIGIT.sub("", group)
        if len(digits) < 2:
            return False
        if "+" in group:
            return group not in refused and _may_be_abroad(group, digits)
        return self.may_be_one(digits)


def has_country(candidate: str) -> bool:
    """Tell whether a number starts with a plus and a country's code: which region is preferred means nothing then."""
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

    if not _PLUS_AND_DIGIT.match(candidate):
        return False
    digits = _NO_DIGIT.sub("", candidate)
    return digits[0] != "0" and any(int(digits[:length]) in COUNTRY_CODE_TO_REGION_CODE for length in (1, 2, 3))


def _may_be_abroad(written: str, digits: str) -> bool:
    """Tell whether a number that starts with a plus can be one of the country that its first digits name."""
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

    if written.count("+") > 1 or digits[0] == "0" or not _PLUS_AND_DIGIT.match(written):
        return True
    for length in (1, 2, 3):
        codes = COUNTRY_CODE_TO_REGION_CODE.get(int(digits[:length]))
        if codes:
            return region_of(codes[0]).may_be_one(digits)
    return True


@lru_cache(maxsize=512)
def region_of(code: str) -> Region:
    """Return what a region's numbers look like; anything may be one of a region without metadata."""
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata

    data = PhoneMetadata.metadata_for_region(code)
    if data is None or data.country_code is None:
        return Region(code, None, None)
    # A number of any region with the same country code will do: +1 is twenty-five of them.
    kin = (PhoneMetadata.metadata_for_region(other) for other in COUNTRY_CODE_TO_REGION_CODE[data.country_code])
    numbers = "|".join(sorted({pattern for other in kin if other is not None for pattern in _patterns(other)}))
    prefix = data.national_prefix_for_parsing
    if data.national_prefix_transform_rule:  # behind such a prefix stands something that is rewritten
        numbers = f"(?:{numbers})|(?:{prefix})\\d*"
    elif prefix:
        numbers = f"(?:{prefix}){{0,2}}(?:{numbers})"  # once more behind a country code
    national = re.compile(f"(?:{data.country_code})?(?:{numbers})")
    abroad = re.compile(data.international_prefix) if data.international_prefix else None
    main = PhoneMetadata.metadata_for_region(COUNTRY_CODE_TO_REGION_CODE[data.country_code][0])
    prefixes = [found for one in (data, main) if one is not None and (found := one.national_prefix_for_parsing)]
    prefixed = re.compile("|".join([str(data.country_code), *(f"(?:{found})" for found in prefixes)]))
    return Region(code, national, abroad, prefixed, tuple(_formats(main)) if main is not None else ())


def _formats(data: "PhoneMetadata") -> Iterator[Format]:
    """Yield how the numbers of a country are written; of those that fit a number, the first is meant."""
    from phonenumbers.phonenumberutil import _formatting_rule_has_first_group_only

    for one in data.number_format:
        rule = one.national_prefix_formatting_rule
        needs = bool(rule) and not one.national_prefix_optional_when_formatting
        leading = re.compile(one.leading_digits_pattern[-1]) if one.leading_digits_pattern else None
        yield Format(leading, re.compile(one.pattern or ""), needs and not _formatting_rule_has_first_group_only(rule))


def _patterns(data: "PhoneMetadata") -> Iterator[str]:
    """Yield the patterns of which a valid number of a region matches one."""
    for kind in _KINDS:
        description = getattr(data, kind)
        if description is not None and description.national_number_pattern:
            yield description.national_number_pattern


def digit_runs(candidate: str) -> tuple[set[str] | None, bool]:
    """Return every run of digits that the matcher may try inside a candidate (None: it may try anything), and whether
    the candidate starts with a plus, whose group is left out then."""
    if not candidate.isascii() or any(char in candidate for char in "xX;#,"):
        return None, False
    abroad = _PLUS_AND_DIGIT.match(candidate) is not None
    if candidate.count("+") != abroad:
        return None, False
    groups = [run for run in (_NO_DIGIT.sub("", part) for part in _GROUPS.split(candidate)) if run][abroad:]
    if len(groups) > 8:
        return None, abroad
    runs = ("".join(groups[i:j]) for i in range(len(groups)) for j in range(i + 1, len(groups) + 1))
    return {run for run in runs if 2 <= len(run) <= 20}, abroad
