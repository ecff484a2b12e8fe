"""What an import finds under its paths, and what it says of the rest."""

import gzip
import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import otlp_build as build
from runreel.errors import CorruptError, NotFoundError, StoreError, UsageError
from runreel.runs import importer, reel
from runreel.runs.importer import Imported
from runreel.values import RawBatch

REQUEST = build.req(build.agent(), build.llm("00000000000000b1", build.ROOT, [], [])).SerializeToString()


def read(*paths: Path) -> tuple[list[RawBatch], Imported]:
    result = Imported()
    return list(importer.batches(list(paths), "default", result)), result


def test_in_a_folder_what_is_no_request_is_skipped_whatever_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(REQUEST)
    with zipfile.ZipFile(tmp_path / "b.docx", "w") as archive:
        archive.writestr("word/document.xml", "<w/>")
    (tmp_path / "c.zip").write_bytes(b"PK\x03\x04 cut off")
    (tmp_path / "d.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    (tmp_path / "e.json").write_text('{"some": "thing"}')
    (tmp_path / "f").write_bytes(b"")

    batches, result = read(tmp_path)

    assert [len(batch.spans) for batch in batches] == [2]
    assert (result.requests, result.skipped, result.failed) == (1, 5, [])


def test_a_damaged_reel_or_file_in_a_folder_is_said_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.reel").write_bytes(b"PK\x03\x04 cut off")
    (tmp_path / "b.gz").write_bytes(gzip.compress(REQUEST)[:-9])
    (tmp_path / "c.bin").write_bytes(REQUEST[:-5])
    (tmp_path / "d.bin").write_bytes(REQUEST)
    (tmp_path / "e.bin").write_bytes(REQUEST)
    original = Path.read_bytes

    def read_bytes(path: Path) -> bytes:
        if path.name == "e.bin":
            raise PermissionError(13, "Permission denied")
        return original(path)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    batches, result = read(tmp_path)

    assert [len(batch.spans) for batch in batches] == [2]
    assert [said.partition(":")[0].rpartition("/")[2] for said in result.failed] == [
        "a.reel", "b.gz", "c.bin", "e.bin",
    ]  # fmt: skip


def test_a_folder_that_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "a.bin").write_bytes(REQUEST)
    (tmp_path / "closed").mkdir()
    original = os.scandir

    def scandir(path: Path | str) -> "Iterator[os.DirEntry[str]]":
        if Path(path).name == "closed":
            raise PermissionError(13, "Permission denied", str(path))
        return original(path)

    monkeypatch.setattr(os, "scandir", scandir)
    batches, result = read(tmp_path)

    assert len(batches) == 1
    assert result.failed == [f"{tmp_path / 'closed'}: Permission denied"]


def test_what_is_named_outright_must_be_there_and_be_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.zip").write_bytes(b"PK\x03\x04 cut off")
    (tmp_path / "x.txt").write_text("hello")
    with pytest.raises(CorruptError, match=r"x\.zip: no reel, or a damaged one"):
        read(tmp_path / "x.zip")
    with pytest.raises(UsageError, match=r"x\.txt: no OTLP request"):
        read(tmp_path / "x.txt")
    with pytest.raises(NotFoundError, match=r"gone: no such file or folder"):
        read(tmp_path / "gone")

    def read_bytes(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    with pytest.raises(StoreError, match=r"x\.txt: Permission denied"):
        read(tmp_path / "x.txt")


def test_one_request_in_several_encodings_and_copies_counts_once(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(REQUEST)
    (tmp_path / "a.body").write_bytes(gzip.compress(REQUEST))
    parsed = build.TraceReq.FromString(REQUEST)
    (tmp_path / "a.json").write_text(str(build.json.dumps(build.otlp_json(parsed))))
    (tmp_path / "all.jsonl").write_text(f"{build.json.dumps(build.otlp_json(parsed))}\n\n" * 2)

    batches, result = read(tmp_path)

    assert len(batches) == 1
    assert (result.requests, result.repeated) == (1, 4)


def test_a_document_with_spans_and_log_records_gives_both(tmp_path: Path) -> None:
    logs = build.logs_req(build.log("a", build.ROOT, body="x"))
    both = {**build.otlp_json(logs), **build.otlp_json(build.req(build.agent()))}
    (tmp_path / "both.json").write_text(json.dumps(both))

    batches, _ = read(tmp_path)

    assert sorted((len(batch.spans), len(batch.logs)) for batch in batches) == [(0, 1), (1, 0)]


def test_a_reel_is_imported_as_the_tenant_that_imports_it(tmp_path: Path) -> None:
    from runreel import otlp
    from runreel.processors.schema import Schema
    from runreel.processors.split import Split
    from runreel.values import CleanBatch

    raw = Schema().process(otlp.decode("traces", REQUEST, "protobuf", "other"))
    split = Split().process(CleanBatch("other", raw.spans, raw.logs, raw.facts))
    (tmp_path / "run.reel").write_bytes(reel.write("run", split))

    (batch,), result = read(tmp_path / "run.reel")

    assert {(span.key.tenant, span.key.copy) for span in batch.spans} == {("default", "")}
    assert result.spans == 2
