"""Python programs that an agent starts, in every way there is, are answered from the record like the agent itself."""

import dataclasses
import tempfile
import textwrap

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

async def start(q):
    program = await asyncio.create_subprocess_exec(sys.executable, 'sub.py', q)
    await program.wait()

def worker(how, q):
    process = multiprocessing.get_context(how).Process(target=in_worker, args=(q,))
    process.start()
    process.join()

def main():
{body}

if __name__ == "__main__":
    main()
"""
WAYS = {
    "script": "subprocess.run([sys.executable, 'sub.py', '{q}'], check=True)",
    "options": "subprocess.run([sys.executable, '-u', '-X', 'dev', '-W', 'ignore', 'sub.py', '{q}'], check=True)",
    "nested": "subprocess.run([sys.executable, 'sub.py', '{q}', '{q}2'], check=True)",
    "module": "subprocess.run([sys.executable, '-m', 'sub', '{q}'], check=True)",
    "shell": "subprocess.run(f'{{sys.executable}} sub.py {q}', shell=True, check=True)",
    "system": "os.system(f'{{sys.executable}} sub.py {q}')",
    "environment": "subprocess.run([sys.executable, 'sub.py', '{q}'], env={{'PATH': '/usr/bin'}}, check=True)",
    "all descriptors": "subprocess.run([sys.executable, 'sub.py', '{q}'], close_fds=False, check=True)",
    "asyncio": "asyncio.run(start('{q}'))",
    "posix_spawn": "os.waitpid(os.posix_spawn(sys.executable, [sys.executable, 'sub.py', '{q}'], {{}}), 0)",
    "fork and exec": "os.fork() and os.wait() or os.execv(sys.executable, [sys.executable, 'sub.py', '{q}'])",
    "code": "subprocess.run([sys.executable, '-c', 'import tools; print(tools.search(\"{q}\"))'])",
    "standard input": "subprocess.run([sys.executable], input=b'import tools\\nprint(tools.search(\"{q}\"))\\n')",
    "multiprocessing": "worker('spawn', '{q}')",
    "forked worker": "worker('fork', '{q}')",
}
WITHOUT_LOCAL = {"code", "standard input", "multiprocessing", "forked worker"}
QUERIES = {way: [f"q{n}", f"q{n}2"] if way == "nested" else [f"q{n}"] for n, way in enumerate(WAYS)}


def write(folder, body):
    (folder / "tools.py").write_text(TOOLS)
    (folder / "sub.py").write_text(SCRIPT)
    (folder / "agent.py").write_text(AGENT.format(body=textwrap.indent(body, "    ")))
    return str(folder / "agent.py")


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda body: write(tmp_path, body)


def recorded(queries, local=()):
    spans = [
        tool(f"{n:016x}", ROOT, name, {"q": query}, f"{word} {query}", at=n * 20)
        for n, (name, query, word) in enumerate(
            [
                *(("search", query, "found") for query in queries),
                *(("local", query, "here") for query in local),
            ],
            256,
        )
    ]
    return run_of(*spans)


@pytest.fixture(scope="module")
def all_ways(tmp_path_factory):
    """Replay one agent that starts programs in every way; return the replay, what each way printed, and the folder."""
    folder = tmp_path_factory.mktemp("ways")
    body = "\n".join(f"print('WAY {way}', flush=True)\n{code.format(q=QUERIES[way][0])}" for way, code in WAYS.items())
    queries = [query for some in QUERIES.values() for query in some]
    local = [query for way, some in QUERIES.items() if way not in WITHOUT_LOCAL for query in some]
    run = recorded(queries, local)
    # Nothing orders what happened in one program and in another.
    run = dataclasses.replace(run, steps=tuple(dataclasses.replace(step, after=frozenset()) for step in run.steps))
    with tempfile.TemporaryFile() as out:
        replayed = replay(run, write(folder, body), cwd=folder, stdout=out)
        out.seek(0)
        printed = out.read().decode()
    found = {}
    for line in printed.splitlines():
        if line.startswith("WAY "):
            lines = found.setdefault(line.removeprefix("WAY "), [])
        else:
            lines.append(line)
    return replayed, found, folder


@pytest.mark.parametrize("way", WAYS)
def test_a_program_is_answered_however_it_was_started(way, all_ways):
    _, printed, _ = all_ways

    if way in WITHOUT_LOCAL:
        assert printed[way] == [f"found {query}" for query in QUERIES[way]]
    else:
        assert [line.split()[:5] for line in printed[way]] == [
            ["found", query, "here", query, "__main__"] for query in QUERIES[way]
        ]


def test_nothing_of_them_ran_for_real_and_the_report_says_that_they_were_answered(all_ways):
    replayed, _, folder = all_ways

    assert not (folder / "ran").exists()
    assert (replayed.verdict, [(one.type, one.name) for one in replayed.divergences]) == ("same", [])
    assert "sub.py, a program that the agent started, was answered too" in replayed.notes
    assert "a process that the agent forked was answered too" in replayed.notes


def test_what_a_program_asks_beyond_the_record_is_a_divergence(project, tmp_path):
    body = "subprocess.run([sys.executable, 'sub.py', 'b'], stderr=subprocess.DEVNULL)"

    replayed = replay(recorded(["a"], ["a"]), project(body))

    assert not (tmp_path / "ran").exists()
    first = replayed.divergences[0]
    assert (first.type, first.name, first.path) == ("input_mismatch", "search", "/q")


@pytest.mark.parametrize("option", ["-I", "-E", "-SB"])
def test_a_program_that_shuts_the_replay_out_is_not_started(option, project, tmp_path):
    body = f"try:\n    subprocess.run([sys.executable, '{option}', 'sub.py', 'a'])\nexcept Exception: pass"

    replayed = replay(recorded(["a"], ["a"]), project(body))

    assert not (tmp_path / "ran").exists()
    assert (replayed.divergences[0].type, replayed.divergences[0].name) == ("unstubbed_tool", f"python {option} sub.py")


def test_an_agent_that_starts_itself_over_does_not_run_where_nobody_answers(project, tmp_path, capfd):
    replayed = replay(recorded(["a"], ["a"]), project("os.execv(sys.executable, [sys.executable, 'sub.py', 'a'])"))

    assert not (tmp_path / "ran").exists()
    assert (replayed.verdict, replayed.exit_code) == ("diverged", 125)
    assert "does not run" in capfd.readouterr().err


def test_programs_that_are_no_python_run_as_they_are(project, capfd):
    replayed = replay(recorded(["a"]), project("tools.search('a'); subprocess.run(['echo', 'hello'], check=True)"))

    assert (replayed.verdict, capfd.readouterr().out) == ("same", "hello\n")


def test_a_named_tool_is_swapped_in_a_program_too_and_nothing_is_imported_for_it(project, tmp_path, capfd):
    named = "print('imported')\nfind = (lambda: lambda q: open('ran', 'a').close())()\n"
    (tmp_path / "named.py").write_text(named)
    (tmp_path / "other.py").write_text("import named\nprint(named.find('a'), flush=True)\n")
    body = "subprocess.run([sys.executable, 'other.py'])\nsubprocess.run([sys.executable, '-c', 'print(1)'])"

    replayed = replay(recorded(["a"]), project(body), tools={"search": "named:find"})

    assert not (tmp_path / "ran").exists()
    assert replayed.verdict == "same"
    # Once before the start, where it is swapped, once in the program that imports it, never in the other one.
    assert sorted(capfd.readouterr().out.splitlines()) == ["1", "found a", "imported", "imported"]
