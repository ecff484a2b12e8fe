"""What tests of the recorder share: the spans that were written, and a tape that answers."""

import pytest

from record_kit import exporter
from runreel.record import _active


@pytest.fixture
def spans():
    return exporter()


class Tape:
    """A boundary that answers with one value, or raises one error."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def call(self, kind, name, arguments, call_id):
        self.asked.append((kind, name, arguments, call_id))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def tape(monkeypatch):
    def put(answer):
        made = Tape(answer)
        monkeypatch.setattr(_active, "current", made)
        return made

    return put
