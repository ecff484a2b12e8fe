"""How an import sends what it read to a running collector."""

import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import otlp_build as build
from runreel import otlp
from runreel.cli import importing
from runreel.errors import StoreError
from runreel.runs import discovery
from runreel.runs.discovery import Collector
from runreel.runs.importer import Imported
from runreel.values import RawBatch

Answer = Callable[[int, int], tuple[int, Mapping[str, str]]]
"""(which request, its size) -> status and headers."""


@pytest.fixture
def collecting(tmp_path: Path) -> Iterator[Callable[[Answer], list[RawBatch]]]:
    """Makes a collector that answers as a test wants; returns the list of what it has taken."""
    servers: list[ThreadingHTTPServer] = []

    def make(answer: Answer) -> list[RawBatch]:
        taken: list[RawBatch] = []
        asked: list[int] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                asked.append(len(body))
                status, headers = answer(len(asked), len(body))
                if status == 200:
                    signal: otlp.Signal = "traces" if self.path == "/v1/traces" else "logs"
                    taken.append(otlp.decode(signal, body, "protobuf", "default"))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        discovery.write(tmp_path, Collector(1, "now", None, url, url, "token"))
        return taken

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


def spans(count: int, size: int = 1) -> build.TraceReq:
    return build.req(*(build.tool(f"{one + 1:016x}", build.ROOT, "t", {"n": one}, "x" * size) for one in range(count)))


def ids(taken: list[RawBatch]) -> list[str]:
    return [span.key.span_id for batch in taken for span in batch.spans]


def imported(home: Path, *requests: build.TraceReq) -> Imported:
    folder = home / "files"
    folder.mkdir()
    for number, request in enumerate(requests):
        (folder / f"{number}.bin").write_bytes(request.SerializeToString())
    return importing.import_paths(home, [folder], lambda _: None)


def test_a_request_that_is_too_large_goes_in_halves_and_each_span_once(
    collecting: Callable[[Answer], list[RawBatch]], tmp_path: Path
) -> None:
    taken = collecting(lambda _, size: (413 if size > 3000 else 200, {}))

    result = imported(tmp_path, spans(7, 1000))

    assert ids(taken) == [f"{one:016x}" for one in range(1, 8)]
    assert result.failed == []


def test_one_span_that_is_too_large_is_named_and_the_others_are_taken(
    collecting: Callable[[Answer], list[RawBatch]], tmp_path: Path
) -> None:
    taken = collecting(lambda _, size: (413 if size > 3000 else 200, {}))
    large = build.tool("00000000000000ff", build.ROOT, "t", {}, "x" * 5000)

    result = imported(tmp_path, build.req(*spans(3).resource_spans[0].scope_spans[0].spans, large))

    assert ids(taken) == [f"{one:016x}" for one in range(1, 4)]
    (said,) = result.failed
    assert said.startswith(f"span 00000000000000ff of trace {build.TID}: ")
    assert "max_request_body_size" in said


def test_a_busy_collector_is_asked_again_when_it_says(
    collecting: Callable[[Answer], list[RawBatch]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(importing.time, "sleep", waited.append)
    taken = collecting(lambda number, _: (503, {"Retry-After": "7"}) if number < 3 else (200, {}))

    imported(tmp_path, spans(2))

    assert len(ids(taken)) == 2
    assert waited == [7.0, 7.0]


def test_a_collector_that_stays_busy_is_said(
    collecting: Callable[[Answer], list[RawBatch]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing.time, "sleep", lambda _: None)
    collecting(lambda *_: (503, {"Retry-After": "soon"}))

    with pytest.raises(StoreError, match=r"answered 503 to .*: see its log"):
        imported(tmp_path, spans(1))


def test_a_collector_that_goes_away_is_said_with_what_to_do() -> None:
    with pytest.raises(StoreError, match=r"does not answer .*importing again stores nothing twice"):
        importing._post("http://127.0.0.1:1/v1/traces", b"")


def test_large_requests_are_not_put_together() -> None:
    def raw(size: int) -> RawBatch:
        return otlp.decode("traces", spans(1, size).SerializeToString(), "protobuf", "default")

    batches = list(importing.grouped([raw(10), raw(10), raw(9_000_000), raw(5_000_000), raw(5_000_000), raw(10)]))

    assert [len(batch.spans) for batch in batches] == [2, 1, 1, 2]
