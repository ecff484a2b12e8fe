"""What redaction changes in all captures: the invented values in them, each of them, and nothing else."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from e2e_kit import CAPTURES
from redaction import redactor
from runreel import otlp
from runreel.semconv.secrets import MARKS

EXPECTED = {
    ("CARD", "4242 4242 4242 4242"),
    ("EMAIL", "dana.fields@example.com"),
    ("IP", "203.0.113.7"),
    ("PHONE", "+1 202-555-0143"),
    ("SECRET:aws-access-key", "AKIAIOSFODNN7EXAMPLE"),
    ("SECRET:openai-key", "sk-test-51HxFAKE0000000000000000"),
    ("SECRET:password", "hunter2-not-real"),
    ("SECRET:private-key", "-----BEGIN PRIVATE KEY-----"),
    ("SECRET:url-param", "0badc0de0badc0de0badc0de0badc0de"),
}


def leaves(value: Any) -> Iterator[str]:
    """Yield every key, text and number of a value, in order."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from leaves(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    elif is_dataclass(value):
        for field in fields(value):
            if field.name != "marks":
                yield from leaves(getattr(value, field.name))
    else:
        yield value if isinstance(value, str) else repr(value)


def changes(before: str, after: str) -> Iterator[tuple[str, str]]:
    """Yield what was replaced in a text, and by which mark; fails where anything else differs."""
    match = re.fullmatch("(.+?)".join(map(re.escape, MARKS.split(after))), before, re.DOTALL)
    assert match is not None, after
    for mark, original in zip(MARKS.findall(after), match.groups(), strict=True):
        name = mark.strip("<>") if mark.startswith("<SECRET:") else mark[1:].partition("_")[0]
        yield name, original.partition("\n")[0].partition("\\n")[0]


@pytest.mark.slow
def test_only_the_planted_values_change_in_all_captures() -> None:
    seen: set[tuple[str, str]] = set()
    count = 0

    for path in sorted(CAPTURES.rglob("*.bin")):
        body = path.read_bytes()
        said = otlp.sniff(body)
        if said is None:
            continue
        batch = otlp.decode(said[0], body, said[1], "default")
        clean = redactor().process(batch)
        before, after = list(leaves((batch.spans, batch.logs))), list(leaves((clean.spans, clean.logs)))
        assert len(before) == len(after), path.name
        count += len(before)
        for one, other in zip(before, after, strict=True):
            seen.update(changes(one, other) if one != other else ())

    assert seen == EXPECTED
    assert count > 40_000
