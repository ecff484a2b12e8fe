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


def test_a_function_inside_another_one_or_in_a_class_is_not_found(project):
    entry = project(agent="def outer():\n    def closure(): ...\nclass Box:\n    def method(self): ...\n")

    found = find(entry, ["closure", "method", "outer"])

    assert list(found.functions) == ["outer"]


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

    assert not find(project(agent=source), ["refund"]).has("refund")


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
