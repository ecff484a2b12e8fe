import asyncio
import concurrent.futures
import json
import os
import socket
import stat
import threading

import grpc
import pytest

import otlp_build as build
from collector_kit import CONFIG, NoRuns, Plain, Store, ask, collector, event_loop, until
from runreel.collector import config
from runreel.collector.pipeline import Route
from runreel.collector.service import Parts, Service
from runreel.errors import LockedError, RetryableError, StoreError, UsageError
from runreel.runs import discovery
from runreel.runs.discovery import Collector

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
HEALTH = CONFIG.replace("{read_api: }", "{read_api: , health_check: {endpoint: '127.0.0.1:PORT'}}").replace(
    "[read_api]", "[read_api, health_check]"
)


def body(n):
    return build.req(build.agent(sid=f"{n:016x}")).SerializeToString()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_it_writes_where_it_listens_for_its_owner_and_takes_the_file_away(tmp_path):
    home = tmp_path / "new" / "home"
    with collector(home, Store()) as running:
        found = discovery.find(home, say=pytest.fail)

        assert found == running.at
        assert found.pid == os.getpid()
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        assert stat.S_IMODE((home / discovery.FILE).stat().st_mode) == 0o600
        assert json.loads((home / discovery.FILE).read_text())["otlp_grpc"] == running.grpc

    assert not (home / discovery.FILE).exists()


def test_health_is_answered_from_start_to_stop(tmp_path):
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    seen = []

    with collector(tmp_path, Store(), HEALTH.replace("PORT", str(port))) as running:
        seen.append(ask(url).status)
        running.service._health[0].ready = False
        seen.append(ask(url).status)

    assert seen == [200, 503]
    with pytest.raises(OSError, match="refused"):
        ask(url)


def test_a_second_collector_on_the_same_folder_is_refused(tmp_path):
    with (
        collector(tmp_path, Store()) as running,
        pytest.raises(LockedError, match=f"a collector \\(process {os.getpid()}\\) runs on {tmp_path} already"),
        collector(tmp_path, Store()),
    ):
        pass

    assert running.at.pid == os.getpid()


def test_a_stale_file_is_said_and_replaced(tmp_path, caplog):
    discovery.write(tmp_path, Collector(2**22 + 1, "then", None, None, "http://127.0.0.1:1", "old"))

    with collector(tmp_path, Store()) as running:
        assert discovery.read(tmp_path).token == running.at.token != "old"

    assert f"its process {2**22 + 1} is gone" in caplog.text


def test_a_data_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "home").write_text("")

    with (
        pytest.raises(StoreError, match=r"cannot use the data folder .*home: .*; set RUNREEL_HOME"),
        collector(tmp_path / "home", Store()),
    ):
        pass


@pytest.mark.parametrize("part", ["http", "api"])
def test_a_taken_port_stops_the_start_before_any_store_opens(tmp_path, part):
    store = Store()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        endpoint = f"127.0.0.1:{taken.getsockname()[1]}"
        old = 'http: {endpoint: "127.0.0.1:0"}' if part == "http" else "{read_api: }"
        new = f"http: {{endpoint: '{endpoint}'}}" if part == "http" else f"{{read_api: {{endpoint: '{endpoint}'}}}}"

        with (
            pytest.raises(UsageError, match=f"{endpoint} is in use by process {os.getpid()}"),
            collector(tmp_path, store, CONFIG.replace(old, new)),
        ):
            pass

    assert store.started == 0
    assert not (tmp_path / discovery.FILE).exists()


def test_what_was_started_is_stopped_when_a_later_part_fails(tmp_path):
    store = Store()
    broken = Store()
    broken.start = lambda: (_ for _ in ()).throw(StoreError("cannot open the store"))

    def parts(loaded, _):
        return Parts({"traces": Route(Plain(), {"store": store, "broken": broken})}, NoRuns())

    with event_loop() as loop:
        service = Service(config.parse(CONFIG, "test", {}), tmp_path, parts)
        with pytest.raises(StoreError, match="cannot open the store"):
            asyncio.run_coroutine_threadsafe(service.start(), loop).result(30)
        asyncio.run_coroutine_threadsafe(service.stop(), loop).result(30)

    assert (store.started, store.stopped, broken.stopped) == (1, 1, 1)
    assert not (tmp_path / discovery.FILE).exists()


def test_stop_finishes_what_is_in_flight_on_both_transports(tmp_path):
    processed, go_on = threading.Semaphore(0), threading.Event()

    class Counting(Plain):
        def process(self, batch):
            processed.release()
            return super().process(batch)

    store = Store(hook=lambda _: go_on.wait(30))
    with collector(tmp_path, store, chain=Counting()) as running, concurrent.futures.ThreadPoolExecutor() as pool:
        web = pool.submit(ask, f"{running.http}/v1/traces", body(1))
        channel = grpc.insecure_channel(running.grpc)
        rpc = channel.unary_unary(TRACES).future(body(2))
        assert processed.acquire(timeout=30)
        assert processed.acquire(timeout=30)
        stopping = pool.submit(running.stop)
        until(lambda: not (tmp_path / discovery.FILE).exists())
        go_on.set()

        assert web.result(30).status == 200
        assert rpc.result(30) == b""
        stopping.result(60)
        channel.close()

    assert len(store.spans) == 2
    assert store.stopped == 1


def test_a_store_that_was_down_has_every_request_once_when_clients_have_come_back(tmp_path):
    down = threading.Event()
    down.set()

    def hook(_):
        if down.is_set():
            raise RetryableError("down", 0.1)

    store = Store(hook=hook)
    with collector(tmp_path, store) as running:
        refused = [ask(f"{running.http}/v1/traces", body(n)).status for n in range(1, 6)]
        down.clear()
        taken = [ask(f"{running.http}/v1/traces", body(n)).status for n in range(1, 6)]

    assert (refused, taken) == ([503] * 5, [200] * 5)
    assert sorted(span.key.span_id for span in store.spans) == [f"{n:016x}" for n in range(1, 6)]


def test_a_signal_without_a_pipeline_is_not_served(tmp_path):
    text = CONFIG[: CONFIG.index("    logs: {receivers")]

    with collector(tmp_path, Store(), text) as running, grpc.insecure_channel(running.grpc) as channel:
        assert ask(f"{running.http}/v1/logs", b"").status == 404
        with pytest.raises(grpc.RpcError) as refused:
            channel.unary_unary(TRACES.replace("trace", "logs").replace("Trace", "Logs"))(b"")

    assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_a_protocol_that_is_not_named_is_off(tmp_path):
    text = CONFIG.replace('      grpc: {endpoint: "127.0.0.1:0"}\n', "")

    with collector(tmp_path, Store(), text) as running:
        assert running.at.otlp_grpc is None
        assert ask(f"{running.http}/v1/traces", body(1)).status == 200
