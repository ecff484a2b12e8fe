import json
from dataclasses import replace
from pathlib import Path

import pytest

from run_kit import capture, reel_of
from runreel.cli import main

CAPTURE = Path(__file__).parents[1] / "data" / "captures" / "otel-genai-openai" / "content-span"
HOSTILE = "\x1b[2Jgone"


@pytest.fixture
def reels(tmp_path):
    """Two reels of one recorded run, the second with another tool result."""
    spans, logs = capture(CAPTURE)
    changed = [
        replace(span, attributes={**span.attributes, "gen_ai.tool.call.result": json.dumps({"order": HOSTILE})})
        if span.attributes.get("gen_ai.tool.name") == "lookup_customer"
        else span
        for span in spans
    ]
    paths = [tmp_path / "a.reel", tmp_path / "b.reel"]
    for path, some in zip(paths, (spans, changed), strict=True):
        path.write_bytes(reel_of(some, logs))
    return [str(path) for path in paths]


def test_a_run_compared_with_itself_is_the_same(reels, capsys):
    assert main(["diff", reels[0], reels[0]]) == 0

    assert "same: 7 steps compared, no difference" in capsys.readouterr().out


def test_a_difference_ends_with_2_and_is_named(reels, capsys):
    assert main(["diff", *reels]) == 2

    out = capsys.readouterr().out
    assert "first divergence: step 5, tool lookup_customer, output" in out
    assert "/order" in out
    assert "\x1b" not in out
    assert "\\x1b[2Jgone" in out


def test_the_document_is_whole_and_its_exit_code_the_same(reels, capsys):
    assert main(["diff", "--json", *reels]) == 2

    got = json.loads(capsys.readouterr().out)
    assert got["same"] is False
    assert (got["differences"][0]["type"], got["differences"][0]["a"]) == ("output_mismatch", 5)
    assert {change["path"] for change in got["differences"][0]["changes"]} >= {"/order", "/email"}


def test_masks_are_taken_from_the_command_line(reels, capsys):
    assert main(["diff", "--mask", "tool/lookup_customer/*", *reels]) == 0

    assert "hidden by masks" in capsys.readouterr().out


def test_a_reel_that_is_not_there_is_an_error(reels, capsys):
    assert main(["diff", reels[0], "missing.reel"]) == 1

    assert "no reel missing.reel" in capsys.readouterr().err


def test_a_file_that_is_no_reel_is_an_error(reels, tmp_path, capsys):
    (tmp_path / "bad.reel").write_bytes(b"not a zip")

    assert main(["diff", reels[0], str(tmp_path / "bad.reel")]) == 1

    assert "no reel, or a damaged one" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["diff"], ["diff", "only-one"], ["diff", "a", "b", "--nonsense"]])
def test_a_command_line_that_makes_no_sense_is_a_usage_error(words):
    with pytest.raises(SystemExit) as caught:
        main(words)

    assert caught.value.code == 64


def test_a_comparison_is_written_as_a_page_too(reels, tmp_path, capsys):
    assert main(["diff", *reels, "--html", str(tmp_path / "diff.html")]) == 2

    page = (tmp_path / "diff.html").read_text(encoding="utf-8")
    assert "First divergence" in page
    assert "\\x1b" in page
    assert "\x1b" not in page
    assert "first divergence: step 5" in capsys.readouterr().out


def test_a_page_that_cannot_be_written_is_said(reels, tmp_path, capsys):
    assert main(["diff", *reels, "--html", str(tmp_path / "none" / "diff.html")]) == 64

    assert "--html" in capsys.readouterr().err
