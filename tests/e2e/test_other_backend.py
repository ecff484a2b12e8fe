"""A run goes on into another OTLP backend: Phoenix, where an interpreter that has it is named.

python -m venv /tmp/phoenix && /tmp/phoenix/bin/pip install arize-phoenix
RUNREEL_PHOENIX_PYTHON=/tmp/phoenix/bin/python pytest tests/e2e/test_other_backend.py
"""

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from e2e_kit import CAPTURES, runreel
from runreel import otlp

VARIABLE = "RUNREEL_PHOENIX_PYTHON"
PATIENCE_S = 180.0
# What Phoenix makes of the kinds that a sender wrote: it knows those of OpenInference, and reads OpenTelemetry's.
KINDS = {
    "langgraph/openinference": {"AGENT": 1, "CHAIN": 6, "LLM": 3, "TOOL": 3},
    "openai-agents/openinference": {"AGENT": 2, "CHAIN": 4, "LLM": 3, "TOOL": 3},
    "pydantic-ai/content-on": {"AGENT": 1, "LLM": 3, "TOOL": 3},
    "otel-genai-openai/content-span": {"AGENT": 1, "LLM": 3, "TOOL": 3},
}
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def test_it_says_why_it_is_skipped_where_no_phoenix_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)

    with pytest.raises(pytest.skip.Exception, match=VARIABLE):
        interpreter()


def interpreter() -> str:
    """Return the interpreter that has Phoenix, or skip."""
    named = os.environ.get(VARIABLE)
    if not named:
        pytest.skip(f"{VARIABLE} names no interpreter that has arize-phoenix")
    found = subprocess.run(
        [named, "-c", "import importlib.util as u, sys; sys.exit(u.find_spec('phoenix') is None)"],
        check=False,
        timeout=60,
    )
    if found.returncode:
        pytest.skip(f"{named}, which {VARIABLE} names, has no arize-phoenix")
    return named


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running Phoenix on free ports, with nothing in it."""
    python = interpreter()
    folder = tmp_path_factory.mktemp("phoenix")
    http, grpc = free_port(), free_port()
    settings = {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(http),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [python, "-m", "phoenix.server.main", "serve"], env={**os.environ, **settings}, stdout=log, stderr=log
        )
        url = f"http://127.0.0.1:{http}"
        try:
            deadline = time.monotonic() + PATIENCE_S
            while not answers(url):
                said = (folder / "log").read_text(encoding="utf-8", errors="replace")
                assert process.poll() is None, said
                assert time.monotonic() < deadline, said
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()
            process.wait(60)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def answers(url: str) -> bool:
    try:
        return bool(get(f"{url}/v1/projects")["data"] is not None)
    except OSError:
        return False


def get(url: str) -> dict[str, Any]:
    with _OPENER.open(url, timeout=30) as answer:
        body: dict[str, Any] = json.load(answer)
        return body


def spans_of(url: str, trace_id: str, expected: int) -> list[Mapping[str, Any]]:
    """Return what Phoenix has of a trace, once it has as many spans as expected."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = [
            span
            for span in get(f"{url}/v1/projects/default/spans?limit=1000")["data"]
            if span["context"]["trace_id"] == trace_id
        ]
        if len(found) >= expected:
            return found
        assert time.monotonic() < deadline, f"{expected} spans expected, found {found}"
        time.sleep(0.2)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_run_exported_as_otlp_shows_in_another_backend_span_for_span(name: str, phoenix: str, tmp_path: Path) -> None:
    runreel(tmp_path / "home", "runs", "import", CAPTURES / name)
    exported = tmp_path / "run.bin"
    runreel(tmp_path / "home", "runs", "export", "last", "--format", "otlp", "--output", exported)
    sent = otlp.decode("traces", exported.read_bytes(), "protobuf", "default").spans
    (trace_id,) = {span.key.trace_id for span in sent}

    kind = {"Content-Type": "application/x-protobuf"}
    with _OPENER.open(
        urllib.request.Request(f"{phoenix}/v1/traces", exported.read_bytes(), kind), timeout=30
    ) as answer:
        assert answer.status == 200

    shown = spans_of(phoenix, trace_id, len(sent))
    assert {(one["context"]["span_id"], one["parent_id"], one["name"]) for one in shown} == {
        (span.key.span_id, span.parent_id, span.name) for span in sent
    }
    assert Counter(one["span_kind"] for one in shown) == KINDS[name]
