"""What is declared sensitive, from the agent's decorator or the collector's configuration into the store's bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from e2e_kit import CONFIG, runreel, serving, settled
from stored_bytes import found

AGENT = """
import json
import runreel.record as rr
from opentelemetry import trace

rr.configure(agent="billing")

@rr.tool(sensitive={"/customer/name": "token", "/diagnosis": "regulated"})
def lookup(customer: dict) -> dict:
    return {"customer": customer, "diagnosis": {"code": "J45", "text": "asthma of Quilla Zamorano"}, "plan": "gold"}

@rr.tool
def send(to: str, card: str, site: str) -> str:
    return "sent"

search = rr.retriever("salaries")(lambda query: [{"id": "d1", "content": "Quilla Zamorano earns 100"}])

with rr.run(user_input="go") as run:
    call = {"type": "tool_call", "id": "c1", "name": "lookup", "arguments": {"customer": {"name": "Quilla Zamorano"}}}
    asked = json.dumps([{"role": "assistant", "parts": [call], "finish_reason": "tool_calls"}])
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.output.messages": asked,
                  "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "go"}]}])}
    with trace.get_tracer("t").start_as_current_span("chat m", attributes=attributes):
        pass
    lookup({"name": "Quilla Zamorano"})
    send("zamorano@corp.example.com", "4242 4242 4242 4242", "kept@plant.example.com")
    search("who earns what")
    run.answer("done")
rr.flush()
"""

DECLARED = (
    CONFIG.replace(
        "redact: {}",
        """redact:
    classes:
      - {tool: send, pointer: /to, class: drop}
      - {tool: send, pointer: /card, class: hash}
      - {tool: send, pointer: /site, class: keep}
      - {source: salaries, class: regulated}
""",
    )
    .replace("{schema: {}, redact:", "\n  schema: {}\n  redact:")
    .replace(", split: {}}", "  split: {}")
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("declared")
    (folder / "agent.py").write_text(AGENT, encoding="utf-8")
    with serving(folder / "home", DECLARED) as running:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
        endpoint = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": str(running.collector.otlp_http),
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        }
        subprocess.run([sys.executable, "agent.py"], cwd=folder, env={**clean, **endpoint}, check=True, timeout=60)
        settled(folder / "home", 1)
        run = runreel(folder / "home", "runs", "show", "last", "--json", "--payloads").json()
    return folder, run


def step(run: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in run["steps"] if one["name"] == name)


def content(run: dict[str, Any], step_: dict[str, Any], field: str) -> Any:
    value = run["payloads"][step_["refs"][field]["ref"].removeprefix("sha256:")]
    return json.loads(value) if isinstance(value, str) and value[:1] in "{[" else value


def test_each_class_is_what_the_store_holds(recorded: tuple[Path, dict[str, Any]]) -> None:
    _, run = recorded

    looked_up = content(run, step(run, "lookup"), "output")
    sent = content(run, step(run, "send"), "input")
    (document,) = content(run, step(run, "salaries"), "output")
    assert looked_up["customer"]["name"].startswith("<FIELD_")
    assert looked_up["diagnosis"].startswith("<REGULATED_")
    assert looked_up["plan"] == "gold"
    assert sent["to"] == "<WITHHELD:dropped>"
    assert sent["card"].startswith("<HASH_")
    assert sent["site"] == "kept@plant.example.com"
    assert document["content"].startswith("<REGULATED_")


def test_the_models_answer_that_quotes_the_call_is_covered_though_it_came_first(
    recorded: tuple[Path, dict[str, Any]],
) -> None:
    _, run = recorded

    said = content(run, next(one for one in run["steps"] if one["kind"] == "llm"), "output")

    assert "Zamorano" not in json.dumps(said)
    assert json.dumps(said).count("<FIELD_") == 1


def test_nothing_declared_is_in_any_byte_of_the_store_and_what_is_kept_is(
    recorded: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = recorded

    needles = {"name": b"Zamorano", "mail": b"zamorano@corp", "card": b"4242 4242", "diagnosis": b"asthma"}
    assert found(folder / "home", needles) == {}
    assert found(folder / "home", {"kept": b"kept@plant.example.com"}).keys() == {"kept"}
