"""The other side of each comparison does what it is said to do."""

from hashlib import sha256
from pathlib import Path

import pytest
import traffic
import zstandard
from rows.redactor import corpus, long_enough
from stock import Presidio, WholeAttributes, contents, texts_of

from runreel import otlp


@pytest.fixture(scope="module")
def presidio() -> Presidio:
    return Presidio(("US", "GB"))


def test_presidio_finds_and_replaces_the_seven_entities(presidio: Presidio) -> None:
    text = "write dana@example.com, call +1 202-555-0143, from 203.0.113.7, card 4111111111111111"

    assert presidio.redact(text) == "write <EMAIL_ADDRESS>, call <PHONE_NUMBER>, from <IP_ADDRESS>, card <CREDIT_CARD>"
    assert {entity for entity, *_ in presidio.findings(text)} == {"EMAIL", "PHONE", "IP", "CARD"}


def test_a_text_without_findings_comes_back_as_it_was(presidio: Presidio) -> None:
    assert presidio.redact("nothing to see") == "nothing to see"


def test_only_phone_numbers_of_fewer_than_seven_digits_are_left_out() -> None:
    text = "1649 and 202-555-0143 and 1234"
    findings = [("PHONE", 0, 4, 0.4), ("PHONE", 9, 21, 0.4), ("SSN", 26, 30, 0.05)]

    assert long_enough(text, findings) == {("PHONE", 9, 21, 0.4), ("SSN", 26, 30, 0.05)}


def test_a_value_is_stored_once_whole_and_compressed_under_its_hash(tmp_path: Path) -> None:
    files = WholeAttributes(tmp_path / "whole")
    text = "the same value " * 100

    names = {files.put(text), files.put(text)}

    (name,) = names
    (file,) = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert name == file.name == sha256(text.encode()).hexdigest()
    assert zstandard.ZstdDecompressor().decompress(file.read_bytes()).decode() == text


def test_contents_are_the_payload_attributes_and_texts_are_all_of_them() -> None:
    body = traffic.encode(traffic.make_run(2, 9))
    chat = otlp.decode("traces", body, "protobuf", "default").spans[1]

    assert len(contents(chat)) == 4
    assert set(contents(chat)) <= set(texts_of(chat).values())
    assert texts_of(chat)["server.port"] == "443"


def test_the_corpus_of_a_seed_is_always_the_same() -> None:
    assert corpus("x", 3) == corpus("x", 3)
    assert corpus("x", 3) != corpus("y", 3)
