"""The scan finds what must not be stored, in every form and container, proves that it sees, and shows nothing."""

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
import zstandard

from redaction import redactor
from runreel.errors import StoreError
from runreel.govern import audit
from runreel.govern.audit import Report, Scan, shape
from runreel.processors.redact.edits import Edit

MAIL, CARD, KEY = "dana.fields@example.com", "4242 4242 4242 4242", "AKIAIOSFODNN7EXAMPLE"


def scan(folder: Path, *canaries: str, witnesses: tuple[str, ...] = ()) -> Report:
    return Scan(redactor().edits, canaries, witnesses).run([folder])


def rules(report: Report) -> set[str]:
    return {one.rule for one in report.found}


@pytest.mark.parametrize(
    "data",
    [
        f"see {MAIL} ok".encode(),
        b"\x00\xff\x07" + MAIL.encode() + b"\x00\x01",
        zstandard.ZstdCompressor().compress(f'{{"a": "{MAIL}"}}'.encode()),
        MAIL.encode("utf-16-le"),
        b"\x01" + MAIL.encode("utf-16-be"),
        base64.b64encode(f"write to {MAIL} today".encode()),
        json.dumps(json.dumps({"to": MAIL})).encode(),
    ],
)
def test_the_rules_find_a_value_in_every_form(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "part").write_bytes(data)

    report = scan(tmp_path)

    assert rules(report) & {"EMAIL", "base64"}
    assert all(one.place.startswith(str(tmp_path / "part")) for one in report.found)


def test_a_name_of_a_file_is_read_too(tmp_path: Path) -> None:
    (tmp_path / f"{MAIL} (copy)").write_bytes(b"")

    assert rules(scan(tmp_path)) == {"EMAIL"}


def test_what_is_found_is_described_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(f"{MAIL} {CARD} {KEY} Zamorano-7 {MAIL}", encoding="utf-8")

    report = scan(tmp_path, "Zamorano-7")

    said = json.dumps([asdict(one) for one in report.found])
    assert not [value for value in (MAIL, CARD, KEY, "Zamorano", "dana") if value in said]
    found = {one.rule: one for one in report.found}
    assert (found["EMAIL"].times, found["EMAIL"].length, found["EMAIL"].shape) == (2, 23, "aaaa.aaaaaa@aaaaaaa.aaa")
    assert found["CARD"].shape == "0000 0000 0000 0000"
    assert found["canary 1 (plain)"].shape == ""
    assert "SECRET:aws-access-key" in found


def test_a_redacted_text_and_keys_of_our_own_are_no_finding(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "default.json").write_text('{"key": "00112233"}', encoding="utf-8")
    (tmp_path / "collector.json").write_text('{"token": "abc"}', encoding="utf-8")
    (tmp_path / "row").write_text(redactor().text(f"{MAIL} {CARD} {KEY}"), encoding="utf-8")

    report = scan(tmp_path)

    assert report.found == []
    assert report.left_out == [str(tmp_path / "collector.json"), str(tmp_path / "keys" / "default.json")]


def test_a_scan_proves_that_it_sees(tmp_path: Path) -> None:
    report = scan(tmp_path, 'Zamorano "7" <&')

    assert report.unseen == []
    assert report.proved > 60


def test_a_scan_that_is_blind_says_for_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "frames", lambda data: iter(()))

    report = Scan(lambda _: (), []).run([tmp_path])

    assert "EMAIL by its rule" in report.unseen
    assert any(name.endswith("in a zstd frame") for name in report.unseen)
    assert not any("a plain file" in name for name in report.unseen)


def test_without_lz4_it_is_said_that_blocks_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "can_open_blocks", lambda: False)

    assert "blocks of ClickHouse: the package lz4 is not installed" in scan(tmp_path).unseen


def test_a_witness_must_be_seen(tmp_path: Path) -> None:
    (tmp_path / "row").write_bytes(zstandard.ZstdCompressor().compress(b"Compare the weather in Lisbon"))

    report = scan(tmp_path, witnesses=("weather in Lisbon", "weather in Oslo"))

    assert report.witnesses == {"witness 1": True, "witness 2": False}


def test_what_is_not_there_is_no_clean_scan(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not there: name a data folder"):
        scan(tmp_path / "gone")


def test_what_a_store_at_work_moves_during_the_scan_is_read_where_it_is_then(tmp_path: Path) -> None:
    for name in ("a", "m", "z/part"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"file {name}", encoding="utf-8")
    (tmp_path / "z" / "part").write_text(MAIL, encoding="utf-8")
    (tmp_path / "m").write_text(CARD, encoding="utf-8")

    def moving(text: str) -> Sequence[Edit]:
        if text == "file a":
            (tmp_path / "m").rename(tmp_path / "b")
            (tmp_path / "z").rename(tmp_path / "c")
        return redactor().edits(text)

    report = Scan(moving).run([tmp_path])

    assert rules(report) == {"CARD", "EMAIL"}
    assert {one.place for one in report.found} == {str(tmp_path / "b"), str(tmp_path / "c" / "part")}


def test_a_store_that_never_rests_is_said(tmp_path: Path) -> None:
    (tmp_path / "part0").write_text("read me", encoding="utf-8")
    (tmp_path / "part1").write_text("", encoding="utf-8")
    moved = iter(range(1, 1000))

    def moving(text: str) -> Sequence[Edit]:
        if "read me" in text:
            number = next(moved)
            (tmp_path / f"part{number}").rename(tmp_path / f"part{number + 1}")
            (tmp_path / f"more{number}").write_text("read me", encoding="utf-8")
        return ()

    with pytest.raises(StoreError, match="move faster than they are read"):
        Scan(moving).run([tmp_path])


@pytest.mark.parametrize(("value", "like"), [("Dana\t7", "aaaa 0"), ("é" * 40, "a" * 23 + "…"), ("", "")])
def test_a_shape_has_no_letter_and_no_digit_of_the_value(value: str, like: str) -> None:
    assert shape(value) == like


def test_objects_are_read_as_files_are(tmp_path: Path) -> None:
    packed = zstandard.ZstdCompressor().compress(f"{MAIL} {MAIL}".encode() + b" and on" * 50)

    report = Scan(redactor().edits, [MAIL]).run([tmp_path], [("http://s3/bucket/a.zst", packed)])

    inside = {(one.rule, one.place, one.times) for one in report.found if one.place.endswith("(inside)")}
    assert inside == {
        ("EMAIL", "http://s3/bucket/a.zst (inside)", 2),
        ("canary 1 (plain)", "http://s3/bucket/a.zst (inside)", 2),
    }
