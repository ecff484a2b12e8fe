import json
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, DataError, OperationalError

from runreel.errors import LockedError, PermanentError, RetryableError, StoreError
from runreel.exporters.connection import consume_error, describe, new_token
from runreel.exporters.engine import Engine

SECRET = "4111-1111-1111-1111"  # stands for data that an engine's message quotes


def run_python(code: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, check=False, **options
    )


OPEN = """
import sys
from pathlib import Path
from runreel.errors import StoreError
from runreel.exporters.engine import Engine
home = Path(sys.argv[1])
try:
    Engine.open(home / "store", tmp=home / "tmp").close()
except StoreError as error:
    print(type(error).__name__, error)
else:
    print("opened")
"""


@pytest.fixture
def engine(tmp_path: Path):
    opened = Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")
    yield opened
    opened.close()


def test_another_process_is_refused_by_name_of_folder_and_owner(engine: Engine, tmp_path: Path) -> None:
    done = run_python(OPEN, str(tmp_path))

    assert done.stdout.startswith("LockedError ")
    assert str(tmp_path / "store") in done.stdout
    assert f"process {os.getpid()}" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_running_collector_is_named_as_the_owner(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "collector.json").write_text(json.dumps({"pid": os.getpid()}))

    done = run_python(OPEN, str(tmp_path))

    assert f"the collector, process {os.getpid()}" in done.stdout


def test_a_broken_collector_file_does_not_hide_who_has_the_folder(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "collector.json").write_text("not json")

    assert f"process {os.getpid()}" in run_python(OPEN, str(tmp_path)).stdout


def test_the_same_process_is_told_that_it_has_the_folder_open(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(LockedError, match="in this process already"):
        Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")


def test_a_second_folder_in_one_process_is_refused_with_the_reason(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="this process has another store open"):
        Engine.open(tmp_path / "second" / "store", tmp=tmp_path / "second" / "tmp")

    # and the refused folder was let go again
    engine.close()
    assert run_python(OPEN, str(tmp_path / "second")).stdout == "opened\n"


def test_a_closed_folder_opens_elsewhere_and_here_again(tmp_path: Path) -> None:
    Engine.open(tmp_path / "store", tmp=tmp_path / "tmp").close()

    assert run_python(OPEN, str(tmp_path)).stdout == "opened\n"
    Engine.open(tmp_path / "store", tmp=tmp_path / "tmp").close()


def test_closing_twice_is_no_error_and_a_closed_store_says_so(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")
    engine.close()
    engine.close()

    with pytest.raises(StoreError, match="closed"):
        engine.query("SELECT 1")
    with pytest.raises(RetryableError, match="closed"):
        engine.insert("run_names", {"tenant": ["t"], "run_id": ["n"], "trace_id": ["x"]}, new_token())


def test_a_data_folder_that_is_a_file_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")

    with pytest.raises(StoreError, match=r"cannot use the data folder .*store.*RUNREEL_HOME"):
        Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")


def test_a_folder_without_permission_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may read everything: the kernel's answer to an ordinary user is put in its place.
    monkeypatch.setattr(os, "access", lambda path, mode: False)

    with pytest.raises(StoreError, match="no permission"):
        Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")


def test_damaged_engine_files_are_a_store_error_naming_the_folder(tmp_path: Path) -> None:
    (tmp_path / "store" / "metadata").mkdir(parents=True)
    (tmp_path / "store" / "metadata" / "runreel.sql").write_text("ATTACH DATABASE broken")

    done = run_python(OPEN, str(tmp_path))

    assert done.stdout.startswith("StoreError ")
    assert str(tmp_path / "store") in done.stdout


def test_a_forked_child_is_refused_instead_of_hanging(engine: Engine) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            engine.query("SELECT 1")
            os.write(write, b"answered")
        except StoreError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        text = said.read()
    os.waitpid(child, 0)

    assert "forked child" in text


def test_temporary_files_stay_in_the_data_folder_and_left_ones_are_swept(tmp_path: Path) -> None:
    before = tempfile.tempdir
    (tmp_path / "tmp").mkdir()
    left = tmp_path / "tmp" / "tmpabc.native"
    left.write_bytes(b"rows of a killed process")
    other = tmp_path / "tmp" / "kept.txt"
    other.write_text("not the client's")

    engine = Engine.open(tmp_path / "store", tmp=tmp_path / "tmp")
    inside = tempfile.tempdir
    engine.close()

    assert not left.exists()
    assert other.exists()
    assert inside == str(tmp_path / "tmp")
    assert tempfile.tempdir == before


def test_only_the_owner_may_look_into_the_data_folder(engine: Engine, tmp_path: Path) -> None:
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0
    assert (tmp_path / "tmp").stat().st_mode & 0o077 == 0
    assert (tmp_path / "store.lock").stat().st_mode & 0o077 == 0


def test_a_failed_insert_says_nothing_of_the_data(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    with pytest.raises(PermanentError) as caught:
        engine.insert("traces", {"tenant": ["t"], "trace_id": ["x"], "started_ns": [SECRET]}, new_token())

    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__ or error.__context__
    assert "traces" in str(caught.value)
    assert SECRET not in caplog.text


def test_a_value_beyond_its_column_is_permanent(engine: Engine) -> None:
    with pytest.raises(PermanentError):
        engine.insert("traces", {"tenant": ["t"], "trace_id": ["x"], "started_ns": [2**64]}, new_token())


def test_a_full_or_missing_temporary_folder_is_retryable(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "tmp").rmdir()

    with pytest.raises(RetryableError, match="insert into traces"):
        engine.insert("traces", {"tenant": ["t"], "trace_id": ["x"]}, new_token())


def test_the_same_token_again_inserts_nothing_and_a_new_one_does(engine: Engine) -> None:
    token = new_token()
    columns = {"tenant": ["t"], "run_id": ["n"], "trace_id": ["x"]}
    for used in (token, token, new_token()):
        engine.insert("run_names", columns, used)

    ((count,),) = engine.query("SELECT count() FROM runreel.run_names")

    assert count == 2


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (DatabaseError("Code: 252 too many parts", code=252, name="TOO_MANY_PARTS"), RetryableError),
        (DatabaseError("memory", code=241, name="MEMORY_LIMIT_EXCEEDED"), RetryableError),
        (DatabaseError("no space", code=243, name="NOT_ENOUGH_SPACE"), RetryableError),
        (DatabaseError("timeout", code=159, name="TIMEOUT_EXCEEDED"), RetryableError),
        (DatabaseError("read only", code=242, name="TABLE_IS_READ_ONLY"), RetryableError),
        (DatabaseError("a code of the future", code=99999), RetryableError),
        (OperationalError("connection reset"), RetryableError),
        (OSError(28, "No space left on device"), RetryableError),
        (RuntimeError("engine"), RetryableError),
        (DatabaseError(f"here: '{SECRET}'", code=53, name="TYPE_MISMATCH"), PermanentError),
        (DatabaseError(f"here: '{SECRET}'", code=27), PermanentError),
        (DataError(f"Unable to create Python array {SECRET}"), PermanentError),
        (UnicodeEncodeError("utf-8", SECRET, 0, 1, "surrogates"), PermanentError),
        (OverflowError(SECRET), PermanentError),
    ],
)
def test_errors_are_told_apart_by_code_and_never_quote(error: Exception, kind: type[Exception]) -> None:
    mapped = consume_error(error, "spans")

    assert type(mapped) is kind
    assert SECRET not in str(mapped)
    assert "insert into spans" in str(mapped)


def test_a_full_disk_is_said() -> None:
    assert "disk is full" in str(consume_error(DatabaseError("x", code=243, name="NOT_ENOUGH_SPACE"), "parts"))


def test_an_error_name_that_is_none_is_not_repeated() -> None:
    assert describe(DatabaseError("x", code=60, name=SECRET)) == "engine error 60"
    assert describe(DatabaseError("x", code=60, name="UNKNOWN_TABLE")) == "engine error 60 (UNKNOWN_TABLE)"


def test_a_failed_read_is_a_store_error_without_the_query(engine: Engine) -> None:
    with pytest.raises(StoreError, match=r"engine error 60 \(UNKNOWN_TABLE\) while reading") as caught:
        engine.query("SELECT {x:String} FROM runreel.nothing", {"x": SECRET})

    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_failed_command_is_a_store_error_without_its_text(engine: Engine) -> None:
    with pytest.raises(StoreError, match="while running DROP") as caught:
        engine.command(f"DROP TABLE runreel.`{SECRET}`")

    assert SECRET not in str(caught.value)
