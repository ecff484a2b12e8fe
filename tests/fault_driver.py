"""Runs the desk agent in this process, edited as the fault table says, against its own record: replays without walls.

Started by test_faults.py in a process of its own, one for each base: instrumentation and transports stay patched. The
agent's code, its SDK, the recorder, the matching and the verdict are the real ones; what is left out is the sandboxed
child with its clock. Reads a pickled (base, faults, key) from standard input, writes a pickled outcome for each.
"""

import os

os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
os.environ["OPENAI_API_KEY"] = "no-key-needed"

import contextlib
import io
import pickle
import socket
import sys
import threading
from dataclasses import dataclass
from types import ModuleType

import opentelemetry.instrumentation.genai.openai as genai
from opentelemetry import context
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

import fault_table
from record_kit import exporter
from runreel import otlp
from runreel.canonical import dumps, loads
from runreel.demo.model_server import serving
from runreel.errors import DivergedError
from runreel.processors.redact import Redactor, TenantKey
from runreel.record import _active
from runreel.replay import outcome, tape, transports
from runreel.replay.boundaries import functions, recorder
from runreel.replay.diff import diff
from runreel.replay.host import Host
from runreel.replay.matching import Matcher
from runreel.replay.protocol import Channel, Frame, Link
from runreel.replay.sandbox import Isolation
from runreel.replay.unifying import Rules
from runreel.replay.wire.values import HttpResponse
from runreel.runs.assemble import assemble
from runreel.semconv.secrets import is_secret


@dataclass
class Asking:
    """The agent's end of the conversation: what the child does, without its clock."""

    link: Link

    def call(self, kind, name, arguments, *, call_id="", defaults=None):
        asked = {"arguments": arguments, "defaults": defaults or {}}
        head = {"kind": kind, "name": name, "call_id": call_id}
        reply = self.ask(Frame("call", head, dumps(asked).encode()))
        value = loads(reply.body.decode())
        if reply.get("how") == "raised":
            raise functions.FailedError(reply.get("error_type"), str(value))
        return value

    def http(self, request):
        head = {"method": request.method, "url": request.url, "headers": [list(pair) for pair in request.headers]}
        reply = self.ask(Frame("http", head, request.body))
        return HttpResponse(reply.get("status"), tuple(map(tuple, reply.get("headers"))), reply.body)

    def ask(self, frame):
        reply = self.link.ask(frame)
        if reply.get("how") == "diverged":
            raise DivergedError(reply.get("message"))
        if reply.get("how") == "refused":
            raise ConnectionRefusedError(reply.get("message"))
        return reply


class Driver:
    """Runs agents one after the other; `asking` is None while they are recorded."""

    def __init__(self, key):
        self.key, self.spans, self.asking = key, exporter(), None
        self.redactor = Redactor(TenantKey("test", key))

    def agent(self, sources):
        """Run an agent's `main`; return how it ended, and what it exported."""
        self.spans.clear()
        world = ModuleType("desk_world")
        exec(sources[fault_table.WORLD], world.__dict__)
        sys.modules["desk_world"] = world
        module = ModuleType("desk")
        how, error = "returned", ""
        token = context.attach(context.Context())
        try:
            exec(sources[fault_table.AGENT], module.__dict__)
            module.main()
        except SystemExit:
            how = "exit"
        except Exception as raised:
            how, error = "raised", type(raised).__name__
        finally:
            context.detach(token)
        return how, error, encode_spans(self.spans.get_finished_spans()).SerializeToString(), world

    def record(self, sources):
        """Run the agent against the scripted model; return the run, redacted."""
        world = ModuleType("desk_world")
        exec(sources[fault_table.WORLD], world.__dict__)
        with serving({"desk": world.MODEL}) as model:
            os.environ["OPENAI_BASE_URL"] = model.url
            how, error, data, _ = self.agent(sources)
        assert how == "returned", error
        clean = self.redactor.process(otlp.decode("traces", data, "protobuf", "default"))
        return assemble(clean.spans, clean.logs)

    def replay(self, run, sources, **options):
        """Run the agent against the record, as `runreel.replay.engine` does it."""
        arranged = tape.build(run)
        matcher = Matcher(arranged, Rules(self.key, is_secret), **options)
        matcher.serve(run.value(run.user_input))
        ours, theirs = socket.socketpair()
        host = Host(matcher, Channel(ours.detach()))
        there = Channel(theirs.detach())
        server = threading.Thread(target=host.serve)
        server.start()
        asking = Asking(Link(there))
        functions.connect(asking)
        _active.current, self.asking = recorder.Boundary(asking), asking
        os.environ["OPENAI_BASE_URL"] = "https://nobody.example.com/v1"
        try:
            how, error, data, _ = self.agent(sources)
        finally:
            _active.current = self.asking = None
            there.close()
            server.join()
            host.channel.close()
        host.told["ended"] = {"how": how, "error_type": error}
        host.otlp.append(("traces", "protobuf", data))
        seen = outcome.Seen(host, 0, False, (), Isolation(False, False, False, 0))
        return outcome.judge(arranged, seen, redact=self.redactor.process, duration_s=0.0)


def instrument(base):
    """Instrument once; agents that do it again are let alone."""
    module = genai
    if base == "openinference":
        import openinference.instrumentation.openai as module
    module.OpenAIInstrumentor().instrument()
    module.OpenAIInstrumentor.instrument = lambda self, **_: None


def main():
    base, faults, key = pickle.load(sys.stdin.buffer)
    out = sys.stdout.buffer
    driver = Driver(key)
    instrument(base)
    with contextlib.redirect_stdout(io.StringIO()):
        run = driver.record(fault_table.edited(fault_table.table().bases[base], fault_table.pristine()))
        results = {}
        replays = [fault for fault in faults if fault.how == "replay"]
        for fault in faults:
            if fault.how == "runs":
                results[fault.name] = diff(run, driver.record(fault.sources()))
        # The scripted model is asked for real until here.
        transports.install(lambda request: driver.asking.http(request))
        for fault in replays:
            results[fault.name] = driver.replay(run, fault.sources())
    pickle.dump((run, results), out)


if __name__ == "__main__":
    main()
