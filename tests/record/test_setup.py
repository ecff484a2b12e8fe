import json
import os
import subprocess
import sys
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from record_kit import http_receiver
from runreel import otlp
from runreel.runs.assemble import assemble

AGENT = Path(__file__).with_name("recorded_agent.py")


def run_agent(*arguments, **environ):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "RUNREEL_"))}
    done = subprocess.run(
        [sys.executable, AGENT, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**clean, **environ},
        cwd=AGENT.parent,
    )
    assert done.returncode == 0, done.stderr
    return done


@contextmanager
def grpc_receiver():
    got = []

    def export(request, context):
        got.append(("grpc", "application/grpc", request))
        return b""

    method = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

    class Handler(grpc.GenericRpcHandler):
        def service(self, details):
            return grpc.unary_unary_rpc_method_handler(export) if details.method == method else None

    server = grpc.server(futures.ThreadPoolExecutor(1), handlers=[Handler()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}", got
    finally:
        server.stop(None).wait()


@pytest.mark.parametrize(
    ("protocol", "receiver", "path", "encoding"),
    [
        ("http/protobuf", http_receiver, "/v1/traces", "protobuf"),
        ("http/json", http_receiver, "/v1/traces", "json"),
        ("grpc", grpc_receiver, "grpc", "protobuf"),
    ],
)
def test_spans_are_exported_at_exit_over_the_protocol_of_the_environment(protocol, receiver, path, encoding):
    with receiver() as (endpoint, got):
        done = run_agent("configured", endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol)

    assert [where for where, _, _ in got] == [path]
    run = assemble(otlp.decode("traces", got[0][2], encoding, "default").spans)
    assert run.run_id == done.stdout.split()[0]
    assert (run.agent_id, run.versions["code_version"]) == ("parcel-desk", "abc1234")
    assert run.value(run.final_output) == "P-1 is on its way"
    assert [(step.kind, step.name) for step in run.steps] == [("agent", "parcel-desk"), ("tool", "track")]
    assert run.service["service.name"] == "parcel-desk"


def test_the_record_says_how_the_agent_was_started():
    with http_receiver() as (endpoint, got):
        run_agent("configured", endpoint, OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf")

    (span, *_) = otlp.decode("traces", got[0][2], "protobuf", "default").spans
    assert span.resource.attributes["process.command_args"][-1] == endpoint
    entries = [
        span.attributes.get("replay.agent.entry") for span in otlp.decode("traces", got[0][2], "protobuf", "x").spans
    ]
    assert "recorded_agent.py" in entries


def test_an_applications_own_provider_is_used_and_its_spans_get_the_runs_id():
    done = run_agent("own-provider")

    text, _, last = done.stdout.rstrip().rpartition("\n")
    decoder, spans = json.JSONDecoder(), []
    while text.strip():
        span, end = decoder.raw_decode(text := text.lstrip())
        spans.append(span)
        text = text[end:]
    assert [span["name"] for span in spans] == ["execute_tool track", "invoke_agent parcel-desk"]
    assert {span["attributes"]["replay.run.id"] for span in spans} == {last.split()[0]}
    assert {span["resource"]["attributes"]["service.name"] for span in spans} == {"mine"}


def test_without_an_exporter_the_agent_runs_on_and_is_told():
    done = run_agent("configured", OTEL_EXPORTER_OTLP_PROTOCOL="carrier-pigeon")

    assert "nothing is recorded: no OTLP exporter" in done.stderr
    assert "'exporter': 1" in done.stdout


def test_a_collector_that_is_not_there_does_not_stop_the_agent():
    done = run_agent(
        "configured", "http://127.0.0.1:9", OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf", OTEL_EXPORTER_OTLP_TIMEOUT="1"
    )

    assert done.stdout.rstrip().endswith("{}")


def test_importing_the_recorder_loads_a_short_list_and_nothing_heavier():
    code = "import sys; before = set(sys.modules); import runreel.record; print(*(set(sys.modules) - before))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    loaded = set(done.stdout.split())
    others = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    assert others == {"opentelemetry", "runreel", "typing_extensions"}
    packages = {".".join(name.split(".")[:2]) for name in loaded if name.startswith(("opentelemetry", "runreel"))}
    assert packages == {
        "opentelemetry",
        "opentelemetry.attributes",
        "opentelemetry.baggage",
        "opentelemetry.context",
        "opentelemetry.environment_variables",
        "opentelemetry.propagators",
        "opentelemetry.trace",
        "opentelemetry.util",
        "runreel",
        "runreel.canonical",
        "runreel.errors",
        "runreel.quarantined",
        "runreel.record",
        "runreel.semconv",
        "runreel.values",
    }
    assert loaded.isdisjoint({"asyncio", "ssl", "http.client", "urllib.request", "multiprocessing", "sqlite3"})
    assert len([name for name in loaded if name.startswith("runreel")]) < 50
