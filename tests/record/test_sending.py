import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from otlp_sink import receiving
from runreel.demo.model_server import in_thread
from runreel.record import sending
from runreel.record.sending import Leaving, Outbox, within

AGENT = Path(__file__).with_name("outage_agent.py")


@contextmanager
def started(endpoint, *arguments, **more):
    """Start the agent; it ends once it is told to."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "RUNREEL_"))}
    environment = {
        **clean,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
        "OTEL_BSP_SCHEDULE_DELAY": "1",
        "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1",
        **more,
    }
    pipe = subprocess.PIPE
    agent = subprocess.Popen(
        [sys.executable, AGENT, endpoint, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment
    )
    try:
        yield agent
    finally:
        agent.kill()
        agent.wait()
        for stream in (agent.stdin, agent.stdout, agent.stderr):
            stream.close()


def results(agent):
    """Return what the agent printed up to its last word; a blocked agent never says it."""
    lines = []
    while lines[-1:] != ["finished\n"]:
        lines.append(agent.stdout.readline())
        assert lines[-1], agent.stderr.read()
    return lines


def ended(agent):
    """Let the agent end; return what it said of its losses."""
    _, said = agent.communicate("\n", timeout=60)
    assert agent.returncode == 0, said
    return said


@contextmanager
def collector(status=200):
    """Yield the endpoint of a collector that answers so, once the event is set; and the event, and what came."""
    answer, came = threading.Event(), []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            came.append(self.rfile.read(int(self.headers["content-length"])))
            answer.wait(60)
            try:
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()
            except OSError:
                came.append(b"")  # the agent has not waited

        def log_message(self, *args):
            """Say nothing."""

    with in_thread(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        try:
            yield f"http://127.0.0.1:{server.server_port}", answer, came
        finally:
            answer.set()


@contextmanager
def nobody():
    """Yield an endpoint that nobody listens at: the port is taken, and not served."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture(scope="module")
def healthy():
    with receiving() as (endpoint, batch), started(endpoint) as agent:
        lines = results(agent)
        assert ended(agent) == "lost 0\n"
        assert len(batch().spans) == 25
    return lines


def test_with_the_collector_away_the_agent_does_the_same_and_the_spans_are_counted(healthy):
    with nobody() as endpoint, started(endpoint, OTEL_BSP_MAX_EXPORT_BATCH_SIZE="512") as agent:
        assert results(agent) == healthy
        ended(agent)

    with nobody() as endpoint, started(endpoint, "flush", OTEL_BSP_MAX_EXPORT_BATCH_SIZE="512") as agent:
        assert results(agent) == healthy
        assert "lost 25" in ended(agent)


@pytest.mark.parametrize("status", [400, 401, 503])
def test_with_a_collector_that_refuses_the_agent_does_the_same_and_the_spans_are_counted(healthy, status):
    with collector(status) as (endpoint, answer, _):
        answer.set()
        with started(endpoint, "flush", OTEL_BSP_MAX_EXPORT_BATCH_SIZE="512") as agent:
            assert results(agent) == healthy
            assert "lost 25" in ended(agent)


def test_a_collector_that_does_not_answer_does_not_hold_the_agent_up(healthy):
    with collector() as (endpoint, answer, came), started(endpoint, OTEL_EXPORTER_OTLP_TIMEOUT="60") as agent:
        assert results(agent) == healthy  # nothing has been answered so far
        assert not answer.is_set()
        answer.set()
        assert ended(agent) == "lost 0\n"
        assert len(came) >= 25


def test_a_collector_that_never_answers_does_not_keep_the_agent_from_ending(healthy):
    never = {"OTEL_EXPORTER_OTLP_TIMEOUT": "60", "RUNREEL_EXIT_TIMEOUT": "0.2"}
    with collector() as (endpoint, answer, _), started(endpoint, **never) as agent:
        assert results(agent) == healthy
        assert "ended before its collector answered" in ended(agent)
        assert not answer.is_set()


def test_what_a_full_queue_drops_is_counted(healthy):
    never = {"OTEL_EXPORTER_OTLP_TIMEOUT": "60", "RUNREEL_EXIT_TIMEOUT": "0.2", "OTEL_BSP_MAX_QUEUE_SIZE": "4"}
    with collector() as (endpoint, _, _), started(endpoint, **never) as agent:
        assert results(agent) == healthy
        found = re.search(r"^lost (\d+)$", ended(agent), re.MULTILINE)
    # One or two are on their way, four wait.
    assert 25 - 6 <= int(found[1]) <= 25 - 4


def test_an_outbox_counts_what_waits():
    box = Outbox(2)
    for _ in range(3):
        box.put()

    assert box.waiting == 2
    box.take(5)
    assert box.waiting == 0


def test_what_takes_too_long_is_left_alone():
    never = threading.Event()

    assert within(5.0, lambda: None)
    assert not within(0.0, never.wait)
    never.set()


def test_what_is_left_to_do_at_the_end_has_its_thread_ready_and_is_left_alone_after_its_time():
    never, done = threading.Event(), []

    assert Leaving(lambda: done.append(1)).within(5.0)
    assert done == [1]
    assert not Leaving(never.wait).within(0.0)
    never.set()


def test_the_last_spans_are_sent_where_no_thread_can_be_started_any_more():
    agent = (
        "import atexit, threading\n"
        "from runreel.record.sending import Leaving\n"
        "leaving = Leaving(lambda: print('sent', flush=True))\n"
        "def end():\n"
        "    threading.Thread.start = None\n"  # as the interpreter does from 3.12 on
        "    assert leaving.within(30)\n"
        "atexit.register(end)\n"
    )

    assert subprocess.run([sys.executable, "-c", agent], capture_output=True, text=True).stdout == "sent\n"


@pytest.mark.parametrize(("said", "seconds"), [("0.5", 0.5), ("soon", 5.0), (None, 5.0)])
def test_the_time_at_exit_is_a_number_of_seconds_or_the_default(monkeypatch, said, seconds):
    monkeypatch.delenv("RUNREEL_EXIT_TIMEOUT", raising=False)
    if said is not None:
        monkeypatch.setenv("RUNREEL_EXIT_TIMEOUT", said)

    assert sending._exit_s() == seconds


@pytest.mark.parametrize(("said", "room"), [("16", 16), ("0", 2048), ("many", 2048)])
def test_the_queue_has_the_room_that_opentelemetrys_setting_says(monkeypatch, said, room):
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", said)

    assert sending._room() == room
