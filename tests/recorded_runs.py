"""Recorded runs for tests of replay: from captures of real clients, and made by hand with the builders."""

import gzip
from pathlib import Path

from otlp_build import ROOT, agent, call, llm, msg, req, tool
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


# --- an agent that asks a model once and calls one tool, as it was recorded, and what such an agent begins with ---

WEATHER = run_of(
    model_step(1, [msg("user", "q")], [call("get_weather", {"city": "Oslo"})], at=0),
    tool_step(1, "get_weather", {"city": "Oslo"}, {"temp_c": -3}, at=20, call_id="call_1"),
)

WITH_UNIT = run_of(
    model_step(1, [msg("user", "q")], [call("get_weather", {"city": "Oslo", "unit": "C"})], at=0),
    tool_step(1, "get_weather", {"city": "Oslo", "unit": "C"}, {"temp_c": -3}, at=20, call_id="call_1"),
)

ASK = """
import json, sys
import httpx

def ask(text):
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}], "temperature": 0, "seed": 7}
    response = httpx.post("https://gateway.example.com/v1/chat/completions", json=body)
    response.raise_for_status()
    return response.json()["choices"][0]["message"]

def run(tool, text="q"):
    call = ask(text)["tool_calls"][0]
    print(json.dumps(tool(**json.loads(call["function"]["arguments"]))))
"""
TOP_LEVEL_UNIT = ASK + "\ndef get_weather(city, unit): raise AssertionError('ran')\n"
