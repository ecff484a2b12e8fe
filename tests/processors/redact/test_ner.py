"""Names by a language model: skipped where the model is not installed."""

import importlib.util
import json

import pytest

from redaction import KEY
from runreel.errors import ConfigError
from runreel.processors.redact import Redactor, RedactSettings, ner
from runreel.processors.redact.detect import Detector
from runreel.semconv.pem import LIMIT

HERE = importlib.util.find_spec(ner.MODEL) is not None
with_model = pytest.mark.skipif(not HERE, reason="the language model is not installed (runreel[ner])")
PROSE = "Yesterday Angela Merkel flew from Berlin to meet Microsoft about the new contract."


@with_model
def test_names_become_tokens_and_the_rest_stays() -> None:
    told = Redactor(KEY, RedactSettings(ner=("PERSON", "LOCATION")), detector=Detector())

    left = told.text(json.dumps({"note": PROSE, "id": "Angela"}))

    assert not [name for name in ("Angela Merkel", "Berlin") if name in left]
    assert "<PERSON_" in left
    assert "<LOCATION_" in left
    assert "Microsoft" in left
    assert told.text(left) == left


@with_model
def test_texts_are_read_each_for_itself_and_places_are_right() -> None:
    names = ner.Names(("PERSON",))
    text = LIMIT.join(["nothing here", PROSE, "lower case only"])

    found = names.find(text, lambda: None)

    assert [text[item.start : item.end] for item in found] == ["Angela Merkel"]


@with_model
def test_a_text_is_read_once() -> None:
    told = Redactor(KEY, RedactSettings(ner=("PERSON",)), detector=Detector())
    finder = told._search._own[-1]
    asked = []
    real = finder.find

    def counted(text: str, check: object) -> object:
        asked.append(text)
        return real(text, check)  # type: ignore[arg-type]

    finder.find = counted  # type: ignore[method-assign, assignment]
    long = PROSE * 4
    told.text(long)
    first = len(asked)
    told.text(long)

    assert first > 0
    assert len(asked) == first


def test_an_entity_that_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(ConfigError, match="'AGE' is unknown; known are PERSON, LOCATION, ORGANIZATION"):
        ner.Names(("AGE",))


def test_without_the_model_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ner, "MODEL", "no_such_model")

    with pytest.raises(ConfigError, match=r"pip install 'runreel\[ner\]', or take ner out"):
        ner.Names(("PERSON",))
