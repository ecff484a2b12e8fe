"""`runreel replay --all`: many runs, one table, and an exit code that `git bisect run` can go by."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from golden_kit import BUG, FIX, edit, project, receipt_reel
from runreel.cli import main
from runreel.cli.many import file_name, query
from runreel.errors import UsageError

RUNREEL = [sys.executable, "-m", "runreel"]


@pytest.fixture
def folder(tmp_path):
    project(tmp_path)
    (tmp_path / "reels").mkdir()
    (tmp_path / "reels" / "one.reel").write_bytes(receipt_reel())
    return tmp_path


def run(folder, *words, status=0):
    done = subprocess.run(
        [*RUNREEL, *words],
        cwd=folder,
        env={**os.environ, "RUNREEL_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_many_runs_are_counted_by_what_became_of_them(folder):
    (folder / "reels" / "two.reel").write_bytes(b"no reel")
    edit(folder, (BUG, FIX))

    out, _ = run(folder, "replay", "--all", "reels", status=2)

    assert "diverged        output_mismatch field /final_output" in out
    assert "not comparable  reels/two.reel: no reel, or a damaged one" in out
    assert "2 runs: 1 diverged, 1 not comparable" in out
    assert "1 × output_mismatch field /final_output" in out
    assert "$49.00" not in out


def test_the_table_as_json_says_the_same(folder):
    out, _ = run(folder, "replay", "--all", "reels", "--json")

    document = json.loads(out)
    assert document["counts"] == {"same": 1, "diverged": 0, "not_comparable": 0}
    assert [one["verdict"] for one in document["runs"]] == ["same"]
    assert document["runs"][0]["not_stored"] == f"there is no store in {folder / 'home'} yet"


def test_a_page_a_run_and_an_index_are_written_to_a_folder(folder):
    (folder / "reels" / "two.reel").write_bytes(b"no reel")
    edit(folder, (BUG, FIX))

    out, _ = run(folder, "replay", "--all", "reels", "--html", "pages", "--json", status=2)

    (diverged,) = [one for one in json.loads(out)["runs"] if one["verdict"] == "diverged"]
    assert sorted(path.name for path in (folder / "pages").iterdir()) == sorted([diverged["page"], "index.html"])
    index = (folder / "pages" / "index.html").read_text(encoding="utf-8")
    assert f'href="{diverged["page"]}"' in index
    assert "2 runs: 1 diverged, 1 not comparable" in index
    assert "output_mismatch" in (folder / "pages" / diverged["page"]).read_text(encoding="utf-8")


def test_pages_of_many_runs_need_a_folder_and_that_is_said_before_anything_runs(folder):
    (folder / "page.html").write_text("mine")

    _, err = run(folder, "replay", "--all", "reels", "--html", "page.html", status=64)

    assert "with --all it names a folder" in err
    assert (folder / "page.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("run_id", "name"),
    [("7bbf8fe5-5c32", "7bbf8fe5-5c32.html"), ("../../etc/x", "etc-x-"), ("index", "index-"), ("\udce9", "-")],
)
def test_the_file_of_a_run_is_named_after_it_and_stays_in_the_folder(run_id, name):
    found = file_name(run_id)

    assert found.startswith(name)
    assert Path(found).name == found
    assert found not in ("index.html", ".html")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--all", "none"], 125, "no run matches --all none"),
        (["--all", "agent=x"], 125, "no run matches --all agent=x"),
        (["--all", "colour=red"], 64, "give NAME=VALUE"),
        (["--all", "reels", "--timeout", "soon"], 64, "invalid float value"),
        (["gone.reel"], 1, "no reel gone.reel"),
        (["reels/one.reel", "--agent", "agent.py", "--tool", "refund=nowhere:refund"], 125, "unstubbed"),
        (["reels/one.reel", "--html", "nowhere/page.html"], 64, "there is no nowhere"),
        ([], 64, "the following arguments are required: RUN"),
    ],
)
def test_a_program_that_reads_along_gets_a_document_on_every_exit_code(folder, words, code, said):
    (folder / "none").mkdir()

    out, err = run(folder, "replay", *words, "--json", status=code)

    document = json.loads(out)
    assert document["error"]["exit_code"] == code
    assert said in document["error"]["message"]
    assert said in err
    assert document.get("verdict") == ("not_comparable" if code == 125 else None)


def test_what_follows_the_dashes_asks_for_no_document(folder):
    out, _ = run(folder, "replay", "gone.reel", "--", "--json", status=1)

    assert out == ""


def test_a_store_that_cannot_be_read_is_no_bad_commit(folder):
    (folder / "home").write_text("no folder")

    _, err = run(folder, "replay", "--all", "agent=x", status=125)

    assert "nothing was compared: the data folder" in err


def test_nothing_to_replay_is_not_comparable(folder):
    (folder / "none").mkdir()

    _, err = run(folder, "replay", "--all", "none", status=125)

    assert "no run matches --all none" in err


def test_a_filter_is_read_as_names_and_values():
    wanted = query("agent=refund-desk, outcome=error,tool=refund,limit=20")

    assert (wanted.agent, wanted.outcome, wanted.tool, wanted.limit) == ("refund-desk", "error", "refund", 20)
    assert query("").limit == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("agent", "give NAME=VALUE"),
        ("colour=red", "a name being one of since, agent"),
        ("outcome=bad", "one of ok, error"),
        ("limit=few", "a number, 0 for all"),
        ("since=yesterday", "an age such as 30m"),
    ],
)
def test_a_filter_that_is_none_is_said(text, problem):
    with pytest.raises(UsageError, match=problem):
        query(text)


@pytest.mark.parametrize("more", [["last"], ["--break-at", "1"], ["--check-order"]])
def test_what_does_not_go_with_all_is_said(more, capsys):
    assert main(["replay", "--all", "agent=x", *more]) == 64
    assert "do not go with it" in capsys.readouterr().err


def git(folder, *words):
    names = {f"GIT_{who}_{what}": "tester@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "RUNREEL_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_git_bisect_finds_the_first_bad_commit_of_sixteen(tmp_path):
    # The recorded run is taken for the good one: what changes the receipt, at 11, is what is looked for.
    project(tmp_path)
    (tmp_path.parent / "kept").mkdir()
    (tmp_path.parent / "kept" / "run.reel").write_bytes(receipt_reel())
    git(tmp_path, "init", "-q", "-b", "main")
    for number in range(1, 17):
        if number == 8:  # a commit that cannot be tried is passed over
            edit(tmp_path, ("import json\n", "import json (\n"))
        if number == 9:
            edit(tmp_path, ("import json (\n", "import json\n"))
        if number == 11:
            edit(tmp_path, (BUG, FIX))
        edit(tmp_path, ("QUESTION = ", f"# change {number}\nQUESTION = "))
        git(tmp_path, "add", "agent.py")
        git(tmp_path, "commit", "-q", "-m", f"change {number}")
    first, last = git(tmp_path, "rev-list", "--reverse", "HEAD").split()[0], "HEAD"

    git(tmp_path, "bisect", "start", last, first)
    said = git(tmp_path, "bisect", "run", *RUNREEL, "replay", "--all", str(tmp_path.parent / "kept"))

    assert "is the first bad commit" in said
    assert git(tmp_path, "log", "-1", "--format=%s", "refs/bisect/bad").strip() == "change 11"
