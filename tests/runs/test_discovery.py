import json
import os
import socket
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from runreel.demo.model_server import in_thread
from runreel.errors import StoreError
from runreel.runs import discovery
from runreel.runs.discovery import Collector


@pytest.fixture
def answering():
    """Something on loopback that answers the health route to those who know the token."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            known = self.headers["Authorization"] == "Bearer right" and self.path == "/api/v1/health"
            self.send_response(200 if known else 401)
            self.end_headers()

        def log_message(self, *args):
            pass

    with in_thread(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def entry(api="http://127.0.0.1:1", pid=None, token="right"):
    return Collector(pid or os.getpid(), "2026-11-29T00:00:00+00:00", "127.0.0.1:2", "http://127.0.0.1:3", api, token)


def find(home):
    said = []
    return discovery.find(home, say=said.append), said


def test_what_was_written_is_read_and_found(tmp_path, answering):
    discovery.write(tmp_path, entry(answering))

    assert discovery.read(tmp_path) == entry(answering)
    assert find(tmp_path) == (entry(answering), [])


def test_only_its_owner_may_read_the_token_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        (tmp_path / f".{discovery.FILE}.{os.getpid()}").write_text("left over")
        discovery.write(tmp_path, entry())
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / discovery.FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [discovery.FILE]


def test_the_token_is_not_in_the_repr():
    assert "right" not in repr(entry())


def test_no_file_means_no_collector(tmp_path):
    assert find(tmp_path) == (None, [])


def test_the_file_of_a_process_that_is_gone_is_stale(tmp_path, answering):
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    discovery.write(tmp_path, entry(answering, pid=gone.pid))

    found, said = find(tmp_path)

    assert found is None
    assert said == [f"{tmp_path / discovery.FILE} is stale: its process {gone.pid} is gone; no collector runs here"]


def test_a_process_that_does_not_answer_is_no_collector(tmp_path):
    discovery.write(tmp_path, entry("http://127.0.0.1:1"))

    found, (said,) = find(tmp_path)

    assert found is None
    assert f"process {os.getpid()} runs but http://127.0.0.1:1 does not answer" in said


def test_who_does_not_know_the_token_is_another_process_on_the_same_port(tmp_path, answering):
    discovery.write(tmp_path, entry(answering, token="wrong"))

    found, (said,) = find(tmp_path)

    assert found is None
    assert "is not the collector that wrote it (it answers 401)" in said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "[" * 100_000,
        json.dumps({"pid": "x"}),
        *(
            json.dumps(
                {
                    "pid": 1,
                    "started_at": "",
                    "otlp_grpc": None,
                    "otlp_http": None,
                    "api": "http://127.0.0.1:1",
                    "token": "t",
                    **odd,
                }
            )
            for odd in (
                {"pid": -1},
                {"pid": True},
                {"pid": 10**30},
                {"token": None},
                {"api": None},
                {"api": "file:///etc"},
                {"api": "http://["},
                {"api": "http://127.0.0.1:99999999"},
                {"api": "http://127.0.0.1:1/ path"},
                {"api": "http://203.0.113.7:80"},
                {"api": "http://127.0.0.1.example.com:80"},
                {"api": "http://127.0.0.1:80@example.com:80"},
                {"otlp_http": "http://example.com:4318"},
                {"otlp_http": 4318},
            )
        ),
    ],
    ids=lambda text: text[-60:],
)
def test_a_file_that_is_not_ours_is_said(tmp_path, text):
    (tmp_path / discovery.FILE).write_text(text)

    found, (said,) = find(tmp_path)

    assert found is None
    assert "is no file of a collector" in said


def test_what_speaks_no_http_is_no_collector(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"220 mail.example.com\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        discovery.write(tmp_path, entry(f"http://127.0.0.1:{listener.getsockname()[1]}"))

        found, (said,) = find(tmp_path)
        thread.join()

    assert found is None
    assert "does not answer" in said


def test_a_token_that_is_no_header_is_no_collector(tmp_path, answering):
    discovery.write(tmp_path, entry(answering, token="right\r\nX: y"))

    assert find(tmp_path)[0] is None


def test_a_folder_that_cannot_be_read_is_said(tmp_path, monkeypatch):
    def forbidden(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(discovery.Path, "exists", forbidden)

    with pytest.raises(StoreError, match=r"cannot read the data folder .*: Permission denied"):
        find(tmp_path)


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match="cannot write"):
        discovery.write(tmp_path / "file", entry())


def test_only_the_own_file_is_removed(tmp_path):
    discovery.remove(tmp_path, os.getpid())
    discovery.write(tmp_path, replace(entry(), pid=os.getpid() + 1))

    discovery.remove(tmp_path, os.getpid())
    assert (tmp_path / discovery.FILE).exists()

    discovery.remove(tmp_path, os.getpid() + 1)
    assert not (tmp_path / discovery.FILE).exists()
