"""`runreel audit scan` on a data folder as commands leave it."""

from pathlib import Path

import pytest

from e2e_kit import CAPTURES, runreel

MAIL = "dana.fields@example.com"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("audit") / "home"
    runreel(folder, "runs", "import", CAPTURES / "otel-genai-openai" / "content-span")
    return folder


def test_a_store_is_clean_and_the_scan_has_seen_it(home: Path) -> None:
    done = runreel(home, "audit", "scan", "--canary", MAIL, "--witness", "Compare the weather in Lisbon")

    assert "nothing found" in done.out
    assert "the scan sees" in done.out
    assert f"not read: {home / 'keys' / 'default.json'}" in done.out


def test_a_log_that_leaks_is_found_and_the_value_not_shown(home: Path, tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    log.write_text(f"user {MAIL} said Quilla-7x", encoding="utf-8")
    (tmp_path / "canaries").write_text("Quilla-7x\n\n", encoding="utf-8")

    done = runreel(home, "audit", "scan", log, "--canaries", tmp_path / "canaries", code=2)
    document = runreel(home, "audit", "scan", log, "--canaries", tmp_path / "canaries", "--json", code=2).json()

    assert f"EMAIL  {log}  1 time, 23 long, like aaaa.aaaaaa@aaaaaaa.aaa" in done.out
    assert {one["rule"] for one in document["found"]} == {"EMAIL", "canary 1 (plain)"}
    assert not [value for value in (MAIL, "Quilla") if value in done.out + str(document)]


def test_what_is_meant_to_be_there_can_be_left_out(home: Path, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(MAIL, encoding="utf-8")

    assert runreel(home, "audit", "scan", tmp_path / "log", "--ignore", "EMAIL", code=0).code == 0


def test_a_scan_that_does_not_see_its_witness_is_no_clean_scan(home: Path) -> None:
    done = runreel(home, "audit", "scan", "--witness", "never recorded", code=1)

    assert "not seen: witness 1" in done.out


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--canary", "Dana"], 64, "number 1 has fewer than 5 bytes"),
        (["--canaries", "/nowhere"], 64, "--canaries /nowhere: it cannot be read"),
        (["/nowhere/log"], 1, "/nowhere/log is not there"),
        (["--collector", "http://127.0.0.1:1"], 64, "run it on the machine of the collector"),
    ],
)
def test_what_cannot_be_done_is_said(home: Path, words: list[str], code: int, said: str) -> None:
    assert said in runreel(home, "audit", "scan", *words, env={"RUNREEL_TOKEN": "x"}, code=code).err
