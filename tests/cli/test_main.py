"""What holds for every command: streams that are closed, full or gone, terminals without Unicode, any error."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

import pytest

from e2e_kit import Done
from otlp_build import ROOT, agent, llm, msg, req
from runreel import cli
from runreel.cli import common
from runreel.errors import StoreError

# Half an emoji, as JSON may have it, and characters that neither ASCII nor Latin-1 has.
ANSWER = "half \ud83d … – ok"


def shell(script: str, home: Path, env: Mapping[str, str] | None = None) -> Done:
    """Run a line of bash in which `runreel` is the program."""
    done = subprocess.run(
        ["bash", "-c", f'set -o pipefail; runreel() {{ "$PYTHON" -m runreel "$@"; }}; {script}'],
        env={**os.environ, "PYTHON": sys.executable, "RUNREEL_HOME": str(home), **(env or {})},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("main")
    answer = {"gen_ai.output.messages": json.dumps([msg("assistant", ANSWER)])}
    request = req(agent(), llm("00000000000000b1", ROOT, [msg("user", "hi")], [], **answer))
    (folder / "run.bin").write_bytes(request.SerializeToString())
    assert shell(f"runreel runs import {folder}/run.bin", folder / "home").code == 0
    return folder / "home"


@pytest.mark.parametrize("command", ["runs show last", "--help"])
def test_a_reader_that_is_gone_is_no_success_and_no_traceback(command: str, home: Path) -> None:
    done = shell(f"runreel {command} | true", home)

    assert done.code in {0, 141}  # 0 where all was written before the reader went
    assert done.err == ""


def test_a_reader_that_goes_in_the_middle_does_not_make_a_divergence_a_success(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("runreel.cli.runs.run", raising(BrokenPipeError()))

    assert cli.main(["runs", "ls"]) == 141


def test_a_full_disk_is_said(home: Path) -> None:
    for command in ("runs ls", "runs export last --output -"):
        done = shell(f"runreel {command} > /dev/full", home)
        assert (done.code, done.err) == (1, "runreel: No space left on device\n")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_a_terminal_that_cannot_show_a_character_shows_its_number(encoding: str, home: Path) -> None:
    done = shell("runreel runs show last --payloads", home, {"PYTHONIOENCODING": encoding})

    assert (done.code, done.err) == (0, "")
    assert r"half \ud83d" in done.out


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_json_is_json_in_every_encoding(encoding: str, home: Path) -> None:
    done = shell("runreel runs show last --json --payloads", home, {"PYTHONIOENCODING": encoding})

    assert (done.code, done.err) == (0, "")
    shown = json.loads(done.out.encode("latin-1").decode("utf-8" if encoding == "utf-8" else "latin-1"))
    assert any(ANSWER in json.dumps(value, ensure_ascii=False) for value in shown["payloads"].values())


def test_closed_streams_are_no_error_and_no_file_takes_their_place(home: Path) -> None:
    assert shell("runreel runs ls >&- 2>&- <&-", home) == Done(0, "", "")
    assert shell("runreel runs show nope 2>&-", home) == Done(1, "", "")


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def run(*_: object) -> NoReturn:
        raise error

    return run


def test_an_error_of_ours_is_one_line_that_no_terminal_obeys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("runreel.cli.runs.run", raising(StoreError("step 3 (tool \x1b[2Jred)")))

    assert cli.main(["runs", "ls"]) == 1
    assert capsys.readouterr().err == "runreel: step 3 (tool \\x1b[2Jred)\n"


def test_a_bug_is_said_by_its_place_and_never_by_its_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("runreel.cli.runs.run", raising(KeyError("dana.fields@example.com")))

    assert cli.main(["runs", "ls"]) == 1
    said = capsys.readouterr().err
    assert "KeyError at test_main.py:" in said
    assert "dana" not in said


def test_an_error_of_the_system_names_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("runreel.cli.runs.run", raising(PermissionError(13, "Permission denied", "/some/where")))

    assert cli.main(["runs", "ls"]) == 1
    assert capsys.readouterr().err == "runreel: /some/where: Permission denied\n"


@pytest.mark.parametrize(
    ("module", "wanted"), [("grpc", "runreel[collector]"), ("chdb", "runreel[embedded]"), ("rich", "runreel")]
)
def test_a_missing_package_is_named_with_what_installs_it(
    module: str, wanted: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("runreel.cli.runs.run", raising(ModuleNotFoundError("no", name=module)))

    assert cli.main(["runs", "ls"]) == 1
    assert capsys.readouterr().err == f"runreel: this command needs the package {module!r}: pip install '{wanted}'\n"


def test_control_c_ends_with_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runreel.cli.runs.run", raising(KeyboardInterrupt()))

    assert cli.main(["runs", "ls"]) == 130


def test_json_for_a_pipe_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    common.show_json({"a": ["é", "\ud83d"]})

    assert capsys.readouterr().out == '{"a": ["\\u00e9", "\\ud83d"]}\n'
