"""What an agent's own modules say is read: imports, settings, tools, however they are written down."""

import textwrap

import pytest

from looking_kit import project  # noqa: F401 - a fixture
from runreel.replay.boundaries.finding import Place
from runreel.replay.looking.sources import read


@pytest.fixture
def sources(project, monkeypatch):  # noqa: F811
    def of(**modules):
        folder = project(**{name: textwrap.dedent(source) for name, source in modules.items()})
        monkeypatch.syspath_prepend(str(folder))
        return read(Place("agent", str(folder / "agent.py")))

    return of


@pytest.mark.parametrize(
    "source",
    [
        "def search(q): ...\nAgent(tools=[search])",
        "def search(q): ...\nTOOLS = [search]\nAgent(tools=[tool(one) for one in TOOLS])",
        "def search(q): ...\nTOOLS = (search,)\nAgent(tools=MORE + [*TOOLS])",
        "def search(q): ...\nmodel.bind_tools([search])",
        "def search(q): ...\nAgent(tools=[FunctionTool(fn=search)])",
        "Agent(tools=[Tool(name='search', func=lambda q: q)])",
        "@tool\ndef search(q): ...",
        "@tool('search')\ndef find(q): ...",
        "@agent.tool_plain(name='search')\ndef find(q): ...",
        "class Search(BaseTool):\n    name: str = 'search'\n    def _run(self, q): ...",
        "SPEC = {'name': 'search', 'description': 'Finds.', 'input_schema': {}}",
        "def search(q): ...\nSCHEMAS = {'search': {}}\nask(**{'tools': [schema(one) for one in SCHEMAS.items()]})",
    ],
)
def test_a_tool_is_read_however_the_model_is_told_of_it(source, sources):
    assert list(sources(agent=source).tools) == ["search"]


def test_lists_of_tools_are_followed_into_other_modules(sources):
    found = sources(agent="import kit\nAgent(tools=kit.TOOLS)", kit="def search(q): ...\nTOOLS = [search]")

    assert found.tools == {"search": "agent.py:2"}
    assert sorted(map(str, found.found.files.values())) == ["agent", "kit"]


@pytest.mark.parametrize(
    "source",
    [
        "def search(q): ...\nsearch('x')",
        "def _search(q): ...\nAgent(tools=[_search])",
        "TOOLS = TOOLS\nAgent(tools=TOOLS)",
        "names = {'name': 'search', 'age': 3}",
        "def options(): ...\ndef make(x): ...\nAgent(tools=[make(one) for one in MORE] if options.all else [])",
        "class Search(Base):\n    name = 'search'",
    ],
)
def test_what_no_model_is_told_of_is_no_tool(source, sources):
    found = sources(agent=source)

    assert (found.tools, found.made) == ({}, {})


def test_a_tool_that_a_library_makes_is_told_as_it_is_written(sources):
    found = sources(agent="from library import search\nclass Mine: ...\nAgent(tools=[search.Web(max=3), Mine()])")

    assert found.made == {"search.Web(...)": "agent.py:3"}


def test_the_recorders_boundaries_are_known_apart(sources):
    found = sources(agent="import runreel.record as rr\n@rr.tool\ndef search(q): ...\n")

    assert found.recorder == {"search"}


def test_an_import_is_sure_only_where_nothing_decides_over_it(sources):
    found = sources(agent="import openai\nif x:\n    import anthropic\ndef f():\n    from google import genai\n")

    assert found.imported("openai").sure
    assert not found.imported("anthropic").sure
    assert not found.imported("google.genai").sure
    assert found.imported("goog") is None


def test_the_surest_of_several_imports_counts(sources):
    found = sources(agent="def f():\n    import openai\nimport openai\n")

    assert (found.imported("openai").place, found.imported("openai").sure) == ("agent.py:3", True)


def test_settings_that_the_code_makes_are_read(sources):
    found = sources(agent="import os\nos.environ['A'] = '1'\nos.environ.setdefault('B', '2')\nother['C'] = '3'\n")

    assert found.settings == {"A": "1", "B": "2"}


def test_a_file_that_is_no_python_is_told_and_the_rest_is_read(sources):
    found = sources(agent="import broken\nimport openai", broken="def (")

    assert found.imported("openai") is not None
    assert [why.partition(":")[0] for why in found.found.unreadable.values()] == ["SyntaxError"]
