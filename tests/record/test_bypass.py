import asyncio
import socket
import subprocess
import sys
import threading

import pytest
from opentelemetry import context, trace

import runreel.record as rr
from record_kit import exporter, run_of
from runreel.record import bypass


@pytest.fixture
def spans():
    bypass.install()
    return exporter()


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def reach(port, host="localhost"):
    with socket.create_connection((host, port)):
        pass


def gaps(spans):
    return [gap for gap in run_of(spans).gaps if gap.cause.startswith("bypassed_boundary")]


def test_a_connection_outside_of_any_call_is_noted_by_its_host_once(spans, listener):
    with rr.run():
        reach(listener)
        reach(listener)

    (gap,) = gaps(spans)
    assert (gap.cause, gap.step, gap.needed_for) == ("bypassed_boundary(localhost)", 0, "diagnose")
    assert "runreel.record.tool" in gap.fix


@pytest.mark.parametrize("boundary", ["tool", "memory", "model", "retriever"])
def test_a_connection_inside_of_a_call_is_none_of_it(spans, listener, boundary):
    decorate = {
        "tool": rr.tool,
        "memory": rr.memory("m"),
        "model": rr.model("m"),
        "retriever": rr.retriever("r"),
    }[boundary]

    with rr.run():
        decorate(reach)(listener)

    assert gaps(spans) == []


def test_an_exporters_connection_is_none_of_it(spans, listener):
    with rr.run():
        token = context.attach(context.set_value("suppress_instrumentation", True))
        reach(listener)
        context.detach(token)

    assert gaps(spans) == []


def test_without_a_run_and_in_other_threads_nothing_is_noted(spans, listener):
    reach(listener)
    with rr.run():
        thread = threading.Thread(target=reach, args=(listener,))
        thread.start()
        thread.join()

    assert gaps(spans) == []


def test_an_address_without_a_name_is_noted_as_it_is_and_tasks_are_watched(spans, listener):
    async def main():
        loop = asyncio.get_running_loop()
        with socket.socket() as one:
            one.setblocking(False)
            await loop.sock_connect(one, ("127.0.0.1", listener))

    with rr.run():
        asyncio.run(main())

    assert [gap.cause for gap in gaps(spans)] == ["bypassed_boundary(127.0.0.1)"]


def test_a_local_socket_is_no_host(spans, tmp_path):
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client, rr.run():
        server.bind(str(tmp_path / "s"))
        server.listen()
        client.connect(str(tmp_path / "s"))

    assert gaps(spans) == []


def test_a_host_that_a_model_span_names_is_no_bypass_whenever_it_was_connected_to(spans, listener):
    with rr.run():
        reach(listener)
        bypass.served("localhost")

    assert gaps(spans) == []


def test_configure_watches_and_a_refused_connection_fails_as_it_always_does():
    code = """
import socket, runreel.record as rr
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, ConsoleSpanExporter
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
trace.set_tracer_provider(provider)
rr.configure(agent="a")
with rr.run():
    with trace.get_tracer("openai").start_as_current_span("chat", attributes={"gen_ai.operation.name": "x"}) as span:
        span.set_attribute("server.address", "127.0.0.1")
    for host in ("127.0.0.1", "localhost"):
        try:
            socket.create_connection((host, 9))
        except ConnectionRefusedError:
            print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.count("refused\n") == 2
    assert "localhost" in done.stdout.partition('"replay.run.bypassed"')[2].partition("]")[0]
    assert "127.0.0.1" not in done.stdout.partition('"replay.run.bypassed"')[2].partition("]")[0]


def test_what_cannot_be_noted_does_not_keep_the_agent_from_connecting(spans, listener, monkeypatch):
    def fail():
        raise RuntimeError("no span")

    monkeypatch.setattr(trace, "get_current_span", lambda *_: fail())
    before = rr.losses().get("bypassed", 0)
    token = bypass._hosts.set(bypass.Hosts())
    try:
        reach(listener)
    finally:
        bypass._hosts.reset(token)

    assert rr.losses()["bypassed"] > before
