"""The soak: what is sent is counted at both ends, and what a collector does over time is summed up."""

import json
import queue
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import soak

from runreel.demo.model_server import in_thread


class _Answers(BaseHTTPRequestHandler):
    statuses: "queue.SimpleQueue[int]"

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        try:
            status = self.statuses.get_nowait()
        except queue.Empty:
            status = 200
        self.send_response(status)
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def statuses() -> "queue.SimpleQueue[int]":
    return queue.SimpleQueue()


@pytest.fixture
def address(statuses: "queue.SimpleQueue[int]") -> Iterator[str]:
    handler = type("Handler", (_Answers,), {"statuses": statuses})
    with in_thread(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.server_address[1]}"


class _Bodies:
    """Always the same request, of ten spans."""

    def get(self, timeout: float) -> soak.Body:
        return b"a request", 10


def _sender(address: str) -> soak.Sender:
    bodies: Any = _Bodies()
    return soak.Sender(address, bodies)


def test_a_request_that_is_to_come_again_is_sent_again_and_counts_once(
    address: str, statuses: "queue.SimpleQueue[int]"
) -> None:
    for status in (503, 429, 503):
        statuses.put(status)
    sender = _sender(address)

    sender.send_for(0.2, rate=None)

    assert sender.retried == 3
    assert sender.acknowledged > 0
    assert sender.acknowledged % 10 == 0


def test_a_request_that_is_refused_for_good_ends_the_soak(address: str, statuses: "queue.SimpleQueue[int]") -> None:
    statuses.put(400)

    with pytest.raises(RuntimeError, match="answered with 400"):
        _sender(address).send_for(5.0, rate=None)


def test_no_more_is_sent_than_the_rate(address: str) -> None:
    sender, started = _sender(address), time.monotonic()

    sender.send_for(1.0, rate=100.0)

    # Each of the senders may have one request under way beyond the end; a second's worth may be sent at once.
    assert 10 <= sender.acknowledged <= 100 * (1 + time.monotonic() - started) + 10 * soak._SENDERS


def test_memory_is_judged_by_its_second_half() -> None:
    warming = [soak.Sample(at, 100 + 10 * at, 5) for at in range(10)]
    after = [soak.Sample(at, 200 + at / 3600, 5) for at in range(10, 20)]

    assert soak.slope_per_hour([*warming, *after]) == pytest.approx(1.0)
    assert soak.slope_per_hour(warming[:1]) == 0.0


@pytest.mark.parametrize(
    ("name", "part"),
    [("202611_1_5_1", True), ("all_3_3_0", True), ("202611_1_5_1_9", True), ("detached", False), ("tmp_insert", False)],
)
def test_parts_are_told_from_other_folders(name: str, part: bool) -> None:
    assert bool(soak._PART.fullmatch(name)) is part


def test_a_short_soak_of_the_collector_is_exact(tmp_path: Path) -> None:
    output = tmp_path / "soak.json"

    status = soak.main(["--minutes", "0.05", "--rate", "200", "--measure", "1", "--output", str(output)])

    told = json.loads(output.read_text(encoding="utf-8"))
    assert status == 0
    assert told["exact"] is True
    assert told["spans"] == told["ledger_stored"] == told["rows"] > 0
    assert told["memory_end_mb"] > 50
    assert told["parts_end"] > 0
