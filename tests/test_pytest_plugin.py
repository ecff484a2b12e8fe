"""The pytest plugin, in sessions of its own: what it collects, what it says, and what it leaves alone."""

import os
import subprocess
import sys
import textwrap
from importlib.metadata import entry_points
from xml.etree import ElementTree as ET

import pytest

from golden_kit import BUG, EXPECT, FIX, TICKET, edit, golden_in, project

# An installation in place that is older than the plugin does not name it yet.
_NAMED = any(one.value == "runreel.pytest_plugin" for one in entry_points(group="pytest11"))
PLUGIN = [] if _NAMED else ["-p", "runreel.pytest_plugin"]


def run(folder, *words, status, **environment):
    """Run pytest as a person does in a project; return what it printed."""
    outer = ("PYTEST_", "COV_", "GITHUB_")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *PLUGIN, "-p", "no:cacheprovider", *words],
        cwd=folder,
        env={**{name: value for name, value in os.environ.items() if not name.startswith(outer)}, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    """A project with a golden, and with folders of its own that are called as ours are."""
    project(tmp_path)
    for name in ("replay", "collector"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("OURS = False\n")
    golden_in(tmp_path, EXPECT)
    return tmp_path


def test_a_failure_says_what_was_expected_and_how_to_look_at_it_and_tells_github_and_junit(folder):
    out = run(folder, "goldens", "--junitxml=junit.xml", status=1, GITHUB_ACTIONS="true")

    assert "golden receipt: FAILED" in out
    assert f"expected: {EXPECT}" in out
    assert "to look at it: runreel golden run receipt --html receipt.html" in out
    assert "::error file=goldens/receipt/golden.json,title=golden receipt::golden receipt: FAILED%0A" in out
    assert "src/runreel" not in out  # none of our frames
    case = ET.parse(folder / "junit.xml").getroot().find(".//testcase")
    told = {one.get("name"): one.get("value") for one in case.iter("property")}
    assert (told["runreel.golden"], told["runreel.verdict"], told["runreel.ticket"]) == ("receipt", "failed", TICKET)


def test_goldens_and_tests_by_hand_run_under_xdist_in_a_project_with_folders_called_like_ours(folder):
    edit(folder, (BUG, FIX))
    golden_in(folder, "tool:refund called 1", name="other")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_by_hand.py").write_text(
        textwrap.dedent(
            """
            import collector, replay
            import pytest

            @pytest.mark.runreel_golden("receipt")
            def test_marked(runreel_golden):
                result = runreel_golden()
                assert result.verdict == "passed"
                run = result.replayed.run
                assert run.value(run.final_output).endswith("$49.00")
                assert not replay.OURS and not collector.OURS

            def test_named(runreel_golden):
                assert [one.type for one in runreel_golden("other").findings] == ["output_mismatch"]

            def test_nameless(runreel_golden):
                from runreel.errors import UsageError
                with pytest.raises(UsageError, match="name the golden"):
                    runreel_golden()
            """
        )
    )

    # "other" says nothing of the output, which is another one now.
    out = run(folder, "-n", "2", "-q", status=1)

    assert "4 passed" in out
    assert "1 failed" in out
    assert "FAILED goldens/other/golden.json::other - golden other: FAILED" in out


def test_a_stale_golden_is_skipped_and_said_or_fails_where_that_is_wanted(folder):
    edit(folder, ("You handle refunds.", "You handle refunds with care."))

    skipped = run(folder, "goldens", "-q", status=0, GITHUB_ACTIONS="true")
    failed = run(folder, "goldens", "-q", "--runreel-stale=fail", status=1)

    assert "1 skipped" in skipped
    assert "stale goldens: neither passed nor failed" in skipped
    assert "receipt: the prompt changed: its recorded answers no longer belong to what is asked" in skipped
    assert "::warning file=goldens/receipt/golden.json" in skipped
    assert "golden receipt: stale" in failed


def test_an_update_puts_the_replay_in_the_place_of_the_record_where_it_does_what_is_expected(folder):
    bad = (folder / "goldens" / "receipt" / "golden.json").read_bytes()
    refused = run(folder, "goldens", "-q", "--runreel-update", status=1)
    assert "golden receipt: FAILED" in refused
    assert (folder / "goldens" / "receipt" / "golden.json").read_bytes() == bad

    edit(folder, (BUG, FIX))
    updated = run(folder, "goldens", "-q", "-rs", "--runreel-update", status=0)
    again = run(folder, "goldens", "-q", status=0)

    assert "updated: look at git diff" in updated
    assert "1 passed" in again
    assert "$49.00" in (folder / "goldens" / "receipt" / "spans.json").read_text()


def test_a_golden_that_cannot_be_read_fails_and_says_why(folder):
    (folder / "goldens" / "receipt" / "spans.json").write_text("[]")

    out = run(folder, "goldens", "-q", status=1)

    assert "spans.json is not what was recorded" in out
    assert "Traceback" not in out


def test_a_session_without_goldens_imports_nothing_of_ours_but_the_plugin(tmp_path):
    (tmp_path / "test_one.py").write_text(
        "import sys\n\n\ndef test_one():\n"
        "    ours = {name for name in sys.modules if name.partition('.')[0] == 'runreel'}\n"
        "    assert ours == {'runreel', 'runreel.pytest_plugin'}\n"
    )
    (tmp_path / "golden.json").write_text("{}")  # of somebody else

    (tmp_path / "test_two.py").write_text("def test_two():\n    assert True\n")

    assert "1 passed, 1 deselected" in run(tmp_path, "-q", "-k", "test_one", status=0)


def test_the_package_names_the_plugin_for_pytest():
    import tomllib
    from pathlib import Path

    project_file = Path(__file__).parents[1] / "pyproject.toml"
    points = tomllib.loads(project_file.read_text(encoding="utf-8"))["project"]["entry-points"]["pytest11"]

    assert points == {"runreel": "runreel.pytest_plugin"}
