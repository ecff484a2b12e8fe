"""`runreel runs`: its options, and what they say about what cannot be."""

import json
from pathlib import Path

import pytest

from collector_kit import CONFIG
from e2e_kit import runreel
from runreel import cli
from runreel.cli.runs import since
from runreel.errors import UsageError

HOUR_NS = 3600 * 10**9


def test_an_age_and_a_time_are_both_a_moment() -> None:
    later, earlier = since("1h"), since("2h")
    assert later is not None
    assert earlier is not None
    assert abs(later - earlier - HOUR_NS) < 60 * 10**9
    assert since("2026-01-01T00:00:00Z") == 1767225600 * 10**9
    assert since("1960-01-01T00:00:00Z") == 0
    assert since(None) is None


@pytest.mark.parametrize(
    "text",
    ["", "h", "-1h", "1", "1y", "²d", "٣d", "1.5h", "99999999999d", "999999999d", "0001-01-01", "yesterday", "\x1b[2J"],
)
def test_what_is_no_moment_is_said_with_what_is(text: str) -> None:
    with pytest.raises(UsageError, match="an age such as 30m, 24h, 7d, or an ISO time"):
        since(text)


@pytest.mark.parametrize("limit", ["-1", "99999999999999999999"])
def test_a_limit_that_is_none_is_said(limit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["runs", "ls", "--limit", limit, "--home", str(tmp_path)]) == 64
    assert capsys.readouterr().err == f"runreel: --limit {limit}: a number from 0 (all) to 1000000\n"


def test_an_empty_list_says_whether_anything_was_left_out(tmp_path: Path) -> None:
    assert runreel(tmp_path, "runs", "ls").out.startswith("no such run in this data folder")
    assert runreel(tmp_path, "runs", "ls", "--agent", "a").out == "no run matches --agent\n"
    assert runreel(tmp_path, "runs", "ls", "--agent", "a", "--json").out == "[]\n"


def test_whose_replays_are_meant_is_said_of_replays_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["runs", "ls", "--of", "r", "--home", str(tmp_path)]) == 64
    assert "say --replays too" in capsys.readouterr().err
    assert cli.main(["runs", "ls", "--replays", "--of", "r", "--home", str(tmp_path)]) == 1
    assert "no run 'r'" in capsys.readouterr().err
    assert cli.main(["runs", "ls", "--replays", "--home", str(tmp_path)]) == 0
    assert "no such replay here" in capsys.readouterr().out


def test_a_data_folder_that_is_a_file_is_no_empty_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")

    assert cli.main(["runs", "ls", "--home", str(tmp_path / "file")]) == 1
    assert "is no folder: name one with --home or RUNREEL_HOME" in capsys.readouterr().err


def test_runs_are_found_by_what_they_hold_and_flagged(tmp_path: Path) -> None:
    capture = Path(__file__).parents[1] / "data" / "captures" / "otel-genai-openai" / "content-span"
    assert runreel(tmp_path, "runs", "import", str(capture)).code == 0

    def found(*options: str) -> int:
        return len(json.loads(runreel(tmp_path, "runs", "ls", "--json", *options).out))

    assert found("--tool", "get_weather", "--verdict", "full", "--text", "lisbon is 21.5") == 1
    assert found("--tool", "get_time") == found("--verdict", "none") == found("--text", "dana.fields@") == 0
    assert runreel(tmp_path, "runs", "ls", "--tool", "x", "--user", "y").out == "no run matches --user and --tool\n"

    flagged = runreel(tmp_path, "runs", "flag", "last", "--reason", "call +1 202-555-0143")

    assert (flagged.code, flagged.out[:4]) == (0, "run ")
    shown = json.loads(runreel(tmp_path, "runs", "show", "last", "--json").out)
    assert shown["outcome"] == "user_flagged"
    assert shown["flagged"][0]["reason"].startswith("call <PHONE_")
    assert found("--outcome", "user_flagged", "--text", "call <phone_") == 1
    assert "no run 'nothing'" in runreel(tmp_path, "runs", "flag", "nothing", code=1).err


def test_runs_are_in_the_stores_that_a_collectors_configuration_or_a_file_names(tmp_path: Path) -> None:
    capture = Path(__file__).parents[1] / "data" / "captures" / "otel-genai-openai" / "content-span"
    config = CONFIG.replace("exporters: {files: , clickhouse: }", "exporters: {files: , clickhouse: {path: ENGINE}}")
    config = config.replace("ENGINE", str(tmp_path / "engine")).replace("redact: ", "redact: {entities: [PHONE]}")
    (tmp_path / "otel.yaml").write_text(config)
    (tmp_path / "runreel.toml").write_text('home = "home"\nstore = "engine"\n')
    home = tmp_path / "home"

    runreel(home, "runs", "import", capture, "--config", tmp_path / "otel.yaml")

    assert not (home / "store").exists()
    for words in (("--config", tmp_path / "otel.yaml"), ("--store", tmp_path / "engine")):
        shown = runreel(home, "runs", "show", "last", "--payloads", "--json", *words).out
        # It redacts as that collector would: phones alone.
        assert "dana.fields@example.com" in shown
        assert "202-555-0143" not in shown
    found = runreel(home, "runs", "ls", "--json", cwd=tmp_path, env={"RUNREEL_HOME": ""}).json()
    assert len(found) == 1
    assert runreel(home, "runs", "ls", "--json", cwd=tmp_path).json() == []
    assert "there is no store" in runreel(home, "runs", "ls", "--store", tmp_path / "nowhere", code=1).err


def test_a_run_is_written_as_a_page_too(tmp_path: Path) -> None:
    capture = Path(__file__).parents[1] / "data" / "captures" / "otel-genai-openai" / "content-span"
    runreel(tmp_path, "runs", "import", str(capture))

    shown = runreel(tmp_path, "runs", "show", "last", "--html", tmp_path / "run.html")

    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert shown.out.startswith("run 82225b683440b92329495eef38ab8ca3")
    assert '<mark class="token">&lt;EMAIL_' in page
    assert "dana.fields@" not in page
