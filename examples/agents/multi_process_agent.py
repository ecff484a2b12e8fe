"""An agent whose two sub-agents are programs of their own: one continues its trace, the other only links back to it."""

import os
import subprocess
import sys
from pathlib import Path

import telemetry

options = telemetry.options()
telemetry.set_up("orchestrator")

import handmade
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator


def ask(variable: str, scenario: str) -> str:
    """Run a sub-agent to its end; return what it printed."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    env = {**os.environ, variable: carrier["traceparent"]}
    script = Path(__file__).with_name("openai_agent.py")
    command = [sys.executable, str(script), "--instrumentation", options.instrumentation, "--scenario", scenario]
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


with handmade.agent("orchestrator"):
    print("FINAL", ask("TRACEPARENT", "weather"), ask("LINK_TRACEPARENT", "poll"))
