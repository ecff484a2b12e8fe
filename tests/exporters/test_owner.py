import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runreel.errors import LockedError, StoreError
from runreel.exporters import owner

HOLD = """
import pathlib, sys
from runreel.exporters import owner
lock = owner.take(pathlib.Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """Another process that has the folder."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "store")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_who_has_the_folder_is_named(holder: "subprocess.Popen[str]", tmp_path: Path) -> None:
    with pytest.raises(LockedError, match=rf"the store {tmp_path / 'store'} is open in process {holder.pid}:.*wait"):
        owner.take(tmp_path / "store")


def test_a_collector_is_named_as_such(holder: "subprocess.Popen[str]", tmp_path: Path) -> None:
    (tmp_path / "collector.json").write_text(json.dumps({"pid": holder.pid}))

    with pytest.raises(LockedError, match=f"open in the collector, process {holder.pid}: .*ask it"):
        owner.take(tmp_path / "store")


@pytest.mark.parametrize("text", ["", "[]", "{}", "not json", '{"pid": "x"}', '{"pid": 1}'])
def test_a_file_of_no_collector_is_not_believed(holder: "subprocess.Popen[str]", tmp_path: Path, text: str) -> None:
    (tmp_path / "collector.json").write_text(text)

    with pytest.raises(LockedError, match=f"open in process {holder.pid}"):
        owner.take(tmp_path / "store")


def test_an_owner_that_did_not_write_its_number_is_another_process(
    holder: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    (tmp_path / "store.lock").write_text("")

    with pytest.raises(LockedError, match="open in another process"):
        owner.take(tmp_path / "store")


def test_a_killed_owner_leaves_the_folder_free(holder: "subprocess.Popen[str]", tmp_path: Path) -> None:
    holder.kill()
    holder.wait(30)

    owner.take(tmp_path / "store").release()


def test_a_released_folder_can_be_taken_again(tmp_path: Path) -> None:
    lock = owner.take(tmp_path / "store")
    with pytest.raises(LockedError, match="in this process already"):
        owner.take(tmp_path / "store")

    lock.release()
    lock.release()

    owner.take(tmp_path / "store").release()


def test_a_lock_file_that_cannot_be_written_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "store.lock").mkdir()

    with pytest.raises(StoreError, match=r"cannot use the data folder .*store\.lock"):
        owner.take(tmp_path / "store")


def test_a_lock_that_cannot_be_written_is_said_and_let_go(tmp_path: Path) -> None:
    (tmp_path / "store.lock").symlink_to("/dev/full")

    for _ in range(2):
        with pytest.raises(StoreError, match=rf"cannot use the data folder {tmp_path}: store.lock: "):
            owner.take(tmp_path / "store")
