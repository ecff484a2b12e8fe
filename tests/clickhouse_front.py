"""A test server: ClickHouse's HTTP interface in front of chDB, since no ClickHouse server can be had everywhere.

It is no ClickHouse server. What it cannot show: replication, users and roles, quorums, a server's memory limits. Run as
a process of its own (a process opens one chDB folder); `Front` starts and ends it. `control` faults it on demand:
`POST /fault` with `status code times` makes the next queries fail so, `POST /cut` takes the next insert and breaks the
connection instead of answering, `POST /deny` refuses statements that begin so from then on, as to a user without the
right.
"""

import contextlib
import email
import gzip
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

PASSWORD = "front-password"
_UNPACK: Mapping[str, Callable[[bytes], bytes]] = {"gzip": gzip.decompress, "deflate": zlib.decompress}
# Keys of the interface; every other one in a URL is a setting of the query.
_INTERFACE = frozenset({
    "query", "database", "query_id", "session_id", "session_timeout", "session_check", "close_session", "user", "role",
    "password", "quota_key", "compress", "decompress", "default_format", "enable_http_compression", "buffer_size",
    "client_protocol_version", "wait_end_of_query", "send_progress_in_http_headers",
    "http_headers_progress_interval_ms",
})  # fmt: skip
_INSERT = re.compile(rb"\s*insert\s+into\s+(.+?)\s+format\s+(\w+)\s*?(?:\n|$)", re.IGNORECASE | re.DOTALL)
_FORMAT = re.compile(r"\bformat\s+(\w+)\s*;?\s*$", re.IGNORECASE)
_STATUS = {60: 404, 81: 404, 497: 403, 516: 403}


@dataclass(frozen=True, slots=True)
class Front:
    """A running test server."""

    endpoint: str
    process: "subprocess.Popen[str]"

    def fault(self, status: int, code: int, times: int = 1) -> None:
        """Let the next queries fail with an engine's error."""
        self._control("fault", f"{status} {code} {times}")

    def cut(self) -> None:
        """Let the next insert be taken, and its connection break before the answer."""
        self._control("cut", "")

    def deny(self, *begins: str) -> None:
        """Refuse statements that begin so, from now on; none: refuse nothing any more."""
        self._control("deny", "\n".join(begins))

    def _control(self, what: str, body: str) -> None:
        with urllib.request.urlopen(f"{self.endpoint}/control/{what}", body.encode(), timeout=30):
            pass


@contextlib.contextmanager
def front(folder: Path, port: int = 0) -> Iterator[Front]:
    """Run the test server on a folder."""
    process = subprocess.Popen(
        [sys.executable, __file__, str(folder), str(port)], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout
        ready = process.stdout.readline().strip()
        assert ready.startswith("ready "), "the test server did not start"
        yield Front(f"http://127.0.0.1:{ready.removeprefix('ready ')}", process)
    finally:
        process.kill()
        process.wait(30)
        if process.stdout:
            process.stdout.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write: else the client waits 40 ms for the second packet
    disable_nagle_algorithm = True
    folder: str
    faults: list[tuple[int, int]]
    cuts: list[bool]
    denied: list[str]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class calls it so
        """Nothing is logged: it would be data."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = dict(parse_qsl(url.query, keep_blank_values=True))
        body = self._body()
        if url.path == "/ping":
            self._reply(200, b"Ok.\n")
        elif url.path.startswith("/control/"):
            self._control(url.path.rpartition("/")[2], body.decode())
        elif not self._allowed():
            self._error(516, "Authentication failed")
        else:
            self._query(asked, body)

    do_POST = do_GET

    def _control(self, what: str, body: str) -> None:
        if what == "cut":
            self.cuts.append(True)
        elif what == "deny":
            self.denied[:] = body.split("\n") if body else []
        else:
            status, code, times = map(int, body.split())
            self.faults.extend([(status, code)] * times)
        self._reply(200, b"")

    def _allowed(self) -> bool:
        user, key = self.headers.get("X-ClickHouse-User"), self.headers.get("X-ClickHouse-Key")
        if (self.headers.get("Authorization") or "").startswith("Basic "):
            import base64

            user, _, key = base64.b64decode(self.headers["Authorization"][6:]).decode().partition(":")
        return user != "nobody" and key in (None, "", PASSWORD)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            pieces = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            data = b"".join(pieces)
        else:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        return self._unpacked(data)

    def _unpacked(self, data: bytes) -> bytes:
        how = self.headers.get("Content-Encoding", "")
        if how == "lz4":
            import lz4.frame

            return bytes(lz4.frame.decompress(data))
        if how == "zstd":
            import zstandard

            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
        return _UNPACK[how](data) if how in _UNPACK else data

    def _query(self, asked: dict[str, str], body: bytes) -> None:
        import chdb

        kind = self.headers.get("Content-Type") or ""
        if kind.startswith("application/x-www-form-urlencoded"):
            asked.update(parse_qsl(body.decode(), keep_blank_values=True))
            body = b""
        elif kind.startswith("multipart/form-data"):  # how the client sends what is too long for a URL
            asked.update(_fields(kind, body))
            body = b""
        text = asked.get("query", "").encode()
        sql = text + (b"\n" if text and body else b"") + body
        if sql.startswith(tuple(begin.encode() for begin in self.denied)):
            self._error(497, "Not enough privileges")
            return
        if self.faults:
            status, code = self.faults.pop(0)
            self._error(code, "a fault that a test asked for", status)
            return
        connection = chdb.connect(self.folder)  # its own settings and its own database
        try:
            if asked.get("database"):
                connection.query(f"USE `{asked['database']}`")
            for name, value in asked.items():
                if name not in _INTERFACE and not name.startswith("param_"):
                    connection.query(f"SET {name} = {_literal(value)}")
            given = {name[6:]: value for name, value in asked.items() if name.startswith("param_")}
            self._run(connection, sql, given, asked.get("default_format", ""))
        except RuntimeError as error:
            code = re.search(r"Code: (\d+)", str(error))
            self._error(int(code[1]) if code else 1002, str(error))
        finally:
            connection.close()

    def _run(self, connection: Any, sql: bytes, given: dict[str, str], default_format: str) -> None:
        insert = _INSERT.match(sql)
        if insert and sql[insert.end() :]:
            # Data in line reaches chDB through a file only.
            with tempfile.NamedTemporaryFile(suffix=".native") as file:
                file.write(sql[insert.end() :])
                file.flush()
                result = connection.query(
                    f"INSERT INTO {insert[1].decode()} FROM INFILE '{file.name}' FORMAT {insert[2].decode()}"
                )
            if self.cuts:
                self.cuts.pop()
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                self.close_connection = True
                self.connection.close()
                return
            self._reply(200, b"", X_ClickHouse_Summary=_summary(written_rows=result.rows_read()))
            return
        text = sql.decode()
        found = _FORMAT.search(text)
        name = found[1] if found else default_format or self.headers.get("X-ClickHouse-Format") or "TabSeparated"
        result = connection.query(text[: found.start()] if found else text, name, params=given or None)
        data = result.bytes() or b""
        kind = {"X_ClickHouse_Format": name} if data else {}
        self._reply(200, data, X_ClickHouse_Summary=_summary(read_rows=result.rows_read()), **kind)

    def _error(self, code: int, text: str, status: int | None = None) -> None:
        said = f"Code: {code}. DB::Exception: {text}. (A_TEST)".encode()
        self._reply(status or _STATUS.get(code, 500), said, X_ClickHouse_Exception_Code=str(code))

    def _reply(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("X-ClickHouse-Query-Id", str(uuid.uuid4()))
        self.send_header("X-ClickHouse-Timezone", "UTC")
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _fields(kind: str, body: bytes) -> dict[str, str]:
    message = email.message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    fields = {}
    for part in message.get_payload():
        payload = part.get_payload(decode=True)  # type: ignore[union-attr]
        name = part.get_param("name", header="content-disposition")  # type: ignore[union-attr]
        fields[str(name)] = bytes(payload).decode()  # type: ignore[arg-type]
    return fields


def _summary(read_rows: int = 0, written_rows: int = 0) -> str:
    rows = {"read_rows": read_rows, "read_bytes": 0, "written_rows": written_rows, "written_bytes": 0, "elapsed_ns": 1}
    return json.dumps({name: str(value) for name, value in rows.items()})


def _literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _serve(folder: str, port: int) -> None:
    import chdb

    _Handler.folder, _Handler.faults, _Handler.cuts, _Handler.denied = folder, [], [], []
    server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
    server.daemon_threads = True
    engine = chdb.connect(folder)  # keeps the engine open between requests
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"ready {server.server_port}", flush=True)
    while engine is not None:
        time.sleep(3600)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
