"""`runreel db migrate`."""

from pathlib import Path

import pytest

from clickhouse_front import front
from collector_kit import CONFIG
from runreel.cli import main
from runreel.exporters import schema

NEWEST = max(schema.scripts())


def test_the_tables_of_the_data_folder_are_made_and_twice_is_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        assert main(["db", "migrate", "--home", str(tmp_path)]) == 0

    assert capsys.readouterr().out.splitlines() == [f"{tmp_path / 'store'}: tables of version {NEWEST}"] * 2


def test_the_tables_of_a_server_are_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with front(tmp_path / "engine") as server:
        file = tmp_path / "collector.yaml"
        file.write_text(CONFIG.replace("clickhouse: }", f"clickhouse: {{endpoint: '{server.endpoint}'}}}}"))

        assert main(["db", "migrate", "--config", str(file), "--home", str(tmp_path / "home")]) == 0

    assert capsys.readouterr().out == f"{server.endpoint}: tables of version {NEWEST}\n"


def test_a_server_that_is_away_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "collector.yaml"
    file.write_text(CONFIG.replace("clickhouse: }", "clickhouse: {endpoint: 'http://127.0.0.1:1'}}"))

    assert main(["db", "migrate", "--config", str(file), "--home", str(tmp_path / "home")]) == 1

    assert "cannot use the ClickHouse server http://127.0.0.1:1" in capsys.readouterr().err
