"""What is no OTLP request is refused whole, and nothing of it is echoed."""

import pytest

from codec_kit import deep
from otlp_build import ROOT, agent, req, tool
from runreel import otlp
from runreel.errors import DecodeError

SECRET = "dana.fields@example.com"
BROKEN = [
    ("json", b"{not json " + SECRET.encode()),
    ("json", b'{"resourceSpans": ["' + SECRET.encode() + b'"]}'),
    ("json", b'{"resourceSpans": {"a": "' + SECRET.encode() + b'"}}'),
    ("json", b'{"resourceSpans": [{"scopeSpans": 7}]}'),
    ("json", b'{"resourceSpans": [{"resource": {"attributes": [{"key": 5}]}}]}'),
    ("json", b'["' + SECRET.encode() + b'"]'),
    ("json", b"[" * 100_000),
    ("json", b'{"a": ' + b"9" * 5000 + b"}"),
    ("json", b""),
    ("json", b"\xff\xfe\x00"),
    ("protobuf", b"\x0a\xff"),
    ("protobuf", SECRET.encode()),
    ("protobuf", b'{"resourceSpans": []}'),
    ("protobuf", b"\x0a\x05ab"),
    ("protobuf", b"\x00"),
    ("protobuf", b"\x0a" + b"\xff" * 12),
]


@pytest.mark.parametrize(("encoding", "data"), BROKEN)
@pytest.mark.parametrize("signal", ["traces", "logs"])
def test_what_is_no_request_is_refused_without_an_echo(
    signal: otlp.Signal, encoding: otlp.Encoding, data: bytes
) -> None:
    data = (
        data.replace(b"resourceSpans", b"resourceLogs").replace(b"scopeSpans", b"scopeLogs")
        if signal == "logs"
        else data
    )

    with pytest.raises(DecodeError) as caught:
        otlp.decode(signal, data, encoding, "default")

    assert caught.value.code == "malformed"
    assert len(str(caught.value)) < 300
    assert SECRET not in str(caught.value)


def test_a_request_that_breaks_off_is_refused() -> None:
    whole = req(agent(), tool("00000000000000c1", ROOT, "ping", {}, "ok")).SerializeToString()

    refused = 0
    for length in range(1, len(whole), 7):
        with pytest.raises(DecodeError):
            otlp.decode("traces", whole[:length], "protobuf", "default")
        refused += 1

    assert refused > 40


def test_a_resource_that_cannot_be_taken_refuses_the_request() -> None:
    request = req(agent(), res={"deep": deep(otlp.MAX_DEPTH + 1)})

    with pytest.raises(DecodeError, match="nested"):
        otlp.decode("traces", request.SerializeToString(), "protobuf", "default")
