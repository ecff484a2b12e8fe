"""How records are sent to a running collector: again when it is busy, in halves when it is full, with the token."""

import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import otlp_build as build
from runreel import otlp
from runreel.errors import StoreError
from runreel.runs import sending
from runreel.runs.discovery import Collector
from runreel.runs.sending import Sender
from runreel.values import RawBatch

Answer = Callable[[int, int], tuple[int, Mapping[str, str]]]
"""(which request, its size) -> status and headers."""


class Collecting:
    """A collector that answers as a test wants, and what it has taken."""

    def __init__(self, answer: Answer) -> None:
        self.taken: list[RawBatch] = []
        self.tokens: set[str | None] = set()
        asked: list[int] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                asked.append(len(body))
                outer.tokens.add(self.headers["Authorization"])
                status, headers = answer(len(asked), len(body))
                if status == 200:
                    signal: otlp.Signal = "traces" if self.path == "/v1/traces" else "logs"
                    outer.taken.append(otlp.decode(signal, body, "protobuf", "default"))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def send(self, batch: RawBatch) -> list[str]:
        """Send a batch; return what was lost."""
        lost: list[str] = []
        sender = Sender(Collector(1, "now", None, self.url, self.url, "token"), lost.append)
        sender.take(batch)
        sender.close()
        return lost

    @property
    def ids(self) -> list[str]:
        return [span.key.span_id for batch in self.taken for span in batch.spans]


@pytest.fixture
def collecting() -> Iterator[Callable[[Answer], Collecting]]:
    made: list[Collecting] = []

    def make(answer: Answer) -> Collecting:
        made.append(Collecting(answer))
        return made[-1]

    yield make
    for one in made:
        one.server.shutdown()
        one.server.server_close()


@pytest.mark.parametrize("status", [401, 403])
def test_a_receiver_that_refuses_the_token_is_said_with_where_it_comes_from(collecting, status: int) -> None:
    url = collecting(lambda *_: (status, {})).url
    sender = Sender(Collector(1, "now", None, url, url, "a-secret"), print, "RUNREEL_TOKEN")

    with pytest.raises(StoreError, match=f"token from RUNREEL_TOKEN .{status}.*read API") as caught:
        sender.take(batch())

    assert "a-secret" not in str(caught.value)


def batch(*more: build.Span, count: int = 1, size: int = 1) -> RawBatch:
    tools = [build.tool(f"{one + 1:016x}", build.ROOT, "t", {"n": one}, "x" * size) for one in range(count)]
    return otlp.decode("traces", build.req(*tools, *more).SerializeToString(), "protobuf", "default")


def test_spans_and_log_events_go_with_the_token(collecting: Callable[[Answer], Collecting]) -> None:
    found = collecting(lambda *_: (200, {}))
    spans = batch(count=2)
    logs = otlp.decode("logs", build.logs_req(build.log("e", build.ROOT)).SerializeToString(), "protobuf", "default")

    lost = found.send(RawBatch("default", spans.spans, logs.logs))

    assert (lost, len(found.ids), [len(one.logs) for one in found.taken]) == ([], 2, [0, 1])
    assert found.tokens == {"Bearer token"}


def test_a_request_that_is_too_large_goes_in_halves_and_each_span_once(
    collecting: Callable[[Answer], Collecting],
) -> None:
    found = collecting(lambda _, size: (413 if size > 3000 else 200, {}))

    lost = found.send(batch(count=7, size=1000))

    assert found.ids == [f"{one:016x}" for one in range(1, 8)]
    assert lost == []


def test_one_span_that_is_too_large_is_named_and_the_others_are_taken(
    collecting: Callable[[Answer], Collecting],
) -> None:
    found = collecting(lambda _, size: (413 if size > 3000 else 200, {}))

    (said,) = found.send(batch(build.tool("00000000000000ff", build.ROOT, "t", {}, "x" * 5000), count=3))

    assert found.ids == [f"{one:016x}" for one in range(1, 4)]
    assert said.startswith(f"span 00000000000000ff of trace {build.TID}: ")
    assert "max_request_body_size" in said


def test_a_busy_collector_is_asked_again_when_it_says(
    collecting: Callable[[Answer], Collecting], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(sending.time, "sleep", waited.append)
    found = collecting(lambda number, _: (503, {"Retry-After": "7"}) if number < 3 else (200, {}))

    found.send(batch(count=2))

    assert len(found.ids) == 2
    assert waited == [7.0, 7.0]


def test_a_collector_that_stays_busy_is_said(
    collecting: Callable[[Answer], Collecting], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending.time, "sleep", lambda _: None)

    with pytest.raises(StoreError, match=r"answered 503 to .*: see its log"):
        collecting(lambda *_: (503, {"Retry-After": "soon"})).send(batch())


def test_nothing_is_sent_on_to_where_an_answer_points(collecting: Callable[[Answer], Collecting]) -> None:
    elsewhere = collecting(lambda *_: (200, {}))

    with pytest.raises(StoreError, match="answered 307"):
        collecting(lambda *_: (307, {"Location": f"{elsewhere.url}/v1/traces"})).send(batch())

    assert elsewhere.tokens == set()


def test_a_collector_that_goes_away_is_said_with_what_to_do() -> None:
    gone = Collector(1, "now", None, "http://127.0.0.1:1", "http://127.0.0.1:1", "token")

    with pytest.raises(StoreError, match=r"does not answer .*importing again stores nothing twice"):
        Sender(gone, print).take(batch())


def test_a_collector_without_a_receiver_for_it_is_said() -> None:
    with pytest.raises(StoreError, match=r"no OTLP/HTTP receiver, and holds the store"):
        Sender(Collector(1, "now", "127.0.0.1:1", None, "http://127.0.0.1:1", "token"), print)
