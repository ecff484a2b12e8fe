"""The edits of one text made of JSON tokens: what keys and lists announce, and what chunks make together."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice, takewhile
from typing import NamedTuple, Protocol

from runreel.processors.redact import joins, jsontext
from runreel.processors.redact.budget import Budget
from runreel.processors.redact.edits import Edit, Edits, json_escaped
from runreel.processors.redact.growing import Start, Stop, noted
from runreel.processors.redact.jsontext import Offsets, Token
from runreel.processors.redact.names import SHORTEST_NUMBER, personal_number, said, says_personal
from runreel.processors.redact.signed import BROKEN, SHORTEST, is_signature_key
from runreel.processors.redact.suppress import NO_CONTEXT, Context, context
from runreel.semconv.pem import key_lines
from runreel.semconv.secret_lists import NAME_KEYS, NAME_LISTS, VALUE_KEYS, list_values, starts_list
from runreel.semconv.secret_names import sensitive_key, sensitive_word
from runreel.semconv.secrets import MARKS

_LONG = 192  # characters from which a literal is searched, and remembered, by itself
_SHORT = 16
_PLAIN_KEY = re.compile(r"[A-Za-z_.\-]{1,48}\Z")
_NEAR = 8  # tokens between a name and its value
_BESIDE = 32  # tokens before and behind a signature that it may be of
_MOST_WORDS = 512
_TAIL = 160


class _Name(NamedTuple):
    """What a key says about its value, and whether it needs a look itself."""

    text: str
    plain: bool
    rule: str | None
    context: Context
    chunk: bool
    signed: bool


@lru_cache(maxsize=4096)
def _name(text: str) -> _Name:
    plain, chunk = bool(_PLAIN_KEY.match(text)), joins.is_chunk_name(text)
    return _Name(text, plain, sensitive_key(text), context(text), chunk, is_signature_key(text))


class Piece(NamedTuple):
    """A short literal that is searched together with others. `named`: of a number, whether its name is a person's
    (phone, ssn): else it can only be a card."""

    token: Token
    text: str
    context: Context
    named: bool = False


class Judge(Protocol):
    """What finds the edits of the texts in a document. `words`: single words may be findings, too."""

    words: bool

    def nested(self, text: str, name: str, depth: int, budget: Budget) -> Edits:
        """Return the edits of a text, whatever it holds."""
        ...

    def plain(
        self, texts: Sequence[str], contexts: Sequence[Context], depth: int, budget: Budget
    ) -> Mapping[int, Sequence[Edit]]:
        """Search texts in one go, apart from each other; return the edits of those that have any, by their number."""
        ...


class Document:
    """One text on its way. Used once.

    Attributes:
        stops: Where a longer text may start, in order.
        reaches_back: What was found starts in what stands before the start: all must be done again from the beginning.
    """

    def __init__(self, judge: Judge, text: str, found: list[Token], depth: int, budget: Budget) -> None:
        self._judge = judge
        self._text = text
        self._found = found
        self._depth = depth
        self._budget = budget
        self._out: list[Edit] = []
        self._pieces: list[Piece] = []
        self._groups = joins.Groups()
        self._stream = False  # whether something says that the texts are pieces
        self._announced: dict[int, str] = {}  # a key's number, and the rule that takes its value
        self._taken: dict[int, Edits] = {}  # a text's number, and what must go of it
        self._signatures: list[int] = []
        self._listed = 0  # the first text in a list that was not judged with those before it
        self._settled = 0
        self.stops: list[Stop] = []
        self.reaches_back = False

    def edits(self, name: str, start: Start) -> Edits | None:
        """Return the edits; None where a literal is not JSON's after all. `name`: what comes before the first key."""
        text, found = self._text, self._found
        above = _name(name)
        self._look_back(start)
        number = 0
        while (token := found[number]).kind != "end":
            kind, first, last, _, decoded = token
            if kind == "key":
                self._groups.end_list()
                if decoded is None:
                    return None
                above = _name(said(decoded))
                self._stream |= decoded in joins.STREAM_KEYS
                if above.signed:
                    self._signatures.append(number)
                if not above.plain or self._judge.words:
                    self._pieces.append(Piece(token, decoded, NO_CONTEXT))
                rule = above.rule or self._announced.get(number) or self._pair(number, decoded)
                if rule is not None:
                    number = self._take_value(number + 1, rule)
                    continue
            elif kind == "string":
                lines = self._key_lines(number) if text.startswith("-----", first) else 0
                if lines:
                    number += lines
                    continue
                if not self._string(number, token, above):
                    return None
            elif last - first >= SHORTEST_NUMBER:
                digits = personal_number(text[first:last], above.text)
                if digits is not None:
                    self._pieces.append(Piece(token, digits, above.context, says_personal(above.text)))
            number += 1
        self._search_pieces()
        self._join()
        for key in self._signatures if self._out else ():
            self._unsign(key)
        return tuple(sorted(self._out))

    # --- strings ------------------------------------------------------------------------------------------------

    def _string(self, number: int, token: Token, above: _Name) -> bool:
        """Judge one string, or leave it to be judged with the other short ones. False where it is not JSON's."""
        text = self._text
        decoded = token.decoded
        if decoded is None:
            return False
        gap = token.gap
        item = bool(gap) and not gap.isspace()
        if item and number >= self._listed and starts_list(decoded):
            self._words(number, above, gap)
        taken = self._taken.get(number)
        if taken is not None:
            self._groups.end_list()
            _put(text, token, taken, self._out)
            return True
        if item:
            first = gap.strip() != ","
            known = first and gap.strip() == "[" and number > 0 and self._found[number - 1].kind == "key"
            self._groups.add_item(above.text if known else "", number, decoded, first=first)
        elif above.chunk:
            self._groups.add(above.text, number, decoded)
        elif above.text == "role":
            self._groups.end_message()
        if len(decoded) < _SHORT and (len(decoded) < 3 or (decoded.isalpha() and not self._judge.words)):
            pass  # a word: personal data have a digit or a sign, and keys are longer
        elif len(decoded) >= _LONG or jsontext.looks_like_json(decoded) or "\0" in decoded:
            _put(text, token, self._judge.nested(decoded, above.text, self._depth + 1, self._budget), self._out)
        else:
            self._pieces.append(Piece(token, decoded, above.context))
        if number >= self._settled and above.plain and (item or above.chunk or not self._groups.open):
            place = jsontext.settled(text, token)
            if place and not (item and text[place - 1] == ","):
                noted(self.stops, Stop(place, above.text))
        return True

    def _search_pieces(self) -> None:
        pieces = self._pieces
        if not pieces:
            return
        found = self._judge.plain(
            [piece.text for piece in pieces], [piece.context for piece in pieces], self._depth, self._budget
        )
        for place, edits in found.items():
            piece = pieces[place]
            if piece.token.kind != "number":
                _put(self._text, piece.token, edits, self._out)
            elif is_whole_number(piece, edits):
                self._out.append(Edit(piece.token.start, piece.token.end, f'"{edits[0].text}"', edits[0].labels))

    # --- what keys and lists announce ------------------------------------------------------------------------------

    def _key_lines(self, number: int) -> int:
        """Cover the lines of a private key, one string each, from a number on; return how many there are."""
        strings = takewhile(lambda token: token.kind == "string", islice(self._found, number, None))
        lines = key_lines(self._text[token.start : token.end] for token in strings)
        for line in self._found[number : number + lines]:
            self._cover(line, "private-key")
        if lines:
            self._settled = max(self._settled, number + lines + 1)
        return lines

    def _words(self, number: int, above: _Name, gap: str) -> None:
        """Judge a list of texts, from one that may announce another on."""
        words: list[str] = []
        for token in islice(self._found, number, number + _MOST_WORDS):
            if token.kind != "string" or (words and token.gap.strip() != ","):
                break
            words.append(token.decoded or "")
        self._listed = number + max(1, len(words) - 1 if len(words) == _MOST_WORDS else len(words))
        self._settled = max(self._settled, number + len(words))
        if above.text in NAME_LISTS:
            return
        alone = self._found[number + len(words)].gap.lstrip()[:1] == "]"
        in_list = alone and "".join(gap.split())[-2:] in ("[[", ",[")
        for place, start, end, rule in list_values(words, in_list=in_list):
            edit = Edit(start, end, f"<SECRET:{rule}>", (f"SECRET:{rule}",))
            if not is_mark(words[place][start:end]):
                self._taken.setdefault(number + place, (edit,))

    def _pair(self, number: int, key: str) -> str | None:
        """Look whether a key names, or is, one of a pair: `{"name": "X-Api-Key", "value": "x"}`. Return the rule for
        the value that follows, None where none does."""
        if key in VALUE_KEYS:
            self._settled = max(self._settled, number + _NEAR + 2)  # the name may come yet
            return None
        value = self._found[number + 1]
        if key not in NAME_KEYS or value.kind != "string" or value.gap.strip():
            return None
        name = value.decoded
        rule = sensitive_word(name) if name and len(name) <= 64 and " " not in name else None
        if rule is None:
            return None
        self._settled = max(self._settled, number + _NEAR + 2)
        depth = 0
        for place in range(number + 2, min(number + 2 + _NEAR, len(self._found))):
            token = self._found[place]
            deeper = _deeper(depth, token.gap, "{[", "}]")
            if deeper is None:
                break
            depth = deeper
            if depth == 0 and token.kind == "key" and self._text[token.start : token.end] in VALUE_KEYS:
                self._announced[place] = rule
        self._value_before(number, rule)
        return None

    def _value_before(self, number: int, rule: str) -> None:
        """Cover the value of a pair whose value stands before its name."""
        depth = _deeper(0, self._found[number].gap[::-1], "}]", "{[")
        for place in range(number - 1, max(-1, number - 1 - _NEAR), -1):
            if depth is None:
                return
            token = self._found[place]
            if depth == 0 and token.kind == "key" and self._text[token.start : token.end] in VALUE_KEYS:
                while self._out and self._out[-1].start > token.end:
                    self._out.pop()
                while self._pieces and self._pieces[-1].token.start > token.end:
                    self._pieces.pop()
                self._take_value(place + 1, rule)
                return
            depth = _deeper(depth, token.gap[::-1], "}]", "{[")

    def _take_value(self, first: int, rule: str) -> int:
        """Cover the whole value under a telling key; return the number of the token to go on with.

        Of objects and arrays every string and number is covered, so that structure and keys stay. true, false and null
        say nothing; a schema describes a secret and holds none; a model's log probabilities have a `token` each.
        """
        text, found = self._text, self._found
        behind = jsontext.container_end(found, first)
        if behind is None:
            value = found[first]
            self._settled = max(self._settled, first + 1)
            plain = value.kind in ("string", "number") and not value.gap.strip()
            if not plain or jsontext.is_log_probability(text, found, first):
                return first
            self._cover(value, rule)
            return first + 1
        self._settled = max(self._settled, behind)
        if jsontext.is_schema(text, found, first, behind):
            return first
        for token in found[first:behind]:
            if token.kind == "key":
                self._pieces.append(Piece(token, token.decoded or "", NO_CONTEXT))
            else:
                self._cover(token, rule)
        return behind

    def _unsign(self, number: int) -> None:
        """Say of what is replaced beside a signature that it is no longer what was signed."""
        signature, first, last = self._found[number + 1], number, number + 1
        if signature.kind != "string" or signature.end - signature.start < SHORTEST:
            return
        depth = _deeper(0, self._found[first].gap[::-1], "}]", "{[")
        while depth is not None and first > max(0, number - _BESIDE):
            first -= 1
            depth = _deeper(depth, self._found[first].gap[::-1], "}]", "{[")
        depth = 0
        while depth is not None and last < min(len(self._found) - 1, number + _BESIDE):
            last += 1
            depth = _deeper(depth, self._found[last].gap, "{[", "}]")
        start, end = self._found[first].start, self._found[last].end
        for place, edit in enumerate(self._out):
            if start <= edit.start < end and edit.start != signature.start and BROKEN not in edit.labels:
                self._out[place] = edit._replace(labels=(*edit.labels, BROKEN))

    def _cover(self, token: Token, rule: str) -> None:
        mark, written = f"<SECRET:{rule}>", self._text[token.start : token.end]
        if token.kind == "number":
            self._out.append(Edit(token.start, token.end, f'"{mark}"', (f"SECRET:{rule}",)))
        elif written and not is_mark(written):
            self._out.append(Edit(token.start, token.end, mark, (f"SECRET:{rule}",)))

    # --- values over several texts ----------------------------------------------------------------------------------

    def _look_back(self, start: Start) -> None:
        """Take the text right before the start for one that what follows may be joined to."""
        stop, text = start.stop, self._text
        if stop is None or not joins.is_chunk_name(stop.name) or text[stop.length - 1] == "]":
            return
        quote = text.rfind('"', 0, stop.length)
        tail = text[max(0, quote - _TAIL) : quote].rpartition('"')[2]
        cut = tail.rfind("\\", 0, 12)  # the beginning may be the rest of an escape
        tail = tail[cut + 12 :] if cut >= 0 or len(tail) == _TAIL else tail
        self._groups.add(stop.name, -1, jsontext.decode(f'"{tail}"', 1, len(tail) + 1) or "")

    def _join(self) -> None:
        """Redact over the borders of texts that a payload joins."""

        def find(windows: list[str]) -> Mapping[int, Sequence[Edit]]:
            return self._judge.plain(windows, [NO_CONTEXT] * len(windows), self._depth, self._budget)

        own = joins.Own(self._out)
        for group in self._groups.all():
            anywhere = self._stream or joins.is_stream_name(group.name)
            crossing = joins.crossing([text for _, text in group.texts], find, chunks=joins.is_chunk_name(group.name))
            for parts in crossing:
                if group.texts[parts[0][0].number][0] < 0:
                    self.reaches_back = True
                    return
                tokens = [(self._found[group.texts[part.number][0]], edit) for part, edit in parts]
                if own.are_apart([token for token, _ in tokens], self._text, anywhere=anywhere):
                    continue
                for token, edit in tokens:
                    written: list[Edit] = []
                    _put(self._text, token, [edit], written)
                    own.put(written[0])
        self._out = own.all()


def _deeper(depth: int, gap: str, opening: str, closing: str) -> int | None:
    """Return how deep one is behind a gap; None where it leaves the object that one started in."""
    for char in gap:
        depth += (char in opening) - (char in closing)
        if depth < 0:
            return None
    return depth


def _put(text: str, token: Token, edits: Sequence[Edit], out: list[Edit]) -> None:
    """Add the edits of a decoded literal as edits of the text it is written in."""
    if not edits:
        return
    offsets = Offsets(text, token.start, token.end)
    for edit in edits:
        start, end = offsets.written(edit.start), offsets.written(edit.end)
        out.append(Edit(start, end, json_escaped(edit.text), edit.labels))


def is_whole_number(piece: Piece, edits: Sequence[Edit]) -> bool:
    """Tell whether the edits of a number's digits replace all of it, by what may stand there."""
    whole = len(edits) == 1 and edits[0].end - edits[0].start == len(piece.text)
    return whole and (piece.named or edits[0].labels == ("CARD",))


def is_mark(text: str) -> bool:
    """Tell whether a whole value is a mark of redaction already: a removed secret or what was withheld."""
    return bool(MARKS.fullmatch(text)) and text.startswith(("<SECRET:", "<WITHHELD:"))
