"""Python programs that an agent starts, in every way there is, are answered from the record like the agent itself."""

import pytest

from otlp_build import ROOT, tool
from recorded_runs import run_of
from runreel.replay.engine import replay

TOOLS = "def search(q):\n    open('ran', 'a').close()\n    return 'live'\n"
SCRIPT = """
import subprocess, sys, tools

def local(q):
    open('ran', 'a').close()
    return 'live'

def main(q, *more):
    print(tools.search(q), local(q), __name__, sys.argv[1:], flush=True)
    if more:
        subprocess.run([sys.executable, __file__, *more], check=True)

if __name__ == "__main__":
    main(*sys.argv[1:])
"""
AGENT = """
import asyncio, multiprocessing, os, subprocess, sys
import tools

def in_worker(q):
    print(tools.search(q), flush=True)

def main():
    {body}

if __name__ == "__main__":
    main()
"""
WAYS = {
    "script": ("subprocess.run([sys.executable, 'sub.py', 'a'], check=True)", ["a"], "local"),
    "options": ("subprocess.run([sys.executable, '-u', '-X', 'dev', '-W', 'ignore', 'sub.py', 'a'])", ["a"], "local"),
    "nested": ("subprocess.run([sys.executable, 'sub.py', 'a', 'b'], check=True)", ["a", "b"], "local"),
    "module": ("subprocess.run([sys.executable, '-m', 'sub', 'a'], check=True)", ["a"], "local"),
    "code": ("subprocess.run([sys.executable, '-c', 'import tools; print(tools.search(\"a\"))'])", ["a"], ""),
    "standard input": (
        "subprocess.run([sys.executable], input=b'import tools\\nprint(tools.search(\"a\"))\\n')",
        ["a"],
        "",
    ),
    "shell": ("subprocess.run(f'{sys.executable} sub.py a', shell=True, check=True)", ["a"], "local"),
    "system": ("os.system(f'{sys.executable} sub.py a')", ["a"], "local"),
    "environment": (
        "subprocess.run([sys.executable, 'sub.py', 'a'], env={'PATH': '/usr/bin'}, check=True)",
        ["a"],
        "local",
    ),
    "all descriptors": ("subprocess.run([sys.executable, 'sub.py', 'a'], close_fds=False)", ["a"], "local"),
    "asyncio": (
        "asyncio.run((lambda: start())())",
        ["a"],
        "local",
    ),
    "forked pool": (
        "w = multiprocessing.get_context('fork').Process(target=in_worker, args=('a',)); w.start(); w.join()",
        ["a"],
        "",
    ),
    "posix_spawn": (
        "os.waitpid(os.posix_spawn(sys.executable, [sys.executable, 'sub.py', 'a'], {'PATH': '/usr/bin'}), 0)",
        ["a"],
        "local",
    ),
    "fork and exec": (
        "os.fork() and os.wait() or os.execv(sys.executable, [sys.executable, 'sub.py', 'a'])",
        ["a"],
        "local",
    ),
    "multiprocessing": (
        "w = multiprocessing.get_context('spawn').Process(target=in_worker, args=('a',)); w.start(); w.join()",
        ["a"],
        "",
    ),
}
START = """
async def start():
    program = await asyncio.create_subprocess_exec(sys.executable, 'sub.py', 'a')
    await program.wait()
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "sub.py").write_text(SCRIPT)

    def write(body):
        (tmp_path / "agent.py").write_text(AGENT.format(body=body).replace("def main():", START + "\ndef main():"))
        return str(tmp_path / "agent.py")

    return write


def recorded(queries, local):
    spans = []
    for number, query in enumerate(queries):
        spans.append(tool(f"00000000000000c{number}", ROOT, "search", {"q": query}, f"found {query}", at=number * 40))
        if local:
            spans.append(
                tool(f"00000000000000d{number}", ROOT, local, {"q": query}, f"here {query}", at=number * 40 + 20)
            )
    return run_of(*spans)


@pytest.mark.parametrize("way", WAYS)
def test_a_program_is_answered_however_it_was_started(way, project, tmp_path, capfd):
    body, queries, local = WAYS[way]

    replayed = replay(recorded(queries, local), project(body))

    assert not (tmp_path / "ran").exists()
    assert ([(one.type, one.name) for one in replayed.divergences], replayed.verdict) == ([], "same")
    printed = capfd.readouterr().out.splitlines()
    assert [line.split()[1] for line in printed] == queries
    if local == "local":
        assert [line.split()[3] for line in printed] == queries
        assert all("__main__" in line for line in printed)
    assert any("was answered too" in note for note in replayed.notes)


def test_what_a_program_asks_beyond_the_record_is_a_divergence(project, tmp_path):
    body = "subprocess.run([sys.executable, 'sub.py', 'b'], stderr=subprocess.DEVNULL)"

    replayed = replay(recorded(["a"], "local"), project(body))

    assert not (tmp_path / "ran").exists()
    first = replayed.divergences[0]
    assert (first.type, first.name, first.path) == ("input_mismatch", "search", "/q")


@pytest.mark.parametrize("option", ["-I", "-E", "-SB"])
def test_a_program_that_shuts_the_replay_out_is_not_started(option, project, tmp_path):
    body = f"try:\n        subprocess.run([sys.executable, '{option}', 'sub.py', 'a'])\n    except Exception: pass"

    replayed = replay(recorded(["a"], "local"), project(body))

    assert not (tmp_path / "ran").exists()
    assert (replayed.divergences[0].type, replayed.divergences[0].name) == ("unstubbed_tool", f"python {option} sub.py")


def test_an_agent_that_starts_itself_over_does_not_run_where_nobody_answers(project, tmp_path, capfd):
    replayed = replay(recorded(["a"], "local"), project("os.execv(sys.executable, [sys.executable, 'sub.py', 'a'])"))

    assert not (tmp_path / "ran").exists()
    assert (replayed.verdict, replayed.exit_code) == ("diverged", 125)
    assert "does not run" in capfd.readouterr().err


def test_programs_that_are_no_python_run_as_they_are(project, capfd):
    replayed = replay(recorded(["a"], ""), project("tools.search('a'); subprocess.run(['echo', 'hello'], check=True)"))

    assert (replayed.verdict, capfd.readouterr().out) == ("same", "hello\n")


def test_a_named_tool_is_swapped_in_a_program_too_and_nothing_is_imported_for_it(project, tmp_path, capfd):
    named = "print('imported')\nfind = (lambda: lambda q: open('ran', 'a').close())()\n"
    (tmp_path / "named.py").write_text(named)
    (tmp_path / "other.py").write_text("import named\nprint(named.find('a'), flush=True)\n")
    body = "subprocess.run([sys.executable, 'other.py'])\n    subprocess.run([sys.executable, '-c', 'print(1)'])"

    replayed = replay(recorded(["a"], ""), project(body), tools={"search": "named:find"})

    assert not (tmp_path / "ran").exists()
    assert replayed.verdict == "same"
    # Once before the start, where it is swapped, once in the program that imports it, never in the other one.
    assert sorted(capfd.readouterr().out.splitlines()) == ["1", "found a", "imported", "imported"]
