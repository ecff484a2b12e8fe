import base64
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from record_kit import http_receiver
from runreel import otlp

AGENT = Path(__file__).with_name("secrets_agent.py")
PLANTED = {
    "bearer": "eyJraWQiOiJ4In0.q8Zr2LmV0TnB7wXcY4Kd",
    "header": "Zk93hQx7Lw2PfVt8RbNc5Ym4",
    "cookie": "session=Uj4kTq9WzRp2Xn7VbLs6Ge3",
    "environment": "correct-horse-81Tq",
    "signature": "b5f1c0d7a9e34862f0c1b7d2e8a6934cf7d08123",
    "sas": "Qm9ndXNTaWduYXR1cmVWYWx1ZTEyMw%3D%3D",
    "key": "sk-proj-4fT9wQ2mZx7LpK8vRb3NcYd6HsJ1uGaE",
}


@pytest.fixture(scope="module")
def exported():
    """Return every exported byte of the agent, and its spans."""
    with http_receiver() as (endpoint, got):
        done = subprocess.run(
            [sys.executable, AGENT, endpoint, "--token", PLANTED["header"]],
            env={**os.environ, "PLANTED": json.dumps(PLANTED), "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
    bodies = [gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body for _, _, body in got]
    spans = [span for body in bodies for span in otlp.decode("traces", body, "protobuf", "default").spans]
    return b"".join(bodies), spans


@pytest.mark.parametrize("name", PLANTED)
def test_no_secret_is_in_any_exported_byte(exported, name):
    data, _ = exported
    value = PLANTED[name].partition("=")[2] or PLANTED[name]

    assert value.encode() not in data
    assert base64.b64encode(value.encode())[:-4] not in data


def test_everything_else_is_there(exported):
    data, spans = exported

    said = [b"files.example.com/r.pdf", b"fetched", b"/home/dana", b"give up", b"my key is", b"broken", b"RuntimeError"]
    assert [text for text in said if text not in data] == []
    assert len([span for span in spans if span.scope.name == "runreel.record"]) == 11
    assert data.count(b"<SECRET:") > 30


def test_spans_of_other_instrumentations_are_stripped_and_stay_what_they_are(exported):
    _, spans = exported

    (span,) = [span for span in spans if span.scope.name == "http.client"]
    assert json.loads(span.attributes["http.request.body"])["n"] == 1
    assert span.attributes["replay.run.id"] == spans[-1].attributes["replay.run.id"]
    assert (span.status, [event.name for event in span.events]) == (2, ["sent"])
    assert "files.example.com" in span.name
    assert "files.example.com" in span.message
