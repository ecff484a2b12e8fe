"""Turns a text of any kind into the edits that redact it: plain text, JSON, JSON in JSON, base64 of either."""

import json
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice, takewhile
from typing import NamedTuple

from runreel.processors.redact import jsontext
from runreel.processors.redact.budget import Budget
from runreel.processors.redact.edits import Edit, Edits, apply, json_escaped
from runreel.processors.redact.growing import Growing, Start, Stop, noted
from runreel.processors.redact.jsontext import Offsets, Token
from runreel.processors.redact.memo import Memo
from runreel.processors.redact.names import SHORTEST_NUMBER, numbers_are, personal_number, says_personal
from runreel.processors.redact.search import Search, Spot
from runreel.processors.redact.settings import RULES_VERSION, RedactSettings
from runreel.processors.redact.suppress import NO_CONTEXT, Context, context
from runreel.processors.redact.tokens import Tokens
from runreel.semconv.pem import LIMIT, key_lines
from runreel.semconv.secret_names import sensitive_key
from runreel.semconv.secrets import MARKS, find_secrets

_DEEPEST = 12  # layers of JSON and base64 in each other; what is deeper is searched as text
_LONG = 192  # characters from which a literal is searched, and remembered, by itself
_SHORT = 16
_PLAIN_KEY = re.compile(r"[A-Za-z_.\-]{1,48}\Z")


class _Name(NamedTuple):
    """What a key says about its value, and whether it needs a look itself."""

    text: str
    plain: bool
    rule: str | None
    context: Context


@lru_cache(maxsize=4096)
def _name(text: str) -> _Name:
    return _Name(text, bool(_PLAIN_KEY.match(text)), sensitive_key(text), context(text))


class _Piece(NamedTuple):
    """A short literal that is searched together with others. `named`: of a number, whether its name is a person's
    (phone, ssn): else it can only be a card."""

    token: Token
    text: str
    context: Context
    named: bool = False


class Texts:
    """Finds the edits of texts, and remembers them. Thread-safe. Whatever a detector raises passes through."""

    def __init__(self, tokens: Tokens, settings: RedactSettings, search: Search) -> None:
        self._tokens = tokens
        self._search = search
        version = f"{RULES_VERSION} {settings!r}"
        self._memo: Memo[Edits] = Memo(settings.memo_size, version)
        self._growing = Growing(settings.memo_size, version)

    def edits(self, text: str, name: str, budget: Budget) -> Edits:
        """Return what must be replaced in a text that stands under `name`."""
        return self._text(text, name, 0, budget)

    def secrets(self, text: str) -> Edits:
        """Return what must be replaced in an identifier: secrets, but nothing that only looks like a person's."""
        return tuple(
            Edit(start, end, f"<SECRET:{rule}>", (f"SECRET:{rule}",)) for start, end, rule in find_secrets(text)
        )

    def token(self, entity: str, text: str) -> str:
        """Return the token of a personal value."""
        return self._tokens.token(entity, text)

    def _text(self, text: str, name: str, depth: int, budget: Budget) -> Edits:
        if len(text) < 3:
            return ()
        where = context(name)
        mark = f"{int(where.version)}{int(where.ssn)}{int(depth < _DEEPEST)} {numbers_are(name)} "
        start = self._growing.start(mark, text)
        key = start.key(text)
        known = self._memo.get(key)
        if known is None:
            known = self._fresh(text, start, name, where, depth, budget)
            self._memo.put(key, known)
        return known

    def _fresh(self, text: str, start: Start, name: str, where: Context, depth: int, budget: Budget) -> Edits:
        if depth < _DEEPEST and jsontext.looks_like_json(text):
            found = jsontext.tokens(text, start.length)
            stops: list[Stop] = []
            first = start.stop.name if start.stop else name
            new = None if found is None else self._json(text, found, first, depth, budget, stops)
            if new is not None:
                edits = (*start.edits, *new)
                self._growing.put(start, text, stops, edits)
                return edits
        return tuple(self._plain([text], [where], depth, budget).get(0, ()))

    # --- JSON ---------------------------------------------------------------------------------------------------

    def _json(
        self, text: str, found: list[Token], name: str, depth: int, budget: Budget, stops: list[Stop]
    ) -> Edits | None:
        """Return the edits of a text made of JSON tokens, and add where a longer text may start; None where a literal
        is not JSON's after all. `name` is that of what comes before the first key."""
        out: list[Edit] = []
        pieces: list[_Piece] = []
        above = _name(name)
        number = settled = 0
        while (token := found[number]).kind != "end":
            kind, start, end, _ = token
            if kind == "key":
                decoded = jsontext.decode(text, start, end)
                if decoded is None:
                    return None
                above = _name(decoded)
                if not above.plain:
                    pieces.append(_Piece(token, decoded, NO_CONTEXT))
                if above.rule is not None:
                    number, seen = _take_value(text, found, number + 1, above.rule, out, pieces)
                    settled = max(settled, seen)
                    continue
            elif kind == "string":
                lines = _key_lines(text, found, number) if text.startswith("-----", start) else 0
                for line in found[number : number + lines]:
                    _cover(text, line, "private-key", out)
                if lines:
                    number += lines
                    settled = max(settled, number + 1)
                    continue
                if not self._literal(text, token, above, depth, budget, out, pieces):
                    return None
                if number >= settled and above.plain and (place := jsontext.settled(text, token)):
                    noted(stops, Stop(place, above.text))
            elif end - start >= SHORTEST_NUMBER:
                digits = personal_number(text[start:end], above.text)
                if digits is not None:
                    pieces.append(_Piece(token, digits, above.context, says_personal(above.text)))
            number += 1
        self._pieces(text, pieces, depth, budget, out)
        return tuple(sorted(out))

    def _literal(
        self, text: str, token: Token, above: _Name, depth: int, budget: Budget, out: list[Edit], pieces: list[_Piece]
    ) -> bool:
        """Judge one string, or leave it to be judged with the other short ones. False where it is not JSON's."""
        decoded = text[token.start : token.end]
        if len(decoded) < _SHORT and (len(decoded) < 3 or decoded.isalpha()):
            return True  # a word: personal data have a digit or a sign, and keys are longer
        if "\\" in decoded:
            plain = jsontext.decode(text, token.start, token.end)
            if plain is None:
                return False
            decoded = plain
        if len(decoded) >= _LONG or jsontext.looks_like_json(decoded):
            _put(text, token, self._text(decoded, above.text, depth + 1, budget), out)
        else:
            pieces.append(_Piece(token, decoded, above.context))
        return True

    def _pieces(self, text: str, pieces: list[_Piece], depth: int, budget: Budget, out: list[Edit]) -> None:
        if not pieces:
            return
        found = self._plain([piece.text for piece in pieces], [piece.context for piece in pieces], depth, budget)
        for place, edits in found.items():
            piece = pieces[place]
            if piece.token.kind != "number":
                _put(text, piece.token, edits, out)
            elif _is_whole_number(piece, edits):
                out.append(Edit(piece.token.start, piece.token.end, json.dumps(edits[0].text), edits[0].labels))

    def number(self, written: str, name: str, budget: Budget) -> Edit | None:
        """Return the edit that replaces a whole number by text, None where it stays."""
        digits = personal_number(written, name)
        if digits is None:
            return None
        token = Token("number", 0, len(written), "")
        edits = self._plain([digits], [context(name)], 0, budget).get(0, ())
        whole = _is_whole_number(_Piece(token, digits, NO_CONTEXT, says_personal(name)), edits)
        return edits[0] if whole else None

    # --- plain text ---------------------------------------------------------------------------------------------

    def _plain(
        self, texts: Sequence[str], contexts: Sequence[Context], depth: int, budget: Budget
    ) -> Mapping[int, Sequence[Edit]]:
        """Search texts in one go, apart from each other; return the edits of those that have any, by their number."""
        starts = [0, *accumulate(len(text) + 1 for text in texts)]

        def where(offset: int) -> tuple[Context, int, int]:
            place = _place(starts, offset)
            return contexts[place], starts[place], starts[place + 1] - 1

        def decoded(plain: str) -> str | None:
            edits = self._text(plain, "", depth + 1, budget) if depth < _DEEPEST else ()
            return apply(plain, edits) if edits else None

        out: dict[int, list[Edit]] = {}
        for spot in self._search.spots(LIMIT.join(texts), where, decoded, budget):
            replacement = self._replacement(spot)
            # None reaches over the border of its text. If one did, the rest of it would go from the next text, too.
            for place in range(_place(starts, spot.start), _place(starts, max(spot.start, spot.end - 1)) + 1):
                first, size = starts[place], starts[place + 1] - starts[place] - 1
                edit = Edit(max(0, spot.start - first), min(size, spot.end - first), replacement, spot.labels)
                out.setdefault(place, []).append(edit)
        return out

    def _replacement(self, spot: Spot) -> str:
        if spot.kind == "secret":
            return f"<SECRET:{spot.name}>"
        return spot.value if spot.kind == "base64" else self.token(spot.name, spot.value)


def _place(starts: list[int], offset: int) -> int:
    return bisect_right(starts, offset) - 1


def _put(text: str, token: Token, edits: Sequence[Edit], out: list[Edit]) -> None:
    """Add the edits of a decoded literal as edits of the text it is written in."""
    if not edits:
        return
    offsets = Offsets(text, token.start, token.end)
    for edit in edits:
        start, end = offsets.written(edit.start), offsets.written(edit.end)
        out.append(Edit(start, end, json_escaped(edit.text), edit.labels))


def _is_whole_number(piece: _Piece, edits: Sequence[Edit]) -> bool:
    whole = len(edits) == 1 and edits[0].end - edits[0].start == len(piece.text)
    return whole and (piece.named or edits[0].labels == ("CARD",))


def _key_lines(text: str, found: list[Token], number: int) -> int:
    """Return how many strings, one after the other from a number on, are the lines of a private key."""
    strings = takewhile(lambda token: token.kind == "string", islice(found, number, None))
    return key_lines(text[token.start : token.end] for token in strings)


def _take_value(
    text: str, found: list[Token], first: int, rule: str, out: list[Edit], pieces: list[_Piece]
) -> tuple[int, int]:
    """Cover the whole value under a telling key; return the number of the token to go on with, and that of the last
    one that was looked at.

    Of objects and arrays every string and number is covered, so that structure and keys stay. true, false and null say
    nothing; a schema describes a secret and holds none; a model's log probabilities have a `token` each.
    """
    behind = jsontext.container_end(found, first)
    if behind is None:
        value = found[first]
        if (
            value.kind not in ("string", "number")
            or value.gap.strip()
            or jsontext.is_log_probability(text, found, first)
        ):
            return first, first + 1
        _cover(text, value, rule, out)
        return first + 1, first + 1
    if jsontext.is_schema(text, found, first, behind):
        return first, behind
    for token in found[first:behind]:
        if token.kind == "key":
            pieces.append(_Piece(token, jsontext.decode(text, token.start, token.end) or "", NO_CONTEXT))
        else:
            _cover(text, token, rule, out)
    return behind, behind


def _cover(text: str, token: Token, rule: str, out: list[Edit]) -> None:
    mark, written = f"<SECRET:{rule}>", text[token.start : token.end]
    if token.kind == "number":
        out.append(Edit(token.start, token.end, f'"{mark}"', (f"SECRET:{rule}",)))
    elif written and not is_mark(written):
        out.append(Edit(token.start, token.end, mark, (f"SECRET:{rule}",)))


def is_mark(text: str) -> bool:
    """Tell whether a whole value is a mark of redaction already: a removed secret or what was withheld."""
    return bool(MARKS.fullmatch(text)) and text.startswith(("<SECRET:", "<WITHHELD:"))
