import gzip
from pathlib import Path

import pytest

from redaction import opened, redact, redactor, texts
from runreel import otlp
from runreel.canonical import payload_ref
from runreel.errors import ConfigError
from runreel.processors.chain import Chain, default_chain
from runreel.processors.redact import RedactSettings
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.values import CleanBatch, RawBatch

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
RAW = sorted(
    path for path in CAPTURES.rglob("*") if path.name.endswith((".bin", ".bin.gz", ".body")) and path.is_file()
)

# What the agents of the captures were given and said. No form of it may be left.
PLANTED = [
    "dana.fields", "202-555-0143", "202 555 0143", "2025550143", "4242 4242 4242 4242", "4242424242424242",
    "203.0.113.7", "sk-test-51HxFAKE", "AKIAIOSFODNN7EXAMPLE", "hunter2", "MIIBFAKE", "FAKEFAKEFAKE",
    "BEGIN PRIVATE KEY", "0badc0de",
]  # fmt: skip
HARMLESS = ["10.4.2.1", "123e4567-e89b-12d3-a456-426614174000"]


def batch_of(path: Path) -> RawBatch | None:
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    kind = otlp.sniff(data)
    return None if kind is None else otlp.decode(kind[0], data, kind[1], "default")


def chain() -> Chain:
    return Chain(Schema(), redactor(), Split())


def count(batch: RawBatch | CleanBatch, wanted: list[str]) -> dict[str, int]:
    """Count the planted values in all texts of a batch, whatever they are wrapped in."""
    whole = [plain for text in texts((batch.spans, batch.logs, batch.facts)) for plain in opened(text)]
    found = {value: sum(value in text for text in whole) for value in wanted}
    return {value: times for value, times in found.items() if times}


@pytest.mark.parametrize("path", RAW, ids=lambda path: str(path.relative_to(CAPTURES)))
def test_no_planted_value_of_a_capture_is_left_and_all_else_is(path: Path) -> None:
    batch = batch_of(path)
    assert batch is not None

    clean = chain().clean(batch)

    assert count(clean, PLANTED) == {}
    assert count(clean, HARMLESS) == count(batch, HARMLESS)
    assert clean.counts.get("redaction_failures", 0) == 0
    assert [span.key for span in clean.spans] == [span.key for span in batch.spans]
    for before, after in zip(batch.spans, clean.spans, strict=True):
        assert after.attributes.keys() == before.attributes.keys()
        for name, value in before.attributes.items():
            if name.endswith((".id", ".name", ".model")) or "usage" in name or isinstance(value, (int, float)):
                assert after.attributes[name] == value, name


def test_the_captures_hold_what_is_looked_for() -> None:
    found: set[str] = set()
    for path in RAW:
        batch = batch_of(path)
        if batch is not None:
            found |= count(batch, [*PLANTED, *HARMLESS]).keys()

    assert len(RAW) > 20
    assert found >= {*PLANTED, *HARMLESS} - {"202 555 0143", "2025550143", "4242424242424242"}


def test_one_address_is_one_token_in_all_captures() -> None:
    token = redact("dana.fields@example.com")

    seen = 0
    for path in RAW:
        batch = batch_of(path)
        if batch is not None and count(batch, ["dana.fields@example.com"]):
            assert count(chain().clean(batch), [token]), path
            seen += 1

    assert seen > 10


def test_a_capture_comes_out_split_with_its_payloads_redacted() -> None:
    batch = batch_of(next(path for path in RAW if "scenario-secret" in str(path)))
    assert batch is not None

    split = chain().process(batch)

    whole = list(texts((split.rows, split.logs, split.payloads, split.parts)))
    assert not [text for text in whole for plain in opened(text) for value in PLANTED if value in plain]
    assert len(split.rows) == len(batch.spans)
    assert any(payload_ref(value) for row in split.rows for value in row.span.attributes.values())
    assert [row.facts.kind for row in split.rows] == [facts.kind for facts in Schema().process(batch).facts]


def test_the_default_chain_makes_the_key_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUNREEL_TENANT_KEY", raising=False)
    batch = batch_of(next(path for path in RAW if "scenario-poll" in str(path)))
    assert batch is not None

    first = default_chain(tmp_path, "acme").process(batch)

    assert (tmp_path / "keys" / "acme.json").exists()
    assert default_chain(tmp_path, "acme").process(batch) == first
    assert default_chain(tmp_path, "other").process(batch) != first


def test_the_default_chain_takes_settings(tmp_path: Path) -> None:
    few = default_chain(tmp_path, settings=RedactSettings(entities=("IP",)), threshold_bytes=64)
    batch = batch_of(next(path for path in RAW if "scenario-poll" in str(path)))
    assert batch is not None

    assert set(few.clean(batch).counts) <= {"IP"}
    with pytest.raises(ConfigError, match="'NAME' is unknown"):
        default_chain(tmp_path, settings=RedactSettings(entities=("NAME",)))
