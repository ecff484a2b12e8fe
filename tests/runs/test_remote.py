"""Runs asked of a collector: what it may answer when it is not well, or not ours."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from runreel.errors import CorruptError, NotFoundError, StoreError, UsageError
from runreel.runs.remote import RemoteRuns
from runreel.storage import RunQuery

Answer = Callable[[BaseHTTPRequestHandler], None]
ASKING: list[Callable[[RemoteRuns], object]] = [
    lambda runs: runs.runs(RunQuery()),
    lambda runs: runs.resolve("default", "last"),
    lambda runs: runs.reel("default", "r"),
    lambda runs: runs.redacted("dana"),
]


@pytest.fixture
def answering() -> Iterator[Callable[[Answer], RemoteRuns]]:
    """Makes a RemoteRuns whose collector does with each request what a test wants."""
    servers: list[ThreadingHTTPServer] = []

    def make(answer: Answer) -> RemoteRuns:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer(self)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return RemoteRuns(f"http://127.0.0.1:{server.server_port}", "token")

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


def body(status: int, text: bytes, length: int | None = None) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(text) if length is None else length))
        handler.end_headers()
        handler.wfile.write(text)

    return answer


@pytest.mark.parametrize("text", [b"", b"not json", b"[]", b"{}", b"7", b"\xff"])
@pytest.mark.parametrize("ask", ASKING[:2] + ASKING[3:])
def test_an_answer_of_another_shape_is_said(
    answering: Callable[[Answer], RemoteRuns], ask: Callable[[RemoteRuns], object], text: bytes
) -> None:
    with pytest.raises(StoreError, match="answers what this version does not know"):
        ask(answering(body(200, text)))


def test_a_list_of_something_else_is_said(answering: Callable[[Answer], RemoteRuns]) -> None:
    for text in (b'{"runs": [7]}', b'{"runs": 7}', b'{"runs": [{"run_id": "a"}]}'):
        with pytest.raises(StoreError, match="answers what this version does not know"):
            answering(body(200, text)).runs(RunQuery())


@pytest.mark.parametrize("ask", ASKING)
def test_an_answer_that_breaks_off_is_said(
    answering: Callable[[Answer], RemoteRuns], ask: Callable[[RemoteRuns], object]
) -> None:
    with pytest.raises(StoreError, match="does not answer"):
        ask(answering(body(200, b'{"runs": []}', length=5000)))


def test_what_is_no_http_is_said(answering: Callable[[Answer], RemoteRuns]) -> None:
    with pytest.raises(StoreError, match="does not answer"):
        answering(lambda handler: handler.wfile.write(b"220 mail\r\n") and None).resolve("default", "last")


@pytest.mark.parametrize("text", ["", "  ", "/", "//"])
def test_no_name_is_no_run(answering: Callable[[Answer], RemoteRuns], text: str) -> None:
    with pytest.raises(NotFoundError, match="is no run id, trace id or prefix"):
        answering(body(200, b'{"runs": []}')).resolve("default", text)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, NotFoundError), (409, UsageError), (422, CorruptError), (401, StoreError), (503, StoreError)],
)
def test_a_refusal_keeps_its_kind(
    answering: Callable[[Answer], RemoteRuns], status: int, kind: type[Exception]
) -> None:
    with pytest.raises(kind, match="as it says" if status != 401 else "refuses the token"):
        answering(body(status, b'{"error": "as it says"}')).resolve("default", "r")
    with pytest.raises(kind, match=f"answered {status}" if status != 401 else "refuses the token"):
        answering(body(status, b"<html>")).resolve("default", "r")
