"""`runreel redact FILE`: what a person sees who answers for privacy."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from e2e_kit import CAPTURES, runreel

TEXT = "mail dana.fields@example.com from 127.0.0.1, key AKIAIOSFODNN7EXAMPLE\n"


def test_a_text_is_shown_redacted_with_what_each_rule_did(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(TEXT, encoding="utf-8")

    done = runreel(tmp_path / "home", "redact", tmp_path / "note.txt")

    assert done.out.startswith("mail <EMAIL_")
    assert "from 127.0.0.1, key <SECRET:aws-access-key>" in done.out
    assert "      1  EMAIL\n" in done.out
    assert "kept: IP that is: the same for everybody" in done.out
    assert "has no key yet" in done.out
    assert "dana" not in done.out
    assert "\x1b" not in done.out
    assert not (tmp_path / "home").exists()


def test_json_says_where_each_mark_is_and_which_rule_made_it(tmp_path: Path) -> None:
    body = json.dumps({"to": "dana.fields@example.com", "password": "hunter2", "note": TEXT})
    (tmp_path / "body.json").write_text(body, encoding="utf-8")

    found = runreel(tmp_path / "home", "redact", tmp_path / "body.json", "--json").json()

    (text,) = found["texts"]
    marked = {text["text"][one["start"] : one["end"]]: one["rule"] for one in text["marks"]}
    assert set(marked.values()) == {"EMAIL", "SECRET:password", "SECRET:aws-access-key"}
    assert marked["<SECRET:password>"] == "SECRET:password"
    assert json.loads(text["text"])["password"] == "<SECRET:password>"
    assert found["counts"] == {"EMAIL": 2, "SECRET:aws-access-key": 1, "SECRET:password": 1}
    assert found["kept"] == [{"entity": "IP", "reason": "the same for everybody", "values": 1}]


def test_an_otlp_request_is_shown_field_by_field_with_the_tokens_of_the_store(tmp_path: Path) -> None:
    request = next((CAPTURES / "otel-genai-openai" / "content-span").glob("*traces.bin"))
    runreel(tmp_path, "runs", "import", request)
    stored = json.dumps(runreel(tmp_path, "runs", "show", "last", "--json", "--payloads").json())

    found = runreel(tmp_path, "redact", request, "--json").json()

    places = {one["place"].partition(" ")[2].partition(" ")[2] for one in found["texts"]}
    tokens = {
        one["text"][mark["start"] : mark["end"]]
        for one in found["texts"]
        for mark in one["marks"]
        if mark["rule"] == "EMAIL"
    }
    assert {"attributes/gen_ai.input.messages", "attributes/gen_ai.tool.call.result"} <= places
    assert tokens
    assert all(token in stored for token in tokens)
    assert found["note"] == ""


def test_standard_input_is_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "runreel", "redact", "-", "--home", str(tmp_path / "x")],
        input=TEXT.encode(), capture_output=True, check=True, timeout=120,
    )  # fmt: skip

    assert done.stdout.startswith(b"mail <EMAIL_")


def test_terminal_escapes_of_a_file_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    (tmp_path / "evil.txt").write_text("\x1b[2J dana.fields@example.com", encoding="utf-8")

    assert "\x1b" not in runreel(tmp_path / "home", "redact", tmp_path / "evil.txt").out


@pytest.mark.parametrize(
    ("content", "said"), [(b"\xff\xfe\x00\x81", "neither UTF-8 text nor an OTLP request"), (None, "cannot be read")]
)
def test_what_cannot_be_read_is_said(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)

    assert said in runreel(tmp_path / "home", "redact", tmp_path / "file", code=64).err


def test_classes_of_a_configuration_hold_here_too(tmp_path: Path) -> None:
    request = next((CAPTURES / "otel-genai-openai" / "content-span").glob("*traces.bin"))
    config = tmp_path / "collector.yaml"
    from e2e_kit import CONFIG

    rule = "redact: {classes: [{class: token, tool: lookup_customer, pointer: /name}]}"
    config.write_text(CONFIG.replace("redact: {}", rule), encoding="utf-8")

    found = runreel(tmp_path / "home", "redact", request, "--json", "--config", config).json()

    assert found["counts"]["CLASS:token"] >= 1
    assert not any("Dana Fields" in one["text"] for one in found["texts"] if "tool.call.result" in one["place"])
