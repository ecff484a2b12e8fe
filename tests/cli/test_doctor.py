"""`runreel doctor`: what it finds, what it says to do, and that it changes nothing."""

import contextlib
import os
import re
import subprocess
import sys
import termios
from dataclasses import replace
from pathlib import Path

import pytest

import otlp_build as build
from collector_kit import SPOOLED, Store, ask, collector, until
from e2e_kit import CAPTURES, runreel
from runreel import cli
from runreel.cli import checks
from runreel.cli.checks import lacks
from runreel.errors import RetryableError, SandboxError
from runreel.processors.redact.keys import VARIABLE, load_key
from runreel.runs import discovery
from runreel.runs.places import Named, Place
from runreel.values import Gap
from span_kit import captured_run


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def states(found: object) -> dict[str, str]:
    return {check.name: check.state for check in found}  # type: ignore[attr-defined]


def test_an_empty_folder_has_nothing_to_do_and_is_not_made(tmp_path: Path) -> None:
    home = tmp_path / "none"

    done = runreel(home, "doctor")

    assert (done.code, done.err) == (0, "")
    assert re.search(r"^  note +home +", done.out, re.MULTILINE)
    assert re.search(r"^  note +store +no runs yet$", done.out, re.MULTILINE)
    assert not home.exists()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("doctor")
    names = ("otel-genai-openai/content-span", "otel-genai-openai/upload-hook")
    assert runreel(home, "runs", "import", *(CAPTURES / name for name in names)).code == 0
    return home


def test_what_runs_lack_is_said_once_a_service_with_the_setting(recorded: Path) -> None:
    done = runreel(recorded, "doctor", "--json", code=1)

    document = done.json()
    assert document["well"] is False
    assert (document["runs"], document["full"]) == (2, 1)
    assert document["dialects"] == [{"name": "otel", "steps": 14, "verified": True}]
    (missing,) = document["missing"]
    assert (missing["service"], missing["fields"], missing["times"]) == ("weather-agent", ["input", "output"], 6)
    assert "OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK" in missing["fix"]
    assert {check["name"]: check["state"] for check in document["checks"]}["key"] == "ok"


def test_it_fits_80_columns_on_a_terminal_and_is_whole_in_a_pipe(recorded: Path) -> None:
    piped = runreel(recorded, "doctor", code=1)
    assert "missing for full: weather-agent" in piped.out
    words = [sys.executable, "-m", "runreel", "doctor", "--home", str(recorded)]
    reader, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (40, 80))
    process = subprocess.Popen(words, stdout=terminal, stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "dumb"})
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # how a terminal ends
        while chunk := os.read(reader, 65536):
            shown += chunk
    os.close(reader)

    assert process.wait(60) == 1
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in shown.decode().splitlines()]
    assert max(map(len, lines)) <= 80
    assert " ".join("".join(lines).split()).count("weather-agent") >= 1


def test_as_many_runs_are_looked_at_as_are_asked_for(recorded: Path) -> None:
    (store,) = (
        check
        for check in runreel(recorded, "doctor", "--last", "1", "--json", code=None).json()["checks"]
        if check["name"] == "store"
    )

    assert "of the last 1 run," in store["says"]


@pytest.mark.parametrize("last", ["-1", "10001"])
def test_a_number_of_runs_that_is_none_is_said(last: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--last", last]) == 64
    assert capsys.readouterr().err == f"runreel: --last {last}: a number from 0 to 10000\n"


def test_a_key_that_others_may_read_is_to_be_changed(tmp_path: Path, plain: None) -> None:
    load_key(tmp_path, "default")
    assert states(checks.home(tmp_path))["key"] == "ok"

    (tmp_path / "keys" / "default.json").chmod(0o644)

    (key,) = (check for check in checks.home(tmp_path) if check.name == "key")
    assert key.state == "todo"
    assert "chmod 600" in key.fix


def test_a_key_that_is_gone_matters_once_something_is_stored(tmp_path: Path, plain: None) -> None:
    assert states(checks.home(tmp_path))["key"] == "note"
    (tmp_path / "store").mkdir()
    assert states(checks.home(tmp_path))["key"] == "todo"
    assert not (tmp_path / "keys").exists()


def test_a_key_in_the_environment_is_checked_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, state in (("ab" * 32, "ok"), ("not a key", "todo")):
        monkeypatch.setenv(VARIABLE, text)
        (key,) = (check for check in checks.home(tmp_path) if check.name == "key")
        assert key.state == state
        assert text not in key.says + key.fix


def test_a_home_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")

    assert states(checks.home(tmp_path / "file"))["home"] == "todo"


def test_a_full_disk_is_said_before_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = checks.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda _: usage._replace(free=1000))

    assert states(checks.home(tmp_path / "not" / "there"))["space"] == "todo"


def test_a_running_collector_is_shown_with_where_it_listens(tmp_path: Path) -> None:
    with collector(tmp_path, Store()) as running:
        found, *_ = checks.collector(Place(tmp_path))

        assert found.state == "ok"
        assert running.http in found.says


def test_a_collector_that_is_named_is_shown_by_its_address(tmp_path: Path) -> None:
    with collector(tmp_path / "home", Store()) as running:
        named = Named(running.at.api, running.at.token, "--collector", "RUNREEL_TOKEN")
        found, *_ = checks.collector(Place(tmp_path / "none", collector=named))

    assert (found.state, running.at.api in found.says, running.http in found.says) == ("ok", True, True)
    (gone,) = checks.collector(Place(tmp_path / "none", collector=named))
    assert (gone.state, "no collector answers" in gone.says) == ("todo", True)


def test_a_collector_of_another_version_is_to_be_restarted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "__version__", "99.0")
    with collector(tmp_path, Store()):
        found, *_ = checks.collector(Place(tmp_path))

    assert (found.state, "99.0" in found.says) == ("todo", True)


def test_a_file_of_a_collector_that_is_gone_is_said(tmp_path: Path) -> None:
    assert [check.state for check in checks.collector(Place(tmp_path))] == ["note"]
    gone = discovery.Collector(2**31 - 1, "", None, None, "http://127.0.0.1:1", "t")
    discovery.write(tmp_path, gone)

    (found,) = checks.collector(Place(tmp_path))

    assert found.state == "todo"
    assert "is gone" in found.says
    assert discovery.version(gone) is None


def test_a_kernel_without_walls_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise SandboxError("use another kernel")

    monkeypatch.setattr("runreel.replay.sandbox.probe", refuse)

    (sandbox,) = (check for check in checks.machine() if check.name == "sandbox")
    assert (sandbox.state, sandbox.fix) == ("todo", "use another kernel")


def test_an_extra_that_is_not_installed_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_EXTRAS", {"demo": ("no_such_package.inside",)})

    extra = next(checks.machine())
    assert (extra.state, "pip install 'runreel[demo]'" in extra.says) == ("note", True)


def test_a_store_that_another_process_has_open_is_said(recorded: Path) -> None:
    from runreel.components import open_database

    database = open_database(recorded)
    try:
        done = runreel(recorded, "doctor", "--json", code=1)
    finally:
        database.shutdown()

    (store,) = (check for check in done.json()["checks"] if check["name"] == "store")
    assert store["state"] == "todo"
    assert str(os.getpid()) in store["fix"]


def test_a_run_that_cannot_be_read_does_not_hide_the_others(recorded: Path) -> None:
    from runreel.components import open_runs
    from runreel.errors import CorruptError

    store = open_runs(recorded)
    try:
        broken = store.resolve("default", "last")

        class Half:
            runs = staticmethod(store.runs)

            def run(self, tenant: str, run_id: str) -> object:
                if run_id == broken:
                    raise CorruptError("a part is not what was written")
                return store.run(tenant, run_id)

        seen = checks.look(Half(), 20)  # type: ignore[arg-type]
    finally:
        store.close()

    assert seen.runs == 1
    assert [check.state for check in seen.broken] == ["todo"]


def test_only_what_a_frozen_replay_needs_is_missing_for_full() -> None:
    run = captured_run("otel-genai-openai/content-span")
    gaps = (Gap(0, "seed", "live", "absent: x", "y"), Gap(1, "output", "frozen", "content_off: a", "set A"))

    (lack,) = lacks([replace(run, gaps=gaps), replace(run, run_id="2", gaps=gaps)])

    assert (lack.fields, lack.times, lack.runs, lack.fix) == (["output"], 2, [run.run_id, "2"], "set A")


def test_a_collectors_stores_and_ledger_are_told(tmp_path: Path) -> None:
    away = [False]

    def hook(_: object) -> None:
        if away[0]:
            raise RetryableError("nothing listens there")

    with collector(tmp_path, Store(hook=hook), SPOOLED) as running:
        assert ask(f"{running.http}/v1/traces", build.req(build.agent()).SerializeToString()).status == 200
        until(lambda: running.service.spool.waiting() == (0, 0))  # type: ignore[union-attr]
        away[0] = True
        done = runreel(tmp_path, "doctor", code=1)

    assert re.search(r"store store +nothing listens there", done.out)
    assert re.search(r"spool +0 requests wait", done.out)
    assert re.search(r"ledger default +1 spans acknowledged = 1 stored \+ 0 waiting \+ 0\s+quarantined", done.out)


def test_what_is_in_quarantine_or_damaged_is_something_to_do() -> None:
    counts = {"acknowledged_spans": 3, "stored_spans": 2, "quarantined_spans": 1, "released_spans": 1}
    counts |= {"withdrawn_spans": 2, "withdrawn_logs": 1}
    _, _, says, _ = checks._ledger("default", counts)
    kept = {"tenant": "default", "reason": "missing_field:service.name", "records": 1, "bytes": 2048}
    files = {"tenant": "", "reason": "refused by every store", "records": 2, "bytes": 10}
    first, second, full = checks._quarantine({"full": True, "kept": [kept, files]})
    damaged = checks._ledger("", {"damaged_records": 2})

    assert (
        "2 stored + 0 waiting + 1 quarantined; 3 of the stored were withdrawn; 1 of the quarantined were released"
        in says
    )
    assert first.says == "1 record (2,048 bytes) of default: missing_field:service.name"
    assert second.says == "2 records (10 bytes): refused by every store"
    assert {one.state for one in (first, second, full)} == {"todo"}
    assert "quarantine ls" in first.fix
    assert "quarantine_limit_mib" in full.fix
    assert damaged[1:3] == ("todo", "2 records of the spool were damaged on the disk")
