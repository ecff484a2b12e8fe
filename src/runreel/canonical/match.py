"""Matching one recorded string, with tokens in it, against one live string."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from runreel.canonical.encoded import unescaped
from runreel.canonical.tokens import SECRET_RE, TOKEN_RE, make_token, normalise

Secret = Callable[[str, str], bool]
"""(rule, text) -> whether the text is what the rule finds."""

Keys = bytes | Sequence[bytes] | None
"""A tenant's key, or those that a tenant had one after the other; None where none is at hand."""

_DECLARED = frozenset({"FIELD", "HASH", "REGULATED"})  # these stand for whole values, blanks around them included
_ANY_TOKEN = re.compile(f"{TOKEN_RE.pattern}|{SECRET_RE.pattern}")

# A string with many tokens side by side has many readings; after so many tries it counts as different. A try at a long
# value counts as many.
_MOST_TRIES = 20_000
_TRY_CHARS = 64

# What a value of an entity looks like, normalised, and its greatest length: wider than what redaction finds, but an
# e-mail address is no "me".
_NOT_IN_ADDRESS = r"[^\s@\"<>{}\[\],;]"
_SHAPES = {
    "EMAIL": (320, re.compile(f"{_NOT_IN_ADDRESS}+@{_NOT_IN_ADDRESS}+")),
    "PHONE": (64, re.compile("[0-9]{4,24}")),
    "CARD": (64, re.compile("[0-9]{12,19}")),
    "IBAN": (80, re.compile("[A-Z]{2}[0-9A-Z]{10,40}")),
    "IP": (64, re.compile("[0-9a-f:.%/]{2,}")),
    "SSN": (32, re.compile("[0-9]{9}")),
    "CRYPTO": (128, re.compile("[0-9A-Za-z]{20,}")),
}

# Normalising drops what surrounds and divides a value, so that spellings are equal. But a value ends with itself: else
# it would swallow a full stop or a letter that was put behind it. A number may have one word in it, its "ext.".
_NUMBERS = frozenset({"PHONE", "CARD", "SSN"})
_NUMBER = re.compile(r"[+(\[]{0,3}\d(?:[\W\d]*(?:[^\W\d_]{1,9}\W{0,3})?\d)?")


class Token(NamedTuple):
    """A token in a recorded string, and the text up to the next one."""

    text: str
    entity: str
    rule: str
    literal: str


class State:
    """Bindings as they grow, with the way back."""

    def __init__(
        self,
        tokens: dict[str, str],
        assumed: set[str],
        key: Keys,
        served: frozenset[str],
        secret: Secret | None,
    ) -> None:
        self.tokens = tokens
        self.assumed = assumed
        self.keys = (key,) if isinstance(key, bytes) else key
        self.served = served
        self.secret = secret
        self._taken = {(_entity(token), normalise(_entity(token), raw)) for token, raw in tokens.items()}
        self._trail: list[tuple[str, tuple[str, str]]] = []

    def mark(self) -> int:
        """Return a point to which `undo` leads back."""
        return len(self._trail)

    def undo(self, mark: int) -> None:
        """Forget the bindings made since `mark`."""
        while len(self._trail) > mark:
            token, value = self._trail.pop()
            del self.tokens[token]
            self.assumed.discard(token)
            self._taken.discard(value)

    def accept(self, token: Token, raw: str) -> bool:
        """Say whether a token can stand for a text, as it is or with its escapes undone; bind it if it was free."""
        if self._accept(token, raw):
            return True
        plain = unescaped(raw)
        return plain != raw and self._accept(token, plain)

    def _accept(self, token: Token, raw: str) -> bool:
        if token.rule:
            return raw == token.text or (self.secret is not None and self.secret(token.rule, raw))
        if raw == token.text and token.text in self.served:
            return True
        bound = self.tokens.get(token.text)
        if raw == bound:
            return True
        if token.entity not in _DECLARED and not clean_cut(token.entity, raw):
            return False
        value = token.entity, normalise(token.entity, raw)
        if bound is not None:
            return normalise(token.entity, bound) == value[1]
        if value in self._taken and (self.keys is None or len(self.keys) == 1):
            return False  # the same value would have had the same token
        if self.keys is None:
            if not fits(token.entity, raw, value[1]):
                return False
            self.assumed.add(token.text)
        elif not any(_makes(key, token, raw) for key in self.keys):
            return False
        self.tokens[token.text] = raw
        self._taken.add(value)
        self._trail.append((token.text, value))
        return True


class Match:
    """One search for a reading of a live string. `text_fits` tells whether the text around the tokens was the same."""

    def __init__(self, recorded: str, live: str, state: State) -> None:
        self._live = live
        self._state = state
        self._first, self._tokens = _pieces(recorded)
        self._tries = 0
        self.text_fits = False

    def found(self) -> bool:
        """Look for a reading; bind its tokens. Nothing is bound where there is none."""
        if not self._live.startswith(self._first):
            return False
        choices = [(self._state.mark(), self._ends(0, len(self._first)))]
        starts = [len(self._first)]
        while choices:
            mark, ends = choices[-1]
            self._state.undo(mark)
            end = self._next(ends, self._tokens[len(choices) - 1], starts[-1])
            if end is None:
                choices.pop()
                starts.pop()
                continue
            behind = end + len(self._tokens[len(choices) - 1].literal)
            if len(choices) == len(self._tokens):
                return True
            choices.append((self._state.mark(), self._ends(len(choices), behind)))
            starts.append(behind)
        return False

    def _next(self, ends: Iterator[int], token: Token, start: int) -> int | None:
        """Return the next end of a token that can be accepted; bind it."""
        for end in ends:
            self._tries += 1 + (end - start) // _TRY_CHARS
            if self._tries > _MOST_TRIES:
                return None
            if self._state.accept(token, self._live[start:end]):
                return end
        return None

    def _ends(self, index: int, start: int) -> Iterator[int]:
        """Yield where the token at `index` may end, if it starts at `start`: where the text behind it goes on."""
        token = self._tokens[index]
        live, literal = self._live, token.literal
        if index == len(self._tokens) - 1:
            end = len(live) - len(literal)
            if end > start and live.endswith(literal):
                self.text_fits = True
                yield end
            return
        stop = len(live)
        if token.entity in _NUMBERS or (self._state.keys is None and token.entity in _SHAPES):
            stop = min(stop, start + max(_SHAPES[token.entity][0], len(token.text)) + len(literal))
        end = start + 1
        while (end := live.find(literal, end, stop)) >= 0:
            yield end
            end += 1


def has_token(text: str) -> bool:
    """Say whether a recorded string has a token or a secret's placeholder in it."""
    return _ANY_TOKEN.search(text) is not None


def clean_cut(entity: str, raw: str) -> bool:
    """Say whether a text starts and ends with its value, and not with something that merely stands beside it."""
    if entity in _NUMBERS:
        return len(raw) <= _SHAPES[entity][0] and _NUMBER.fullmatch(unicodedata.normalize("NFKC", raw)) is not None
    if entity == "IBAN":
        return raw[0].isalnum() and raw[-1].isalnum()
    return not any(char.isspace() or unicodedata.category(char) == "Cf" for char in (raw[0], raw[-1]))


def fits(entity: str, raw: str, normalised: str) -> bool:
    """Say whether a text has the shape of an entity's values; entities of unknown shape take any text."""
    if entity not in _SHAPES:
        return bool(normalised)
    longest, shape = _SHAPES[entity]
    return len(raw) <= longest and shape.fullmatch(normalised) is not None


def _pieces(recorded: str) -> tuple[str, list[Token]]:
    """Take a recorded string apart: the text in front of the first token, and the tokens."""
    found = list(_ANY_TOKEN.finditer(recorded))
    tokens = []
    for match, after in zip(found, [*found[1:], None], strict=True):
        literal = recorded[match.end() : after.start() if after else len(recorded)]
        tokens.append(Token(match[0], match[1] or "", match[3] or "", literal))
    return recorded[: found[0].start()], tokens


def _makes(key: bytes, token: Token, raw: str) -> bool:
    return make_token(key, token.entity, raw, len(token.text) - len(token.entity) - 3) == token.text


def _entity(token: str) -> str:
    return token[1:].rpartition("_")[0]
