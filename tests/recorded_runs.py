"""Recorded runs for tests of replay: from captures of real clients, and made by hand with the builders."""

import gzip
from pathlib import Path

from otlp_build import ROOT, agent, llm, msg, req, tool
from runreel import otlp
from runreel.processors.redact import TenantKey
from runreel.runs.assemble import assemble
from runreel.values import RawBatch

KEY = TenantKey("test", b"k" * 32)
CAPTURES = Path(__file__).parent / "data" / "captures"


def batch_of(capture):
    """Decode every request of a capture, as it was sent."""
    spans, logs = [], []
    for file in sorted((CAPTURES / capture).iterdir()):
        if file.suffix not in (".bin", ".body"):
            continue
        data = file.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        signal, encoding = otlp.sniff(data)
        batch = otlp.decode(signal, data, encoding, "default")
        spans += batch.spans
        logs += batch.logs
    return RawBatch("default", tuple(spans), tuple(logs))


def run_of_capture(capture, clean=None):
    """Assemble the run of a capture, through a redactor where one is given."""
    batch = batch_of(capture)
    if clean is not None:
        batch = clean(batch)
    return assemble(batch.spans, batch.logs)


def run_of(*spans, **resource):
    """Assemble spans made with otlp_build, below a root of their own."""
    request = req(agent(), *spans, **resource)
    return assemble(otlp.decode("traces", request.SerializeToString(), "protobuf", "default").spans)


def model_step(number, asked, answered, at, **attributes):
    """One model call: `asked` are the messages, `answered` the parts of its answer."""
    about = {"gen_ai.request.temperature": 0, "gen_ai.request.seed": 7, **attributes}
    return llm(f"00000000000000b{number}", ROOT, asked, [msg("assistant", *answered)], at=at, **about)


def tool_step(number, name, arguments, result, at, call_id="", **attributes):
    return tool(f"00000000000000c{number}", ROOT, name, arguments, result, id=call_id, at=at, **attributes)
