"""A user's own recognisers and deny lists: what Presidio's PatternRecognizer finds with them, behind a fast gate.

One pass of a multi-pattern matcher says which recognisers can find anything in a text: hyperscan turns each pattern
into one that matches wherever the pattern does, and perhaps elsewhere. Only then the recogniser looks. A pattern that
the matcher cannot read, and any text beyond ASCII, goes to the recogniser without being asked.
"""

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from runreel.errors import ConfigError
from runreel.processors.redact.classes import DECLARED
from runreel.processors.redact.detect import DEFAULT_ENTITIES, Finding
from runreel.processors.redact.recognisers import Judge, judge_of
from runreel.semconv.pem import LIMIT

if TYPE_CHECKING:
    from presidio_analyzer import PatternRecognizer

_TIMEOUT_S = 5.0
_NAME = re.compile(r"[A-Z][A-Z0-9_]{1,30}\Z")
_TAKEN = frozenset({*DEFAULT_ENTITIES, *DECLARED, "SECRET", "WITHHELD"})
# What `regex` reads otherwise than the matcher does: fuzzy matching, sets of characters in each other, its own groups.
_PECULIAR = re.compile(r"\{[^0-9,}]|\[\[|--|&&|\|\||~~|\(\?[^:=!<>iLmsx)P-]|\\[pPXRKGLN]")


@dataclass(frozen=True, slots=True)
class Recogniser:
    """What a user wants found: `patterns` are (regular expression, score), `deny_list` words that go wherever they
    stand alone."""

    entity: str
    patterns: tuple[tuple[str, float], ...] = ()
    deny_list: tuple[str, ...] = ()

    @property
    def token_entity(self) -> str:
        """The entity as tokens write it."""
        return self.entity.replace("_", "")


def checked(recogniser: Recogniser) -> Recogniser:
    """Return the recogniser. Raises ValueError with what is wrong and what to write."""
    if not _NAME.match(recogniser.entity) or recogniser.token_entity in _TAKEN:
        raise ValueError(
            f"entity: {recogniser.entity!r} cannot be one: write capital letters, digits and _, as in EMPLOYEE_ID, and "
            f"none of {', '.join(sorted(_TAKEN))}"
        )
    if not recogniser.patterns and not recogniser.deny_list:
        raise ValueError("neither patterns nor deny_list is there: write at least one")
    if any(not word.strip() for word in recogniser.deny_list):
        raise ValueError("deny_list: a word is empty, and would be found everywhere: take it out")
    import regex  # type: ignore[import-untyped]

    for place, (pattern, score) in enumerate(recogniser.patterns):
        try:
            if regex.compile(pattern).match(""):
                raise ValueError(f"patterns[{place}]: {pattern!r} matches the empty text: make it match something")
        except regex.error as error:
            raise ValueError(f"patterns[{place}]: {pattern!r} is no regular expression: {error}") from None
        if not 0 < score <= 1:
            raise ValueError(f"patterns[{place}]: score {score} is not between 0 and 1")
    return recogniser


class Own:
    """Finds what a user's recognisers find. Thread-safe. Raises ConfigError for one that cannot be."""

    def __init__(self, recognisers: Sequence[Recogniser], *, hyperscan: bool | None = None) -> None:
        problems = []
        for place, one in enumerate(recognisers):
            try:
                checked(one)
            except ValueError as error:
                problems.append(f"recognizers[{place}]: {error}")
        if problems:
            raise ConfigError("redact", problems)
        self.entities = tuple(one.token_entity for one in recognisers)
        built = [presidio(one) for one in recognisers]
        self._judges = [_timed(judge_of(one)) for one in built]
        self._gate = _Gate(built) if hyperscan is not False else None

    def find(self, text: str, check: Callable[[], None]) -> list[Finding]:
        """Return the findings in texts that are joined by LIMIT, each for itself."""
        found: list[Finding] = []
        start = 0
        for piece in text.split(LIMIT):
            for number in self._worth(piece):
                found += [
                    Finding(self.entities[number], start + first, start + last, score)
                    for first, last, score in self._judges[number].judge(piece, check)
                ]
            start += len(piece) + 1
        return found

    def _worth(self, text: str) -> Sequence[int]:
        if not text:
            return ()
        if self._gate is None or not text.isascii():
            return range(len(self._judges))
        return self._gate.open(text)


def _timed(judge: Judge) -> Judge:
    """Bound the time of each pattern: nobody thinks of every text, and what takes longer is withheld."""
    return replace(judge, exacts=tuple(replace(exact, timeout_s=_TIMEOUT_S) for exact in judge.exacts))


def presidio(recogniser: Recogniser) -> "PatternRecognizer":
    """Return the recogniser as Presidio has it."""
    from presidio_analyzer import Pattern, PatternRecognizer

    name = recogniser.entity
    patterns = [Pattern(f"{name} {place}", text, score) for place, (text, score) in enumerate(recogniser.patterns)]
    return PatternRecognizer(supported_entity=name, patterns=patterns, deny_list=[*recogniser.deny_list])


class _Gate:
    """Says which recognisers can find anything in an ASCII text."""

    def __init__(self, recognisers: "Sequence[PatternRecognizer]") -> None:
        self._always: list[int] = []
        expressions: list[bytes] = []
        ids: list[int] = []
        flags: list[int] = []
        self._library: Any = None
        try:
            import hyperscan
        except ImportError:
            self._always = [*range(len(recognisers))]
            return
        self._library = hyperscan
        for number, recogniser in enumerate(recognisers):
            flag = _flags(hyperscan, recogniser.global_regex_flags or 0)
            patterns = [pattern.regex for pattern in vars(recogniser)["patterns"]]
            if all(_compiles(hyperscan, text, flag) for text in patterns):
                expressions += [text.encode() for text in patterns]
                ids += [number] * len(patterns)
                flags += [flag] * len(patterns)
            else:
                self._always.append(number)
        self._database: Any = None
        if expressions:
            self._database = hyperscan.Database()
            self._database.compile(expressions=expressions, ids=ids, elements=len(ids), flags=flags)
        self._local = threading.local()

    def open(self, text: str) -> Sequence[int]:
        if self._library is None or self._database is None:
            return self._always
        found = {*self._always}

        def on_hit(number: int, *_: object) -> bool:
            found.add(number)
            return False

        scratch = getattr(self._local, "scratch", None)
        if scratch is None:
            scratch = self._local.scratch = self._library.Scratch(self._database)
        self._database.scan(text.encode(), match_event_handler=on_hit, scratch=scratch)
        return sorted(found)


def _flags(library: Any, flags: int) -> int:
    out = library.HS_FLAG_PREFILTER | library.HS_FLAG_SINGLEMATCH
    for theirs, ours in ((re.IGNORECASE, "CASELESS"), (re.DOTALL, "DOTALL"), (re.MULTILINE, "MULTILINE")):
        if flags & theirs:
            out |= getattr(library, f"HS_FLAG_{ours}")
    return int(out)


def _compiles(library: Any, pattern: str, flags: int) -> bool:
    """Tell whether the matcher reads a pattern, and as `regex` does."""
    if not pattern.isascii() or _PECULIAR.search(pattern):
        return False
    try:
        re.compile(pattern)
        library.Database().compile(expressions=[pattern.encode()], ids=[0], elements=1, flags=[flags])
    except (re.error, library.error):
        return False
    return True
