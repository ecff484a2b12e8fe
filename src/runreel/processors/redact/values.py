"""Redacts one value of any type, at every depth: texts, numbers, bytes, lists and maps with their keys."""

from collections import Counter
from collections.abc import Callable, Mapping
from itertools import takewhile

from runreel.processors.redact.budget import Budget, Clock
from runreel.processors.redact.bytetext import readable
from runreel.processors.redact.edits import Edit, apply
from runreel.processors.redact.joins import MOST_ITEMS, is_chunk_name
from runreel.processors.redact.jsonedits import is_mark
from runreel.processors.redact.jsontext import SCHEMA_TYPES
from runreel.processors.redact.names import SHORTEST_NUMBER
from runreel.processors.redact.settings import RedactSettings
from runreel.processors.redact.texts import Texts
from runreel.semconv.pem import key_lines
from runreel.semconv.secret_lists import NAME_KEYS, NAME_LISTS, VALUE_KEYS, list_values, starts_list
from runreel.semconv.secret_names import sensitive_key, sensitive_word
from runreel.values import Value

_LONGEST_NAME = 128
_MOST_NAMES = 4096
_LONG_NUMBER = 10 ** (SHORTEST_NUMBER - 1)


class Values:
    """Redacts values and counts what was found. Thread-safe; raises whatever a detector raises, and
    BudgetExceededError."""

    def __init__(self, texts: Texts, settings: RedactSettings, clock: Clock) -> None:
        self._texts = texts
        self._settings = settings
        self._allowed = frozenset(settings.allow)
        self._clock = clock
        self._names: dict[str, None] = {}

    def text(self, text: str, name: str, counts: Counter[str]) -> str:
        """Return a text, that stands under `name`, redacted."""
        if self._texts.is_clean(text, name):
            return text
        return self._text(text, name, counts, self._budget(len(text)))

    def name(self, name: str, counts: Counter[str]) -> str:
        """Return the name of an attribute or field redacted. The same few hundred stand on every span, so that those
        without a finding are remembered as they are."""
        if name in self._names:
            return name
        clean = self.text(name, "", counts)
        if clean == name and len(name) <= _LONGEST_NAME:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            self._names[name] = None
        return clean

    def is_clean_name(self, name: str) -> bool:
        """Tell whether a name is remembered as one without a finding."""
        return name in self._names

    def value(self, value: Value, name: str, counts: Counter[str]) -> Value:
        """Return a value, that stands under `name`, redacted: itself where nothing is found in a text."""
        if value is None or isinstance(value, bool) or (sensitive_key(name) is None and self._is_clean(value, name)):
            return value
        if isinstance(value, str):
            return self._value(value, name, counts, self._budget(len(value)))
        found: Counter[str] = Counter()
        clean = self._value(value, name, found, self._budget(_size(value)))
        counts.update(found)  # only here: what failed half-way is withheld, and counted as that
        return clean

    def _is_clean(self, value: Value, name: str) -> bool:
        """Tell quickly of most values that there is nothing to replace in them; False says nothing."""
        if isinstance(value, str):
            return self._texts.is_clean(value, name)
        if isinstance(value, tuple) and len(value) == 1 and isinstance(text := value[0], str):
            return not (text.startswith("-----") or starts_list(text)) and self._texts.is_clean(text, name)
        return isinstance(value, (int, float)) and -_LONG_NUMBER < value < _LONG_NUMBER

    def _budget(self, size: int) -> Budget:
        return Budget(self._settings.budget_s + self._settings.budget_s_per_mb * size / 1e6, self._clock)

    def _value(
        self, value: Value, name: str, counts: Counter[str], budget: Budget, announced: str | None = None
    ) -> Value:
        rule = sensitive_key(name) or announced
        if self._allowed and isinstance(value, str) and value in self._allowed:
            return value
        if rule is not None and not _is_schema(value):
            return _covered(value, rule, counts, lambda key: self._text(key, "", counts, budget))
        return self._plain_value(value, name, counts, budget)

    def _plain_value(self, value: Value, name: str, counts: Counter[str], budget: Budget) -> Value:
        if isinstance(value, str):
            return self._text(value, name, counts, budget)
        if isinstance(value, bytes):
            return self._bytes(value, name, counts, budget)
        if isinstance(value, tuple):
            return self._list(value, name, counts, budget)
        if isinstance(value, Mapping):
            named = _named_rule(value)
            return renamed(
                value,
                lambda key: self._text(key, "", counts, budget),
                lambda key, item: self._value(item, key, counts, budget, named if key in VALUE_KEYS else None),
            )
        if isinstance(value, bool) or value is None:
            return value
        return self._number(value, name, counts, budget)

    def _list(self, items: tuple[Value, ...], name: str, counts: Counter[str], budget: Budget) -> Value:
        items = self._joined(items, name, counts, budget)
        announced = _announced(items, name)
        out: list[Value] = []
        while (place := len(out)) < len(items):
            item = items[place]
            lines = 0
            if isinstance(item, str) and item.startswith("-----"):  # a private key may come as a list of lines
                lines = key_lines(str(line) for line in takewhile(lambda one: isinstance(one, str), items[place:]))
            if lines:
                out += [_covered(line, "private-key", counts, str) for line in items[place : place + lines]]
            elif place in announced and isinstance(item, str):
                edit = announced[place]
                counts[edit.labels[0]] += 1
                out.append(apply(item, (edit,)))
            else:
                out.append(self._plain_value(item, name, counts, budget))
        return tuple(out)

    def _joined(self, items: tuple[Value, ...], name: str, counts: Counter[str], budget: Budget) -> tuple[Value, ...]:
        """Redact what reaches over the borders of neighbouring texts: items, or the same chunk key of maps."""
        out = list(items)
        plain = [item for item in items if isinstance(item, str)]
        if len(plain) == len(items) > 1 and (is_chunk_name(name) or len(items) <= MOST_ITEMS):
            return tuple(self.chunks(plain, name, counts, budget))
        maps = [(place, item) for place, item in enumerate(items) if isinstance(item, Mapping) and "role" not in item]
        for key in _chunk_keys(maps):
            places = [(place, text) for place, item in maps if isinstance(text := item.get(key), str)]
            clean = self.chunks([text for _, text in places], key, counts, budget)
            for (place, text), left in zip(places, clean, strict=True):
                one = out[place]
                if left != text and isinstance(one, Mapping):
                    out[place] = {**one, key: left}
        return tuple(out)

    def chunks(self, texts: list[str], name: str, counts: Counter[str], budget: Budget | None = None) -> list[str]:
        """Return texts, which a payload joins, without what reaches over their borders; all else in them stays."""
        if len(texts) < 2:
            return texts
        edits = self._texts.joined(texts, name, budget or self._budget(sum(map(len, texts))))
        for edit in (edit for some in edits.values() for edit in some):
            for label in edit.labels:
                counts[label] += 1
        return [apply(text, edits[place]) if place in edits else text for place, text in enumerate(texts)]

    def _text(self, text: str, name: str, counts: Counter[str], budget: Budget) -> str:
        edits = self._texts.edits(text, name, budget)
        if edits and self._allowed:
            edits = tuple(edit for edit in edits if text[edit.start : edit.end] not in self._allowed)
        for edit in edits:
            for label in edit.labels:
                counts[label] += 1
        return apply(text, edits)

    def _bytes(self, data: bytes, name: str, counts: Counter[str], budget: Budget) -> bytes:
        """Bytes that are text, in whatever encoding, are redacted as text; others are a picture or the like."""
        read = readable(data)
        return data if read is None else read.encode(self._text(read.text, name, counts, budget))

    def _number(self, number: float, name: str, counts: Counter[str], budget: Budget) -> Value:
        """A card number may come as an integer, or as a float. What replaces it is a text: that it was one is lost."""
        if isinstance(number, float) and not number.is_integer():
            return number
        edit = self._texts.number(str(int(number)), name, budget)
        if edit is None:
            return number
        counts.update(edit.labels)
        return edit.text


def renamed(
    items: Mapping[str, Value], name: Callable[[str], str], value: Callable[[str, Value], Value]
) -> Mapping[str, Value]:
    """Return a map with its keys and values redacted. Where two keys were one secret each, both entries stay."""
    out: dict[str, Value] = {}
    for key, item in items.items():
        clean = unique = name(key)
        number = 2
        while unique in out:
            unique, number = f"{clean}#{number}", number + 1
        out[unique] = value(key, item)
    return out


def _chunk_keys(maps: list[tuple[int, Mapping[str, Value]]]) -> list[str]:
    if len(maps) < 2:
        return []
    return list(dict.fromkeys(key for _, item in maps for key in item if is_chunk_name(key)))


def _named_rule(value: Mapping[str, Value]) -> str | None:
    """Return the rule for the value of a pair: of a map that has a name that tells, and a value."""
    if VALUE_KEYS.isdisjoint(value):
        return None
    names = (value[key] for key in NAME_KEYS if key in value)
    rules = (sensitive_word(name) for name in names if isinstance(name, str) and len(name) <= 64 and " " not in name)
    return next((rule for rule in rules if rule is not None), None)


def _announced(items: tuple[Value, ...], name: str) -> dict[int, Edit]:
    """Return what must go of texts in a list because of the texts before them."""
    words = [item if isinstance(item, str) else "" for item in items]
    if name in NAME_LISTS or not any(starts_list(word) for word in words):
        return {}
    found = list_values(words, in_list=len(words) == 2)
    return {
        place: Edit(start, end, f"<SECRET:{rule}>", (f"SECRET:{rule}",))
        for place, start, end, rule in found
        if not is_mark(words[place][start:end])
    }


def _covered(value: Value, rule: str, counts: Counter[str], key: Callable[[str], str]) -> Value:
    """Return the value under a telling name with every text and number in it replaced; structure and keys stay."""
    if isinstance(value, tuple):
        return tuple(_covered(item, rule, counts, key) for item in value)
    if isinstance(value, Mapping):
        return renamed(value, key, lambda _, item: _covered(item, rule, counts, key))
    if isinstance(value, bool) or value is None or value in ("", b"") or (isinstance(value, str) and is_mark(value)):
        return value
    counts[f"SECRET:{rule}"] += 1
    mark = f"<SECRET:{rule}>"
    return mark.encode() if isinstance(value, bytes) else mark


def _is_schema(value: Value) -> bool:
    """A map that describes a value (`{"type": "string"}`) holds none."""
    return isinstance(value, Mapping) and value.get("type") in SCHEMA_TYPES


def _size(value: Value) -> int:
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, tuple):
        return sum(map(_size, value))
    if isinstance(value, Mapping):
        return sum(len(key) + _size(item) for key, item in value.items())
    return 8
