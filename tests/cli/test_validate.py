from pathlib import Path

import pytest

from runreel.cli import main

ROOT = Path(__file__).parents[2]


def test_a_valid_configuration_is_summed_up(capsys):
    code = main(["validate", "--config", str(ROOT / "otel-config.yaml")])

    assert code == 0
    out = capsys.readouterr().out
    assert out.startswith("ok: ")
    assert "  traces: otlp -> schema, redact, split -> files, clickhouse\n" in out


def test_every_problem_is_printed_and_the_exit_code_is_for_usage(tmp_path, capsys):
    bad = tmp_path / "bad.yaml"
    bad.write_text(
        (ROOT / "otel-config.yaml")
        .read_text()
        .replace("[schema, redact, split]", "[schema, split]")
        .replace("level:", "levle:")
    )

    code = main(["validate", "--config", str(bad)])

    assert code == 64
    err = capsys.readouterr().err
    assert "3 problems" in err
    assert err.count("the processor redact is missing") == 2
    assert "service::telemetry::logs::levle: unknown key 'levle': did you mean 'level'?" in err


def test_a_configuration_must_be_named(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["validate"])

    assert ended.value.code == 64
