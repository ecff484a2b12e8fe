"""No line of a recorded tool runs once its module has been loaded through the swapper."""

import sys

import pytest

from runreel.errors import RefusedError
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.swapping import Swapper, Target, paths_in


class Answers:
    def call(self, kind, name, arguments, *, call_id="", defaults=None):
        return f'"{kind} {name}"'


@pytest.fixture(autouse=True)
def answers():
    functions.connect(Answers())


def load(swapper, source, module="agent", file="/project/agent.py"):
    names = {"__name__": module}
    exec(swapper.rewrite(compile(source, file, "exec"), module, file), names)
    return names


def test_a_recorded_tool_never_runs_and_other_functions_do():
    swapper = Swapper({"search": "tool"})

    names = load(swapper, "def search(q): raise AssertionError\ndef other(): return 7\n")

    assert names["search"]("x") == "tool search"
    assert names["other"]() == 7
    assert swapper.done == {"search": ["agent:search"]}


def test_the_script_that_runs_at_once_is_swapped_before_it_runs():
    swapper = Swapper({"search": "tool"})

    names = load(swapper, "def search(q): raise AssertionError\nfound = search('x')\n", "__main__")

    assert names["found"] == "tool search"


def test_a_decorator_gets_the_swapped_function():
    source = "import functools\n@functools.lru_cache\ndef search(q):\n    'Find.'\n    raise AssertionError\n"

    names = load(Swapper({"search": "tool"}), source)

    assert names["search"]("x") == "tool search"
    assert names["search"].__doc__ == "Find."


def test_a_library_is_left_alone():
    import json.decoder

    swapper = Swapper({"scanstring": "tool", "search": "tool"})

    names = load(swapper, "def search(q): return 'library'\n", "json.decoder", json.decoder.__file__)

    assert names["search"]("x") == "library"


def test_a_target_is_swapped_by_its_own_name_and_only_there():
    swapper = Swapper({"search": "tool"}, {"search": Target("agent", "Toolbox.find")})

    names = load(
        swapper,
        "class Toolbox:\n    limit = 3\n    def find(self, q): raise AssertionError\n"
        "    def last(self): return self.limit\n"
        "def search(q): return 'not it'\n",
    )

    assert names["Toolbox"]().find("x") == "tool search"
    assert names["Toolbox"]().last() == 3
    assert names["search"]("x") == "not it"
    assert swapper.done == {"search": ["agent:Toolbox.find"]}


def test_a_method_that_calls_super_is_swapped():
    source = (
        "class Toolbox(dict):\n    def find(self, q): return super().get(q)\n    def two(self): return super().copy()\n"
    )

    names = load(Swapper({"search": "tool"}, {"search": Target("agent", "Toolbox.find")}), source)

    assert names["Toolbox"]().find("x") == "tool search"
    assert names["Toolbox"](a=1).two() == {"a": 1}


def test_the_functions_a_module_defines_itself_are_named():
    source = "def a():\n    def b(): ...\nclass C:\n    def d(self): ...\n    class E:\n        def f(self): ...\n"
    source += "g = lambda: 1\n"

    assert set(paths_in(compile(source, "x", "exec"))) == {"a", "a.<locals>.b", "C.d", "C.E.f", "<lambda>"}


@pytest.fixture
def module(tmp_path, monkeypatch):
    def write(name, source):
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))

    yield write
    for name in [name for name in sys.modules if name.startswith("swapping_case")]:
        del sys.modules[name]


def test_a_target_that_was_made_by_a_function_is_swapped_once_it_is_imported(module):
    module(
        "swapping_case", "def make(n):\n    def inner(q): raise AssertionError(n)\n    return inner\nsearch = make(1)\n"
    )
    swapper = Swapper({"find": "tool"}, {"find": Target("swapping_case", "search")})

    assert swapper.swap_targets() == {}
    assert sys.modules["swapping_case"].search("x") == "tool find"


@pytest.mark.parametrize(
    ("source", "path", "problem"),
    [
        ("x = 1\n", "search", "swapping_case:search is not there"),
        ("search = 1\n", "search", "is no Python function but int"),
        ("from math import sqrt as search\n", "search", "is no Python function but builtin_function_or_method"),
        ("raise ValueError('dana.fields@example.com')\n", "search", "swapping_case does not import (ValueError)"),
    ],
)
def test_a_target_that_cannot_be_swapped_is_named_with_the_reason_and_no_text_of_the_run(module, source, path, problem):
    module("swapping_case", source)

    problems = Swapper({"find": "tool"}, {"find": Target("swapping_case", path)}).swap_targets()

    assert list(problems) == ["find"]
    assert problems["find"].endswith(problem)


def test_a_static_method_is_a_target(module):
    module("swapping_case", "class Toolbox:\n    @staticmethod\n    def find(q): raise AssertionError\n")
    swapper = Swapper({"find": "tool"}, {"find": Target("swapping_case", "Toolbox.find")})

    assert swapper.swap_targets() == {}
    assert sys.modules["swapping_case"].Toolbox.find("x") == "tool find"


def test_the_targets_of_a_program_that_the_agent_starts_are_swapped_once_it_imports_them(module):
    module("swapping_case_late", "search = (lambda: lambda q: 1 / 0)()\n")
    module("swapping_case_never", "raise SystemExit('imported')\n")
    targets = {"find": Target("swapping_case_late", "search"), "other": Target("swapping_case_never", "f")}

    Swapper({"find": "tool", "other": "tool"}, targets).swap_when_imported()
    import swapping_case_late

    assert swapping_case_late.search("x") == "tool find"
    assert "swapping_case_never" not in sys.modules


def test_a_target_that_is_not_in_the_module_ends_what_imports_it(module):
    module("swapping_case_empty", "x = 1\n")

    Swapper({"find": "tool"}, {"find": Target("swapping_case_empty", "search")}).swap_when_imported()

    with pytest.raises(RefusedError, match="tool find would run for real: swapping_case_empty:search is not there"):
        import swapping_case_empty  # noqa: F401
