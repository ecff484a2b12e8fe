"""Runs with declared values are replayed as they are, also after the tenant's key was changed."""

import json
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from e2e_kit import CONFIG, runreel, serving, settled

AGENT = """
import runreel.record as rr
rr.configure(agent="billing", entry="agent.py")

@rr.tool(sensitive={"/customer": "regulated", "/note": "drop", "/name": "token", "/iban": "hash"})
def book(customer: dict, note: str, name: str, iban: str, mail: str) -> dict:
    return {"customer": customer, "booked": True}

with rr.run(user_input="go") as run:
    found = book({"id": 7, "name": "Dana"}, "call at night", "Dana Fields", "DE89 3704", "dana.fields@example.com")
    run.answer("booked" if found["booked"] else "not booked")
rr.flush()
"""


@pytest.fixture(scope="module", params=["tenant", "run"])
def home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(f"declared-{request.param}")
    (folder / "agent.py").write_text(AGENT, encoding="utf-8")
    with serving(folder / "home", CONFIG.replace("redact: {}", f"redact: {{scope: {request.param}}}")) as running:
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": str(running.collector.otlp_http),
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        }
        subprocess.run(
            [sys.executable, "agent.py"], cwd=folder, env={"PATH": "/usr/bin:/bin", **env}, check=True, timeout=60
        )
        settled(folder / "home", 1)
    return folder / "home"


def replayed(home: Path) -> dict[str, object]:
    done = runreel(home, "replay", "last", "--agent", "agent.py", "--json", "--no-store", cwd=home.parent, code=None)
    assert done.code in (0, 2), done.err
    return done.json()  # type: ignore[no-any-return]


def test_every_class_is_proved_with_the_key(home: Path) -> None:
    found = replayed(home)

    assert (found["verdict"], found["divergences"]) == ("same", [])
    assert found["tokens"]["assumed"] == []


def test_after_the_key_was_changed_old_tokens_are_still_proved(home: Path) -> None:
    path = home / "keys" / "default.json"
    before = json.loads(path.read_bytes())
    path.write_text(json.dumps({"key": secrets.token_hex(32), "older": [before["key"]]}), encoding="utf-8")

    found = replayed(home)

    path.write_text(json.dumps(before), encoding="utf-8")
    assert (found["verdict"], found["tokens"]["assumed"]) == ("same", [])


def test_where_the_key_is_gone_tokens_are_assumed_and_no_difference_is_made_up(home: Path) -> None:
    path = home / "keys" / "default.json"
    before = json.loads(path.read_bytes())
    path.write_text(json.dumps({"key": secrets.token_hex(32)}), encoding="utf-8")

    found = replayed(home)

    path.write_text(json.dumps(before), encoding="utf-8")
    assert found["verdict"] == "same"
    assert len(found["tokens"]["assumed"]) == 4  # type: ignore[arg-type]
