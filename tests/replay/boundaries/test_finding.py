"""Tools are found by reading source: nothing is imported, and what cannot be found is known before anything runs."""

import os
import sys

import pytest

from runreel.replay.boundaries.finding import Place, describe, find, is_users, locate


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Write files of a project; return the entry's place."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in files.items():
            path = tmp_path / (name.replace("__in__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return Place("__main__", str(tmp_path / "agent.py"))

    return write


def test_a_function_of_the_script_and_one_of_a_module_that_it_imports_are_found(project):
    entry = project(agent="import tools\ndef local(): ...\n", tools="async def remote(): ...\n")

    found = find(entry, ["local", "remote", "absent"])

    assert describe(found) == {"local": ["__main__:local"], "remote": ["tools:remote"]}
    assert not found.has("absent")


def test_a_function_is_found_wherever_it_is_defined(project):
    source = "def outer():\n    def closure():\n        def deep(): ...\nclass Box:\n    def method(self): ...\n"

    found = find(project(agent=source), ["closure", "method", "outer", "deep", "Box"])

    assert describe(found) == {
        "outer": ["__main__:outer"],
        "closure": ["__main__:outer.<locals>.closure"],
        "deep": ["__main__:outer.<locals>.closure.<locals>.deep"],
        "method": ["__main__:Box.method"],
    }


@pytest.mark.parametrize(
    "source",
    [
        "def find(q): ...\nTOOLS = {'search': find}\n",
        "import functools\ndef find(q): ...\nsearch = functools.partial(find, index=1)\n",
        "class Desk:\n    def __init__(self):\n        self.search = lambda q: 1\n",
        "class Desk:\n    def find(self, q): ...\ndesk = Desk()\nTOOLS = {}\nTOOLS['search'] = desk.find\n",
        "class Finder:\n    def __call__(self, q): ...\nTOOLS = dict(search=Finder())\n",
        "class Finder:\n    def __call__(self, q): ...\nfinder = Finder()\nregister_tool('search', finder)\n",
        "def make(i):\n    def inner(q): ...\n    return inner\nTOOLS = [('search', make(1))]\n",
        "def make(i): return lambda q: i\nTOOLS = {'search': make(1)}\n",
        "def find(q): ...\nspec = Tool(name='search', func=find)\n",
        "def find(q): ...\nSPECS = [{'name': 'search', 'fn': find}]\n",
        "def find(q): ...\nTOOLS = {'search': (find, {'q': 'text'})}\n",
        "def find(q): ...\nTOOLS = {}\nTOOLS['search'] = {'handler': find, 'schema': {}}\n",
        "def find(q): ...\nTOOLS = {'search': None or find}\n",
        "def find(q): ...\nSEARCH = 'search'\nTOOLS = {SEARCH: find}\n",
        "def find(q): ...\nclass Name(Enum):\n    SEARCH = 'search'\nTOOLS = {}\nTOOLS[Name.SEARCH.value] = find\n",
        "SEARCH = 'search'\n@registry.register(SEARCH)\ndef find(q): ...\n",
        "@registry.register('search')\ndef find(q): ...\n",
        "class Finder:\n    name = 'search'\n    def run(self, q): ...\n",
        "class Finder:\n    def __init__(self):\n        self.name = 'search'\n    def _run(self, q): ...\n",
        "class F(Base):\n    def __init__(self):\n        super().__init__('search')\n    def execute(self): ...\n",
        "class Finder:\n    def run(self, q): ...\nTOOLS = {'search': Finder()}\n",
        "class Finder:\n    def execute(self, q): ...\nTOOLS = {'search': Finder}\n",
        "def find(q): ...\nfind.__name__ = 'search'\n",
        "def find(q): ...\nif (search := find): pass\n",
        "def find(q): ...\nsearch: object = find if True else None\n",
    ],
)
def test_what_is_registered_under_a_tools_name_is_found(project, source):
    assert find(project(agent=source), ["search"]).has("search")


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import lib\nTOOLS = {'search': lib.make()}\n", "agent.py:2 gives this name to something that only running"),
        ("from lib import find\nTOOLS = {'search': find}\n", "agent.py:2 gives this name"),
        ("class Finder:\n    name = 'search'\n    def look(self, q): ...\n", "nothing says which of their methods"),
        ("TOOLS = {'search': 'a text'}\nsearch = None\n", "no module of the agent (1 file read) defines or registers"),
        ("print('search', len)\n", "no module of the agent"),
    ],
)
def test_what_only_running_could_tell_is_not_found_and_said(project, source, reason):
    found = find(project(agent=source), ["search"])

    assert not found.has("search")
    assert reason in found.told("search")


@pytest.mark.parametrize("decoy", ["", "def search(q): ...\n"], ids=["no decoy", "a decoy"])
@pytest.mark.parametrize(
    "branch",
    [
        "if name == 'search':\n    result = find(q)\n",
        "if 'search' == name:\n    result = desk.find(q)\n",
        "match name:\n    case 'search':\n        find(q)\n",
        "match name:\n    case 'search' | 'look':\n        find(q)\n",
        "if name in ('search', 'look'):\n    result = find(q)\n",
        "if name == 'search' and allowed:\n    result = find(q)\n",
        "if name != 'search':\n    pass\nelse:\n    find(q)\n",
        "SEARCH = 'search'\nif name == SEARCH:\n    find(q)\n",
        "result = find(q) if name == 'search' else None\n",
    ],
)
def test_a_branch_that_calls_another_function_for_the_name_is_said(project, branch, decoy):
    found = find(project(agent=f"def find(q): ...\n{decoy}{branch}"), ["search"])

    assert not found.has("search")
    assert "where this name is asked for, calls find" in found.told("search")


def test_a_branch_that_only_logs_hides_no_function_that_is_used(project):
    source = "def search(q): ...\nTOOLS = [search]\nif name == 'search':\n    print(name)\n"

    assert find(project(agent=source), ["search"]).has("search")


def test_a_function_that_nobody_uses_beside_one_that_is_named_like_the_tool_is_said(project):
    source = (
        "def search(q): ...\nclass Desk:\n    def do_search(self, q): ...\n"
        "    def use(self, n):\n        getattr(self, 'do_' + n)()\n"
    )

    found = find(project(agent=source), ["search"])

    assert not found.has("search")
    assert found.told("search") == "nobody uses __main__:search by its name, and do_search may be what is meant"
    assert find(project(agent=source + "search('x')\n"), ["search"]).has("search")
    assert find(project(agent=source + "TOOLS = [Desk.do_search]\n"), ["search"]).has("search")


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess\nsubprocess.run(['python', 'sub.py'])\n",
        "from pathlib import Path\nscript = Path(__file__).with_name('sub.py')\n",
        "import subprocess\nsubprocess.run(['python', '-m', 'sub', 'x'])\n",
        "import subprocess, sys\nsubprocess.run((sys.executable, '-m', 'sub'))\n",
    ],
)
def test_programs_that_a_module_names_are_read_as_well(project, source):
    entry = project(agent=source, sub="def search(q): ...\n")

    assert find(entry, ["search"]).has("search")


def test_texts_that_only_look_like_programs_are_passed_over(project):
    found = find(project(agent="names = ['absent.py', '-m', 'nowhere.at.all', '-m', 7]\n"), ["search"])

    assert len(found.files) == 1


@pytest.mark.parametrize("given", ["Finder", "Finder()", "finder"])
def test_an_object_that_may_be_the_tool_hides_no_function_of_the_same_name(project, given):
    source = "def search(q): ...\nclass Finder:\n    def look(self, q): ...\nfinder = Finder()\n"
    found = find(project(agent=f"{source}TOOLS = {{'search': {given}}}\nsearch('x')\n"), ["search"])

    assert not found.has("search")
    assert "nothing says which of its methods is the call" in found.told("search")


def test_a_class_of_data_beside_a_function_of_the_name_is_no_tool(project):
    source = "class Arguments:\n    q: str = ''\ndef search(q): ...\nSCHEMAS = {'search': Arguments}\nsearch('x')\n"

    assert find(project(agent=source), ["search"]).has("search")


def test_a_class_that_may_be_the_tool_hides_no_function_of_the_same_name(project):
    source = "def search(q): ...\nclass Finder:\n    name = 'search'\n    def look(self, q): ...\n"

    assert not find(project(agent=source), ["search"]).has("search")


@pytest.mark.parametrize(
    "source",
    [
        "if True:\n    def search(): ...\n",
        "try:\n    def search(): ...\nexcept ImportError:\n    pass\n",
        "with open('x') as f:\n    def search(): ...\n",
        "import functools\n@functools.cache\ndef search(): ...\n",
    ],
)
def test_a_definition_below_a_statement_of_the_module_is_found(project, source):
    assert find(project(agent=source), ["search"]).has("search")


@pytest.mark.parametrize(
    "source",
    [
        "from package import tools",
        "from package.tools import search",
        "import package.tools",
        "def main():\n    from package import tools",
        "from package import inner",
    ],
)
def test_imports_of_every_form_and_place_are_followed(project, source):
    entry = project(
        agent=source + "\n",
        package__in__tools="def search(): ...\n",
        package__in__inner="from .tools import search\n",
        package__in____init__="",
    )

    assert find(entry, ["search"]).has("search")


def test_relative_imports_are_followed_from_a_package_in_a_package(project):
    entry = project(
        agent="import a.b.agent\n",
        a__in__b__in__agent="from ..tools import search\nfrom . import more\n",
        a__in__b__in__more="def other(): ...\n",
        a__in__tools="def search(): ...\n",
        a__in____init__="",
        a__in__b__in____init__="",
    )

    assert {"search", "other"} == set(find(entry, ["search", "other"]).functions)


def test_packages_without_an_init_file_are_followed(project):
    entry = project(agent="import space.tools\n", space__in__tools="def search(): ...\n")

    assert find(entry, ["search"]).has("search")


def test_modules_that_import_each_other_are_read_once(project):
    entry = project(agent="import one\n", one="import two\n", two="import one\ndef search(): ...\n")

    found = find(entry, ["search"])

    assert found.has("search")
    assert len(found.files) == 3


def test_what_only_a_server_or_another_program_has_is_not_the_agents_own(project):
    entry = project(
        agent="import shared, own\nfrom agents.mcp import MCPServerStdio\nSERVER = ['server.py']\n",
        server="from mcp.server.fastmcp import FastMCP\nimport shared\ndef served(): ...\n",
        shared="def both(): ...\n",
        own="def local(): ...\nHANDLERS = {'named': local}\n",
    )
    names = ["served", "both", "local", "named", "nowhere"]

    found = find(entry, names)

    assert found.of_agent(names) == ["local", "named"]
    assert found.of_agent(names, served=["local"]) == []
    assert found.uses_mcp
    assert [name for name in names if found.is_unknown(name)] == ["nowhere"]


def test_tools_in_a_file_that_serves_them_are_the_servers_though_the_agent_is_in_it_too(project):
    entry = project(agent="from mcp.server.mcpserver import MCPServer\ndef served(): ...\n")

    assert find(entry, ["served"]).of_agent(["served"]) == []


def test_a_boundary_of_the_recorder_is_the_agents_own_and_an_agent_without_mcp_does_not_use_it(project):
    entry = project(agent="import runreel.record as rr\n@rr.tool\ndef mine(): ...\n", server="import mcp\n")

    found = find(entry, ["mine"])

    assert found.of_agent(["mine"]) == ["mine"]
    assert not found.uses_mcp


def test_nothing_is_imported(project):
    entry = project(agent="import loud\n", loud="raise SystemExit('imported')\ndef search(): ...\n")

    assert find(entry, ["search"]).has("search")
    assert "loud" not in sys.modules


def test_libraries_are_not_searched(project):
    entry = project(agent="import json, pytest\n")

    assert not find(entry, ["dumps", "main"]).functions
    assert find(entry, []).files.keys() == {entry.file}


def test_a_file_that_is_no_python_is_listed_with_the_reason(project):
    entry = project(agent="import broken\n", broken="def (:\n")

    found = find(entry, ["search"])

    assert [reason.partition(":")[0] for reason in found.unreadable.values()] == ["SyntaxError"]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import runreel.record as rr\n@rr.tool(side_effect=True)\ndef refund(): ...\n", "refund"),
        ("import runreel.record as rr\ndef make():\n    @rr.tool\n    def refund(): ...\n", "refund"),
        ("from runreel.record import tool\n@tool(name='pay')\ndef refund(): ...\n", "pay"),
        ("from runreel import record\nsearch = record.retriever('kb', index_version='1')(print)\n", "kb"),
        (
            "import runreel.record\ndef g():\n    @runreel.record.tool\n    def h(): ...\n",
            "h",
        ),
    ],
)
def test_the_recorders_boundaries_are_found_wherever_they_stand(project, source, name):
    assert find(project(agent=source), [name]).boundaries == {name}


@pytest.mark.parametrize("decorator", ["tool", "tool(name='refund')", "server.tool('refund')"])
def test_a_frameworks_decorator_of_the_same_name_is_no_boundary(project, decorator):
    source = f"from framework import server, tool\ndef make():\n    @{decorator}\n    def refund(): ...\n"

    assert not find(project(agent=source), ["refund"]).boundaries


def test_a_folder_inside_a_library_place_counts_as_the_users_own_when_it_is_named(tmp_path):
    library = os.path.dirname(os.__file__)

    assert not is_users(f"{library}/json/decoder.py")
    assert is_users(f"{library}/json/decoder.py", [f"{library}/json"])
    assert not is_users(f"{library}/json/decoder.py", [os.path.dirname(library)])
    assert is_users(str(tmp_path / "agent.py"))
    assert not is_users("<string>")
    assert not is_users(None)


def test_locate_names_the_packages_on_the_way(project):
    project(package__in____init__="", package__in__tools="")

    assert [place.module for place in locate("package.tools")] == ["package", "package.tools"]
    assert locate("nowhere.at.all") == []
    assert locate("sys") == []
