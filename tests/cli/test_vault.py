"""The vault from end to end: sealed by a collector that cannot open it, opened by its owner, with a reason."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from e2e_kit import CONFIG, Done, runreel, serving, settled
from runreel.canonical import TOKEN_RE
from stored_bytes import contents

AGENT = """
import runreel.record as rr
rr.configure(agent="billing")

@rr.tool
def send(to: str, password: str) -> str:
    return "sent"

with rr.run(user_input="write to dana.fields@example.com") as run:
    send("dana.fields@example.com", "hunter2-not-real")
rr.flush()
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vault")
    made = folder / "home"
    runreel(made, "vault", "init", "--private", folder / "safe" / "vault.key")
    (folder / "agent.py").write_text(AGENT, encoding="utf-8")
    config = CONFIG.replace("redact: {}", f'redact: {{vault_key: "{made}/keys/vault.pub"}}')
    config = config.replace("exporters: {clickhouse: {}}", "exporters: {vault: {}, clickhouse: {}}")
    config = config.replace("exporters: [clickhouse]", "exporters: [vault, clickhouse]")
    with serving(made, config) as running:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
        where = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": str(running.collector.otlp_http),
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        }
        subprocess.run([sys.executable, "agent.py"], cwd=folder, env={**clean, **where}, check=True, timeout=60)
        settled(made, 1)
    return made


@pytest.fixture(scope="module")
def token(home: Path) -> str:
    shown = json.dumps(runreel(home, "runs", "show", "last", "--json", "--payloads").json())
    return next(match[0] for match in TOKEN_RE.finditer(shown) if match[1] == "EMAIL")


def reveal(home: Path, token: str, *words: object, code: int = 0) -> Done:
    return runreel(home, "vault", "reveal", token, "--key", home.parent / "safe" / "vault.key", *words, code=code)


def test_the_owner_sees_the_value_and_the_log_says_so(home: Path, token: str) -> None:
    done = reveal(home, token, "--reason", "ticket 812")
    log = runreel(home, "vault", "log", "--json").json()

    assert done.out == "dana.fields@example.com\n"
    assert (log[0]["token"], log[0]["reason"], log[0]["found"]) == (token, "ticket 812", True)
    assert "ticket 812" in runreel(home, "vault", "log").out


def test_json_says_which_key_made_the_token(home: Path, token: str) -> None:
    (found,) = reveal(home, token, "--reason", "x", "--json").json()

    assert found["value"] == "dana.fields@example.com"
    assert len(found["key_id"]) == 16


def test_neither_value_nor_secret_is_readable_in_any_byte_of_the_folder(home: Path, token: str) -> None:
    everything = list(contents(home))

    assert not [place for place, data in everything if b"dana.fields" in data or b"hunter2" in data]
    with sqlite3.connect(home / "vault" / "vault.db") as vault:
        assert {row[0] for row in vault.execute("SELECT token FROM sealed")} == {token}


def test_without_a_reason_nothing_is_opened(home: Path, token: str) -> None:
    assert "--reason" in runreel(home, "vault", "reveal", token, code=64).err
    assert "--reason is empty" in reveal(home, token, "--reason", " ", code=64).err


@pytest.mark.parametrize(("text", "code", "said"), [
    ("<EMAIL_00000000>", 1, "holds no value for <EMAIL_00000000>"),
    ("dana", 64, "'dana' is no token"),
])  # fmt: skip
def test_a_token_that_is_none_or_has_no_value_is_said(home: Path, text: str, code: int, said: str) -> None:
    assert said in reveal(home, text, "--reason", "x", code=code).err


def test_the_log_has_its_line_even_where_the_key_opens_nothing(home: Path, token: str, tmp_path: Path) -> None:
    runreel(tmp_path, "vault", "init", "--private", tmp_path / "other.key")

    done = runreel(home, "vault", "reveal", token, "--key", tmp_path / "other.key", "--reason", "wrong key", code=1)

    assert "does not open with key" in done.err
    assert runreel(home, "vault", "log", "--json").json()[0]["reason"] == "wrong key"


def test_keys_are_not_made_twice(home: Path, tmp_path: Path) -> None:
    done = runreel(home, "vault", "init", "--private", tmp_path / "again.key", code=64)

    assert "there is a key already" in done.err


def test_a_vault_that_nobody_asked_for_anything_says_so(tmp_path: Path) -> None:
    assert "there is no vault at" in runreel(tmp_path, "vault", "log", code=1).err


@pytest.mark.parametrize(
    ("processor", "exporters", "said"),
    [
        ("{}", "[vault, clickhouse]", "vault stores what redact seals, and it seals nothing: set its vault_key"),
        ("{vault_key: /x}", "[clickhouse]", "redact seals values, and no exporter vault is there to store them"),
    ],
)
def test_a_configuration_has_both_ends_or_none(tmp_path: Path, processor: str, exporters: str, said: str) -> None:
    config = CONFIG.replace("redact: {}", f"redact: {processor}").replace(
        "{clickhouse: {}}", "{vault: {}, clickhouse: {}}"
    )
    (tmp_path / "c.yaml").write_text(config.replace("[clickhouse]", exporters), encoding="utf-8")

    done = runreel(tmp_path, "validate", "--config", tmp_path / "c.yaml", code=None)

    assert said in done.out + done.err
    assert done.code == 64
