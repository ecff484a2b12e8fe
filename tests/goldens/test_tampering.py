"""Nothing of a recorded request can be altered unnoticed: each field of each request of each golden, once."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from golden_kit import EXAMPLES
from golden_tape import asked, judged
from recorded_runs import run_of_capture
from runreel.goldens import folder
from runreel.goldens.values import Golden
from runreel.replay import tape
from runreel.values import SplitBatch

GOLDENS = {
    "receipt": lambda: folder.read(EXAMPLES / "receipt" / "goldens" / "cents-for-dollars"),
    "weather": lambda: of_capture("otel-genai-openai/content-span"),
}


def of_capture(name):
    return Golden(Path("goldens/weather"), run_of_capture(name), SplitBatch("default"))


def altered(value, path=""):
    """Yield each value in which one leaf is another one, with its path."""
    if isinstance(value, Mapping):
        for key, held in value.items():
            for where, other in altered(held, f"{path}/{key}"):
                yield where, {**value, key: other}
    elif isinstance(value, tuple):
        for place, held in enumerate(value):
            for where, other in altered(held, f"{path}/{place}"):
                yield where, (*value[:place], other, *value[place + 1 :])
    elif isinstance(value, bool) or value is None:
        yield path, not value
    elif isinstance(value, int | float):
        yield path, value + 1
    else:
        yield path, f"{value} (altered)"


@pytest.mark.parametrize("name", sorted(GOLDENS))
def test_each_field_of_each_request_altered_once_turns_a_golden_red_or_stale(name):
    golden = GOLDENS[name]()
    entries = tape.build(golden.run).entries
    calls = [asked(entry) for entry in entries]
    came = Counter()
    unnoticed = []

    assert judged(golden, entries, calls).verdict == "passed"
    for place, entry in enumerate(entries):
        for path, request in altered(entry.request):
            record = [*entries[:place], replace(entry, request=request), *entries[place + 1 :]]
            result = judged(golden, record, calls)
            came[result.verdict] += 1
            if result.verdict == "passed":
                unnoticed.append((entry.title(), path))

    assert unnoticed == []
    assert min(came["failed"], came["stale"]) > 3
