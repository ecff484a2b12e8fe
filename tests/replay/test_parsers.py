"""An agent that reads a redacted value as what it stands for: the replay says which token broke which parser."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from otlp_build import call, msg
from recorded_runs import model_step, run_of, tool_step
from runreel.replay import parsers
from runreel.replay.engine import replay

CARD, EMAIL, IP, PASSWORD = "<CARD_4f3a9c02>", "<EMAIL_7f3a9c02>", "<IP_0123abcd>", "<SECRET:password>"

LOOKUP = run_of(
    model_step(1, [msg("user", "q")], [call("lookup", {"id": 7})], at=0),
    tool_step(
        1, "lookup", {"id": 7}, {"card": CARD, "email": EMAIL, "ip": IP, "born": PASSWORD, "name": "Dana"},
        at=20, call_id="call_1",
    ),
)  # fmt: skip

AGENT = """
import datetime, ipaddress, json, re
import httpx

def lookup(id): raise AssertionError("ran")

def use(customer):
    {body}

body = {{"model": "gpt-4o-mini", "messages": [{{"role": "user", "content": "q"}}], "temperature": 0, "seed": 7}}
response = httpx.post("https://gateway.example.com/v1/chat/completions", json=body)
use(lookup(**json.loads(response.json()["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])))
"""


@pytest.fixture
def replayed(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    monkeypatch.chdir(tmp_path)

    def run(body: str) -> Any:
        (tmp_path / "agent.py").write_text(AGENT.format(body=body), encoding="utf-8")
        return replay(LOOKUP, str(tmp_path / "agent.py"))

    return run


@pytest.mark.parametrize(
    ("body", "expression", "error", "token"),
    [
        ('return int(customer["card"])', 'int(customer["card"])', "ValueError", CARD),
        ('return customer["email"].split("@")[1]', 'customer["email"].split("@")[1]', "IndexError", EMAIL),
        ('ip = customer["ip"]; return ipaddress.ip_address(ip)', "ipaddress.ip_address(ip)", "ValueError", IP),
        (
            'born = customer["born"]; return datetime.date.fromisoformat(born)',
            "datetime.date.fromisoformat(born)",
            "ValueError",
            PASSWORD,
        ),
        (
            'email = customer["email"]\n    found = re.match(".*@(.*)", email)\n    return found.group(1)',
            "found.group",
            "AttributeError",
            EMAIL,
        ),
    ],
)
def test_the_divergence_names_token_parser_place_and_the_step_that_gave_it(
    replayed: Callable[[str], Any], body: str, expression: str, error: str, token: str
) -> None:
    found = replayed(body)

    (one,) = found.divergences
    line = 8 + body.count("\n")
    assert found.verdict == "diverged"
    assert (one.type, one.kind, one.name, one.recorded) == ("output_mismatch", "tool", "lookup", 2)
    assert one.reason == (
        f"`{expression}` (agent.py:{line}, in use) raised {error}: it was given {token}, a token; "
        "step 2 (tool lookup) gave it"
    )
    assert "class `keep`" in one.advice
    assert "before the boundary" in one.advice
    assert not any("agent.py" in note for note in found.notes)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="exceptions that are caught are seen from Python 3.12 on")
def test_an_exception_that_the_agent_catches_is_told_too(replayed: Callable[[str], Any]) -> None:
    found = replayed('\n    try: int(customer["card"])\n    except ValueError: pass')

    assert found.verdict == "same"
    (note,) = [note for note in found.notes if "agent.py" in note]
    assert note.startswith(
        f'`int(customer["card"])` (agent.py:9, in use) raised ValueError: it was given {CARD}, a token'
    )
    assert "The agent caught it" in note


@pytest.mark.parametrize(
    "body",
    ['return int(customer["name"])', 'return customer["age"]', 'card = customer["card"]; return [][0]', "return 1 / 0"],
)
def test_other_errors_are_not_blamed_on_tokens(replayed: Callable[[str], Any], body: str) -> None:
    found = replayed(body)

    (one,) = found.divergences
    assert "token" not in one.reason
    assert one.reason.startswith("the agent ended with ")


def test_an_exception_without_a_traceback_is_about_no_token() -> None:
    assert parsers.look(ValueError(CARD)) is None


def test_source_that_is_not_there_leaves_the_token_and_the_place() -> None:
    space: dict[str, Any] = {}
    exec(compile("def use(card): return int(card)", "/gone/agent.py", "exec"), space)

    try:
        space["use"](CARD)
    except ValueError as error:
        found = parsers.look(error)

    assert found == parsers.Broken(CARD, "", "/gone/agent.py", 1, "use", "ValueError")
    assert json.loads(json.dumps(parsers.facts(found)))["token"] == CARD
