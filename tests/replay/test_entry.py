"""An agent's entry is found and run as its author runs it, and what cannot be run is named."""

import sys

import pytest

from runreel.errors import EntryPointError
from runreel.replay import entry


@pytest.fixture(autouse=True)
def own_interpreter(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["runreel"])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def write(folder, name, source):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    return path


def as_it_is(code, module, file):
    return code


def test_a_script_has_its_folder_on_the_path_and_its_arguments(tmp_path):
    write(tmp_path, "agents/agent.py", "")

    place = entry.prepare({"script": "agents/agent.py"}, ["--city", "Oslo"])

    assert (place.module, place.file) == ("__main__", str(tmp_path / "agents/agent.py"))
    assert sys.path[0] == str(tmp_path / "agents")
    assert sys.argv == ["agents/agent.py", "--city", "Oslo"]


def test_a_script_runs_as_main_with_its_file_known(tmp_path, capsys):
    path = write(
        tmp_path,
        "agent.py",
        "import sys\nif __name__ == '__main__':\n    print(__file__, sys.modules['__main__'].__dict__ is globals())\n",
    )

    entry.run_script(str(path), as_it_is)

    assert capsys.readouterr().out == f"{path} True\n"


def test_a_scripts_code_goes_through_the_rewriter(tmp_path, capsys):
    path = write(tmp_path, "agent.py", "print('original')")

    entry.run_script(str(path), lambda code, module, file: compile(f"print({module!r})", file, "exec"))

    assert capsys.readouterr().out == "__main__\n"


def test_a_callable_of_a_module_in_the_working_folder_is_called_with_the_input(tmp_path):
    write(tmp_path, "entry_case_agent.py", "seen = []\ndef main(question):\n    seen.append(question)\n")

    place = entry.prepare({"module": "entry_case_agent", "callable": "main"}, ["--x"])
    entry.call(entry.import_callable("entry_case_agent", "main"), ["hello"])

    assert place.file == str(tmp_path / "entry_case_agent.py") == sys.argv[0]
    assert sys.argv[1:] == ["--x"]
    assert sys.modules["entry_case_agent"].seen == ["hello"]


def test_a_coroutine_is_run_and_a_callable_without_parameters_gets_no_input(tmp_path):
    write(
        tmp_path,
        "entry_case_agent.py",
        "seen = []\nasync def later(q):\n    seen.append(q)\ndef main():\n    seen.append('no input')\n"
        "class Box:\n    @staticmethod\n    def run(*, flag=1):\n        seen.append(flag)\n",
    )
    entry.prepare({"module": "entry_case_agent", "callable": "main"}, [])

    for path in ("later", "main", "Box.run"):
        entry.call(entry.import_callable("entry_case_agent", path), ["hello"])

    assert sys.modules["entry_case_agent"].seen == ["hello", "no input", 1]


def test_a_callable_that_says_nothing_of_itself_gets_the_input():
    assert entry.takes_input(print)
    assert entry.takes_input(dict.fromkeys)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"script": "absent.py"}, "there is no script absent.py"),
        ({"module": "entry_case_absent", "callable": "main"}, "there is no module entry_case_absent"),
        ({"module": "sys", "callable": "exit"}, "there is no module sys in Python source"),
        ({"module": "json.absent", "callable": "main"}, "there is no module json.absent"),
    ],
)
def test_an_entry_that_is_not_there_is_named(given, problem):
    with pytest.raises(EntryPointError, match=problem):
        entry.prepare(given, [])


@pytest.mark.parametrize(
    ("source", "path", "problem"),
    [
        ("import entry_case_nowhere\n", "main", "ModuleNotFoundError: No module named 'entry_case_nowhere'"),
        ("import entry_case_broken\n", "main", "SyntaxError: invalid syntax"),
        ("raise ValueError('dana.fields@example.com')\n", "main", r"does not import: ValueError \(.*agent.py:1\)"),
        ("", "main", "entry_case_agent has no main to call"),
        ("main = 5\n", "main", "entry_case_agent:main is no callable"),
    ],
)
def test_an_entry_that_does_not_import_says_why_and_quotes_nothing_of_the_run(tmp_path, source, path, problem):
    write(tmp_path, "entry_case_agent.py", source)
    write(tmp_path, "entry_case_broken.py", "def (\n")
    entry.prepare({"module": "entry_case_agent", "callable": path}, [])

    with pytest.raises(EntryPointError, match=problem) as caught:
        entry.import_callable("entry_case_agent", path)

    assert "dana.fields" not in str(caught.value)


def test_a_script_that_is_no_python_is_named_with_its_line(tmp_path):
    path = write(tmp_path, "agent.py", "x = 1\ndef (\n")

    with pytest.raises(EntryPointError, match=r"agent\.py, line 2 is no Python"):
        entry.run_script(str(path), as_it_is)


def test_a_traceback_begins_in_the_agents_own_code(tmp_path):
    path = write(tmp_path, "agent.py", "def fail():\n    raise ValueError('x')\nfail()\n")

    with pytest.raises(ValueError, match="x") as caught:
        entry.run_script(str(path), as_it_is)
    below_the_test = caught.value.with_traceback(caught.value.__traceback__.tb_next)

    traceback = entry.without_our_frames(below_the_test).__traceback__

    assert traceback.tb_frame.f_code.co_filename == str(path)
