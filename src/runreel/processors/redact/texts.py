"""Turns a text of any kind into the edits that redact it: plain text, JSON, JSON in JSON, base64 of either."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise

from runreel.processors.redact import bytetext, joins, jsontext
from runreel.processors.redact.budget import Budget
from runreel.processors.redact.edits import Edit, Edits, apply
from runreel.processors.redact.growing import LONG, Growing, Start
from runreel.processors.redact.jsonedits import Document, Piece, is_whole_number
from runreel.processors.redact.jsontext import Token
from runreel.processors.redact.memo import Hasher, Memo, encoded
from runreel.processors.redact.names import (
    is_structural,
    is_structural_name,
    numbers_are,
    personal_number,
    said,
    says_personal,
)
from runreel.processors.redact.search import Search, Spot
from runreel.processors.redact.settings import RULES_VERSION, RedactSettings
from runreel.processors.redact.suppress import NO_CONTEXT, Context, context
from runreel.processors.redact.tokens import Tokens
from runreel.semconv.pem import LIMIT
from runreel.semconv.secrets import find_secrets

_DEEPEST = 12  # layers of JSON and base64 in each other; what is deeper is searched as text
_MOST_NAMES = 4096


class Texts:
    """Finds the edits of texts, and remembers them. Thread-safe. Whatever a detector raises passes through."""

    def __init__(self, tokens: Tokens, settings: RedactSettings, search: Search) -> None:
        self._tokens = tokens
        self.words = bool(settings.recognizers or settings.ner)
        self._search = search
        version = f"{RULES_VERSION} {settings!r}"
        self._memo: Memo[Edits] = Memo(settings.memo_size, version)
        self._growing = Growing(settings.memo_size, version)
        self._hashers: dict[str, Hasher] = {}  # what the keys of short texts under a name start with

    def is_clean(self, text: str, name: str) -> bool:
        """Tell whether a short text under `name` is remembered as one with nothing to replace: most attributes say the
        same on every span."""
        if len(text) >= LONG:
            return False
        hasher = (self._hashers.get(name) or self._hasher(name)).copy()
        hasher.update(encoded(text))
        return self._memo.get(hasher.digest()) == ()

    def edits(self, text: str, name: str, budget: Budget) -> Edits:
        """Return what must be replaced in a text that stands under `name`: in an identifier secrets, but nothing that
        only looks like a person's."""
        name = said(name)
        return self._secrets(text, name) if name and is_structural(name, text) else self.nested(text, name, 0, budget)

    def _secrets(self, text: str, name: str) -> Edits:
        hasher = self._hasher(name).copy()
        hasher.update(encoded(text))
        key = hasher.digest()
        known = self._memo.get(key)
        if known is None:
            known = tuple(
                Edit(start, end, f"<SECRET:{rule}>", (f"SECRET:{rule}",)) for start, end, rule in find_secrets(text)
            )
            self._memo.put(key, known)
        return known

    def _hasher(self, name: str) -> Hasher:
        """Return what the keys of short texts under a name start with. Where the name is that of an identifier, they
        are not those of other texts: what is no identifier there is remembered as under any other name."""
        found = self._hashers.get(name)
        if found is None:
            if len(self._hashers) >= _MOST_NAMES:
                self._hashers.clear()
            name = said(name)
            _, mark = _mark(name, True)
            found = self._growing.start(f"id {mark}" if is_structural_name(name) else mark, "").hasher
            self._hashers[name] = found
        return found

    def token(self, entity: str, text: str) -> str:
        """Return the token of a personal value."""
        return self._tokens.token(entity, text)

    def nested(self, text: str, name: str, depth: int, budget: Budget) -> Edits:
        """Return the edits of a text inside others, `depth` of them."""
        if len(text) < 3:
            return ()
        where, mark = _mark(name, depth < _DEEPEST)
        start = self._growing.start(mark, text)
        key = start.key(text)
        known = self._memo.get(key)
        if known is None:
            budget.begin()
            known = self._fresh(text, start, name, where, depth, budget)
            self._memo.put(key, known)
        return known

    def _fresh(self, text: str, start: Start, name: str, where: Context, depth: int, budget: Budget) -> Edits:
        if depth < _DEEPEST and jsontext.looks_like_json(text):
            found = jsontext.tokens(text, start.length)
            first = start.stop.name if start.stop else name
            document = None if found is None else Document(self, text, found, depth, budget)
            new = None if document is None else document.edits(first, start)
            if document is not None and document.reaches_back:
                return self._fresh(text, start.anew(), name, where, depth, budget)
            if document is not None and new is not None:
                edits = (*start.edits, *new)
                self._growing.put(start, text, document.stops, edits)
                return edits
        narrow = bytetext.narrowed(text) if "\0" in text else None
        if narrow is not None and depth < _DEEPEST:
            return self._wide(*narrow, name, depth, budget)
        return tuple(self.plain([text], [where], depth, budget).get(0, ()))

    def _wide(self, inner: str, side: int, name: str, depth: int, budget: Budget) -> Edits:
        """Return the edits of UTF-16 that was taken for one byte a character."""
        return tuple(
            Edit(2 * edit.start, 2 * edit.end, bytetext.widened(edit.text, side), edit.labels)
            for edit in self.nested(inner, name, depth + 1, budget)
        )

    def joined(self, texts: Sequence[str], name: str, budget: Budget) -> dict[int, list[Edit]]:
        """Return the edits, by the number of the text, for values that reach over the borders of texts which a payload
        joins. What lies within one text is not looked for."""
        name = said(name)

        def find(windows: list[str]) -> Mapping[int, Sequence[Edit]]:
            return self.plain(windows, [context(name)] * len(windows), 0, budget)

        out: dict[int, list[Edit]] = {}
        for parts in joins.crossing(texts, find, chunks=joins.is_chunk_name(name)):
            own = {part.number: self.nested(texts[part.number], name, 0, budget) for part, _ in parts}
            anywhere = joins.is_stream_name(name)
            if any(
                joins.are_apart(own[left.number], texts[left.number], own[right.number], anywhere=anywhere)
                for (left, _), (right, _) in pairwise(parts)
            ):
                continue
            for part, edit in parts:
                out.setdefault(part.number, []).append(edit)
        return out

    def number(self, written: str, name: str, budget: Budget) -> Edit | None:
        """Return the edit that replaces a whole number by text, None where it stays."""
        name = said(name)
        digits = personal_number(written, name)
        if digits is None:
            return None
        token = Token("number", 0, len(written), "")
        edits = self.plain([digits], [context(name)], 0, budget).get(0, ())
        whole = is_whole_number(Piece(token, digits, NO_CONTEXT, says_personal(name)), edits)
        return edits[0] if whole else None

    # --- plain text ---------------------------------------------------------------------------------------------

    def plain(
        self, texts: Sequence[str], contexts: Sequence[Context], depth: int, budget: Budget
    ) -> Mapping[int, Sequence[Edit]]:
        """Search texts in one go, apart from each other; return the edits of those that have any, by their number."""
        if len(texts) == 1:
            return self._alone(texts[0], contexts[0], depth, budget)
        starts = [0, *accumulate(len(text) + 1 for text in texts)]

        def where(offset: int) -> tuple[Context, int, int]:
            place = _place(starts, offset)
            return contexts[place], starts[place], starts[place + 1] - 1

        out: dict[int, list[Edit]] = {}
        for spot in self._search.spots(LIMIT.join(texts), where, self._decoder(depth, budget), budget):
            replacement = self._replacement(spot)
            # None reaches over the border of its text. If one did, the rest of it would go from the next text, too.
            for place in range(_place(starts, spot.start), _place(starts, max(spot.start, spot.end - 1)) + 1):
                first, size = starts[place], starts[place + 1] - starts[place] - 1
                edit = Edit(max(0, spot.start - first), min(size, spot.end - first), replacement, spot.labels)
                out.setdefault(place, []).append(edit)
        return out

    def _alone(self, text: str, context: Context, depth: int, budget: Budget) -> Mapping[int, Sequence[Edit]]:
        where = context, 0, len(text)
        spots = self._search.spots(text, lambda _: where, self._decoder(depth, budget), budget)
        edits = [Edit(spot.start, spot.end, self._replacement(spot), spot.labels) for spot in spots]
        return {0: edits} if edits else {}

    def _decoder(self, depth: int, budget: Budget) -> Callable[[str], str | None]:
        """Return what redacts the text that base64 decodes to."""

        def decoded(plain: str) -> str | None:
            edits = self.nested(plain, "", depth + 1, budget) if depth < _DEEPEST else ()
            return apply(plain, edits) if edits else None

        return decoded

    def _replacement(self, spot: Spot) -> str:
        if spot.kind == "secret":
            return f"<SECRET:{spot.name}>"
        return spot.value if spot.kind == "base64" else self.token(spot.name, spot.value)


@lru_cache(maxsize=4096)
def _mark(name: str, opened: bool) -> tuple[Context, str]:
    """Return all that the edits of a text depend on beside itself: what is said of it by a name that it stands under,
    and by whether it may be taken apart; and a mark for that."""
    where = context(name)
    return where, f"{int(where.version)}{int(where.ssn)}{int(opened)} {numbers_are(name)} "


def _place(starts: list[int], offset: int) -> int:
    return bisect_right(starts, offset) - 1
