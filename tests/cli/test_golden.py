"""`runreel golden`: promote, run, list, check and update, with exit codes as replay has them."""

import json
import sys

import pytest

from golden_kit import BUG, EXPECT, FIX, TICKET, edit, golden_in, project, receipt_reel
from runreel.cli import main
from runreel.errors import RefusedError
from runreel.goldens import folder as goldens


@pytest.fixture
def folder(tmp_path, monkeypatch):
    project(tmp_path)
    (tmp_path / "run.reel").write_bytes(receipt_reel())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUNREEL_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def said(capfd):
    """Run a command; return its exit code and what it printed."""

    def run(*words):
        capfd.readouterr()
        code = main(["golden", *words])
        out, err = capfd.readouterr()
        return code, out if "--json" in words else out + err

    return run


def test_a_run_is_promoted_listed_and_checked(folder, said):
    code, out = said(
        *("promote", "run.reel", "--name", "receipt", "--ticket", TICKET, "--expect", EXPECT, "--agent", "agent.py"),
        *("--mask", "tool:refund/note", "--", "--fast"),
    )
    assert (code, "it fails until the agent is mended" in out) == (0, True)
    settings = goldens.read(folder / "goldens" / "receipt").settings
    assert (settings.agent, settings.args, settings.masks) == ("agent.py", ("--fast",), ("tool:refund/note",))

    code, out = said("ls")
    assert (code, f"expects: {EXPECT}" in out, f"ticket: {TICKET}" in out) == (0, True, True)
    code, out = said("ls", "--json")
    assert json.loads(out)[0]["name"] == "receipt"
    assert said("check") == (0, "1 golden: well\n")


def test_a_golden_without_a_name_gets_the_agents_and_the_runs(folder, said):
    code, _ = said("promote", "run.reel")

    assert code == 0
    assert [path.name.rpartition("-")[0] for path in goldens.find(folder / "goldens")] == ["refund-desk"]


def test_red_and_green_and_the_report_as_json(folder, said):
    golden_in(folder, EXPECT)

    code, out = said("run", "--json")
    (document,) = json.loads(out)
    assert (code, document["verdict"], document["ticket"]) == (2, "failed", TICKET)
    assert document["expectations"] == [{"expect": EXPECT, "passed": False, "why": "it is another value"}]

    edit(folder, (BUG, FIX))
    code, out = said("run", "receipt", "--diff", "--html", "receipt.html")
    assert code == 0
    page = (folder / "receipt.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "R-A-1042: $49" in page
    assert "golden receipt: passed" in out
    assert "as expected: output_mismatch field /final_output" in out
    assert "different: 1 difference" in out


def test_several_goldens_end_with_the_worst_of_them(folder, said):
    golden_in(folder, EXPECT, name="failed")
    golden_in(folder, name="passed")
    golden_in(folder, name="refused", agent="agent.py", tools={"nowhere": "agent:refund"})
    broken = golden_in(folder, name="unreadable").folder
    (broken / "spans.json").write_text("[]")

    code, out = said("run")

    assert code == 2
    assert "golden passed: passed" in out
    assert "golden unreadable: broken" in out
    assert "1 passed" in out
    assert said("run", "unreadable")[0] == 1
    assert said("run", "--html", "page.html") == (
        64,
        "runreel: --html shows one golden: name it, one of failed, passed, refused, unreadable\n",
    )


def test_a_stale_golden_ends_with_125(folder, said):
    golden_in(folder, EXPECT)
    edit(folder, ("temperature=0", "temperature=0.5"))

    code, out = said("run")

    assert (code, "golden receipt: stale" in out) == (RefusedError.exit_code, True)
    assert said("update", "receipt", "--yes")[0] == 64


def test_an_update_shows_the_diff_and_asks_before_it_writes(folder, said, monkeypatch):
    golden = golden_in(folder, "output contains R-A-1042")
    edit(folder, (BUG, FIX))

    code, out = said("update", "receipt")
    assert (code, "look at the diff above" in out, "different" in out) == (64, True, True)
    assert goldens.read(golden.folder).run == golden.run

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert said("update", "receipt")[0] == 1
    assert goldens.read(golden.folder).run == golden.run

    code, out = said("update", "receipt", "--yes")
    assert code == 0
    renewed = goldens.read(golden.folder)
    assert renewed.run.value(renewed.run.final_output).endswith("$49.00")
    assert (renewed.expect, renewed.ticket) == (golden.expect, TICKET)
    assert said("run")[0] == 0


def test_an_update_from_a_run_that_does_not_do_what_is_expected_is_refused(folder, said):
    golden_in(folder, EXPECT)

    code, out = said("update", "receipt", "--from", "run.reel", "--yes")

    assert (code, "does not do what golden receipt expects" in out) == (64, True)


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (["run"], 64, "there is no golden in goldens"),
        (["run", "other"], 1, "no golden other in goldens; there: none"),
        (["check"], 64, "there is no golden in goldens"),
        (["promote", "run.reel", "--name", "a/b"], 64, "is no name for a golden"),
        (["promote", "gone.reel"], 1, "no reel gone.reel"),
        (["promote", "run.reel", "--expect", "be nice"], 64, "is no expectation"),
        (["run", "--", "x"], 64, "arguments of the agent are given once"),
    ],
)
def test_what_makes_no_sense_is_said(folder, said, words, code, problem):
    found, out = said(*words)

    assert (found, problem in out) == (code, True), out


def test_a_check_names_what_is_wrong(folder, said):
    golden_in(folder, EXPECT, agent="gone.py")

    code, out = said("check")

    assert (code, "receipt: there is no script gone.py" in out) == (1, True)
