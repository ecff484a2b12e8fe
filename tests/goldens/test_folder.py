"""A golden on disk: the same run gives the same bytes, every old format stays readable, what is damaged is said."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from golden_kit import EXPECT, TICKET, golden_in
from runreel.errors import CorruptError, NotFoundError, StoreError, UsageError
from runreel.goldens import folder, promote
from runreel.runs import reel

FORMATS = Path(__file__).parents[1] / "data" / "golden-formats"


def files(place):
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.fixture
def old(tmp_path):
    """A golden of the first format, to be damaged."""
    return Path(shutil.copytree(FORMATS / "1" / "receipt", tmp_path / "receipt"))


def test_the_same_run_gives_the_same_bytes_and_reads_back_as_it_was(tmp_path):
    first, second = (golden_in(tmp_path / name, EXPECT) for name in ("one", "two"))

    assert files(first.folder) == files(second.folder)
    again = folder.read(first.folder)
    assert (again.run, again.expect, again.ticket, again.failure) == (
        first.run,
        first.expect,
        first.ticket,
        first.failure,
    )
    assert sum(map(len, files(first.folder).values())) < 200_000


def test_a_golden_is_a_reel_as_text_and_can_be_one_again(tmp_path):
    golden = golden_in(tmp_path, EXPECT)
    again = folder.read(golden.folder)

    packed = reel.write(again.run.run_id, again.batch)

    assert reel.open_reel(packed, "golden").run("default", golden.run.run_id).steps == golden.run.steps
    promoted = promote.promote(packed, tmp_path / "again" / "receipt", expectations=[EXPECT], ticket=TICKET)
    assert files(promoted.folder) == files(golden.folder)


def test_a_golden_written_anew_keeps_nothing_of_the_old_one(tmp_path):
    golden = golden_in(tmp_path, EXPECT)
    before = files(golden.folder)
    (golden.folder / "parts" / ("0" * 64)).write_text("of a run that was here before")

    folder.write(golden)

    assert files(golden.folder) == before


@pytest.mark.parametrize("version", sorted(path.name for path in FORMATS.iterdir() if path.is_dir()))
def test_a_golden_of_every_old_format_stays_readable(version):
    golden = folder.read(FORMATS / version / "receipt")

    assert golden.expect == (EXPECT, "tool:refund called 1")
    assert (golden.ticket, golden.settings.agent) == (TICKET, "agent.py")
    assert [step.kind for step in golden.run.steps] == ["agent", "llm", "tool", "llm", "tool", "llm"]
    assert golden.run.value(golden.run.final_output).endswith("R-A-1042: $4900.00")


def test_there_is_a_file_of_every_format_and_a_migration_from_every_old_one():
    versions = sorted(int(path.name) for path in FORMATS.iterdir() if path.is_dir())

    assert versions == list(range(1, folder.VERSION + 1))
    assert sorted(folder.MIGRATIONS) == versions[:-1]


def test_files_keep_their_ends_of_lines_in_any_checkout(tmp_path):
    golden = golden_in(tmp_path)

    assert (golden.folder.parent / ".gitattributes").read_text() == "* -text\n"


@pytest.mark.parametrize(
    ("change", "error", "problem"),
    [
        ({"format": "other"}, CorruptError, "is not that of a golden"),
        ({"format_version": 99}, StoreError, "update runreel"),
        ({"format_version": 0}, CorruptError, "there never was a golden of format 0"),
        ({"files": {"../../etc/passwd": "0" * 64}}, CorruptError, "names a file that no golden has"),
        ({"files": {}}, CorruptError, "not what a golden of format 1 holds"),
        ({"replay": None}, CorruptError, "not what a golden of format 1 holds"),
    ],
)
def test_a_head_that_is_none_is_said(old, change, error, problem):
    head = json.loads((old / folder.HEAD).read_text()) | change
    (old / folder.HEAD).write_text(json.dumps(head))

    with pytest.raises(error, match=problem):
        folder.read(old)


def test_every_file_that_is_changed_or_gone_is_noticed(old):
    for path in [path for path in old.rglob("*") if path.is_file() and path.name != folder.HEAD]:
        data = path.read_bytes()
        path.write_bytes(data + b" ")
        with pytest.raises(CorruptError, match="is not what was recorded"):
            folder.read(old)
        path.unlink()
        with pytest.raises(CorruptError, match="cannot be read"):
            folder.read(old)
        path.write_bytes(data)

    (old / folder.HEAD).write_text("{")
    with pytest.raises(CorruptError, match="is not that of a golden"):
        folder.read(old)
    (old / folder.HEAD).unlink()
    with pytest.raises(NotFoundError, match="no golden in"):
        folder.read(old)


def test_a_golden_is_found_by_its_name(tmp_path):
    golden = golden_in(tmp_path)
    root = golden.folder.parent

    assert folder.named(root, "receipt") == golden.folder
    with pytest.raises(NotFoundError, match="there: receipt"):
        folder.named(root, "other")
    with pytest.raises(UsageError, match="is no name for a golden"):
        folder.named(root, "../receipt")


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    golden = golden_in(tmp_path)
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StoreError, match="cannot be written"):
        folder.write(replace(golden, folder=tmp_path / "file" / "receipt"))
