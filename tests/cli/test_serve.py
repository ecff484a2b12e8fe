import os
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import otlp_build as build
from collector_kit import CONFIG, ask, until
from load_kit import Load, grpc_exporter, http_exporter
from runreel.cli.serve import ready_line
from runreel.components import open_runs
from runreel.runs import discovery
from runreel.runs.discovery import Collector
from runreel.storage import RunQuery
from serve_kit import run_to_its_end, serve

PLANTED = "dana.fields@example.com"
TOOL = build.tool("00000000000000c1", build.ROOT, "lookup", {"email": PLANTED}, "found")
REQUEST = build.req(build.agent(), TOOL).SerializeToString()


def get(at, path):
    return ask(at.api + path, Authorization=f"Bearer {at.token}")


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """A collector that several tests ask."""
    folder = tmp_path_factory.mktemp("serve")
    with serve(folder / "home", CONFIG, "--ready-file", str(folder / "ready")) as found:
        yield found


def test_it_says_where_it_listens_once_it_answers(serving):
    pattern = r"ready: grpc 127\.0\.0\.1:(\d+) http http://127\.0\.0\.1:(\d+) api http://127\.0\.0\.1:(\d+)"

    assert re.fullmatch(pattern, serving.ready)
    assert (serving.home.parent / "ready").read_text() == serving.ready + "\n"
    assert serving.ready == ready_line(serving.at)


def test_a_receiver_that_is_off_is_left_out_of_the_line():
    assert ready_line(Collector(1, "", None, None, "http://x:1", "t")) == "ready: api http://x:1"


def test_what_it_took_is_read_through_its_api_and_personal_data_is_not_there(serving):
    assert ask(f"{serving.at.otlp_http}/v1/traces", REQUEST).status == 200

    (listed,) = get(serving.at, "/api/v1/runs").json()["runs"]
    shown = get(serving.at, f"/api/v1/runs/{listed['run_id']}")

    assert listed["trace_ids"] == [build.TID]
    assert listed["tool_calls"] == 1
    assert shown.status == 200
    reel = get(serving.at, f"/api/v1/runs/{listed['run_id']}/reel")
    assert reel.status == 200
    assert PLANTED not in serving.log
    for file in serving.home.rglob("*"):
        assert not file.is_file() or PLANTED.encode() not in file.read_bytes()


def test_no_core_file_can_be_written(serving):
    limits = Path(f"/proc/{serving.process.pid}/limits")
    if not limits.exists():
        pytest.skip("no /proc here")

    assert re.search(r"Max core file size\s+0\s+0\s", limits.read_text())
    assert Path(f"/proc/{serving.process.pid}/coredump_filter").read_text().strip() == "00000000"


def test_only_its_owner_may_read_the_data_folder(serving):
    assert stat.S_IMODE(serving.home.stat().st_mode) == 0o700
    assert stat.S_IMODE((serving.home / discovery.FILE).stat().st_mode) == 0o600


def test_a_second_one_on_the_same_folder_is_refused(serving, tmp_path):
    (tmp_path / "c.yaml").write_text(CONFIG)

    refused = run_to_its_end(serving.home, "--config", str(tmp_path / "c.yaml"))

    assert refused.returncode == 1
    assert f"a collector (process {serving.process.pid}) runs on {serving.home} already" in refused.stderr
    assert discovery.read(serving.home).pid == serving.process.pid


def test_a_taken_port_is_said_with_who_has_it(serving, tmp_path):
    port = serving.at.otlp_grpc.rpartition(":")[2]
    (tmp_path / "c.yaml").write_text(
        CONFIG.replace('grpc: {endpoint: "127.0.0.1:0"}', f"grpc: {{endpoint: '127.0.0.1:{port}'}}")
    )

    refused = run_to_its_end(tmp_path / "home", "--config", str(tmp_path / "c.yaml"))

    assert refused.returncode == 64
    assert f"127.0.0.1:{port} is in use by process {serving.process.pid} (" in refused.stderr
    assert "set receivers::otlp::protocols::grpc::endpoint to another port" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_bad_configuration_is_refused_with_every_problem(tmp_path):
    (tmp_path / "c.yaml").write_text(CONFIG.replace("[schema, redact, split]", "[schema, split, redact]"))

    refused = run_to_its_end(tmp_path / "home", "--config", str(tmp_path / "c.yaml"))

    assert refused.returncode == 64
    assert refused.stderr.count("redact must come before split") == 2
    assert not (tmp_path / "home").exists()


def test_a_data_folder_that_cannot_be_used_is_refused(tmp_path):
    (tmp_path / "c.yaml").write_text(CONFIG)
    (tmp_path / "file").write_text("")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    homes = [tmp_path / "file", tmp_path / "file" / "home", *([] if os.geteuid() == 0 else [closed / "home", closed])]

    for home in homes:
        refused = run_to_its_end(home, "--config", str(tmp_path / "c.yaml"))

        assert refused.returncode == 1, refused.stderr
        assert "cannot use the data folder" in refused.stderr
        assert "RUNREEL_HOME" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_a_stop_under_load_keeps_everything_that_was_acknowledged(tmp_path):
    home = tmp_path / "home"
    with serve(home) as serving:
        at = serving.at
        with Load([lambda: grpc_exporter(at.otlp_grpc), lambda: http_exporter(at.otlp_http)]) as load:
            until(lambda: len(load.acknowledged) > 30)
            assert serving.end(signal.SIGTERM) == 0
        log = serving.log

    assert "stopped" in log
    assert "runreel_commits=" in log
    assert not (home / discovery.FILE).exists()
    runs = open_runs(home)
    stored = {trace for run in runs.runs(RunQuery(limit=0)) for trace in run.trace_ids}
    runs.close()
    assert {trace for trace, _ in load.acknowledged} <= stored


def test_after_kill_9_the_next_one_says_so_and_takes_over(tmp_path):
    home = tmp_path / "home"
    with serve(home) as first:
        assert ask(f"{first.at.otlp_http}/v1/traces", REQUEST).status == 200
        pid, token = first.process.pid, first.at.token
        first.end(signal.SIGKILL)
    assert (home / discovery.FILE).exists()

    with serve(home) as second:
        assert f"its process {pid} is gone" in second.log
        assert second.at.token != token
        assert get(second.at, f"/api/v1/runs/{build.TID}").status == 200
        assert second.end(signal.SIGINT) == 0


def test_a_second_signal_ends_it_at_once(tmp_path):
    with serve(tmp_path / "home") as serving:
        host, port = serving.at.otlp_http.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as half:
            # A request that never becomes whole: a clean stop would wait for it.
            half.sendall(
                b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
            )
            ask(f"{serving.at.otlp_http}/v1/metrics", b"")
            serving.process.send_signal(signal.SIGTERM)
            until(lambda: "stopping" in serving.log)
            assert serving.process.poll() is None

            assert serving.end(signal.SIGTERM) == 128 + signal.SIGTERM


def test_a_stop_while_it_starts_is_clean(tmp_path):
    (tmp_path / "c.yaml").write_text(CONFIG)
    code = f"""if True:
        import os, signal, sys
        from runreel.cli import main
        from runreel.collector import service
        real = service.Service._take_ports
        def interrupted(self):
            taken = real(self)
            os.kill(os.getpid(), signal.SIGTERM)
            return taken
        service.Service._take_ports = interrupted
        sys.exit(main(["serve", "--home", {str(tmp_path / "home")!r}, "--config", {str(tmp_path / "c.yaml")!r}]))
    """

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    assert not (tmp_path / "home" / discovery.FILE).exists()
    assert "Traceback" not in ended.stderr
