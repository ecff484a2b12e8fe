"""What gives a tool its name is rewritten to pass through the hook, and nothing else of a module is."""

import ast

import pytest

from runreel.replay.boundaries import functions, standing
from runreel.replay.boundaries.registrations import Form, Names, branches, form_of, walk


class Echo:
    def call(self, kind, name, arguments, *, call_id="", defaults=None):
        return "answered"


@pytest.fixture(autouse=True)
def echo():
    functions.connect(Echo())
    standing.expect({"search": "tool"})


def load(source):
    tree = ast.parse(source)
    walked = walk(tree, ["search"])
    names = {"__name__": "agent"}
    exec(compile(tree, "/project/agent.py", "exec"), names)
    return names, walked


LIVE = "def find(q):\n    raise AssertionError('ran')\n"


@pytest.mark.parametrize(
    ("source", "ask"),
    [
        ("T = {'search': find}", "T['search']('x')"),
        ("T = {}\nT['search'] = lambda q: 1 / 0", "T['search']('x')"),
        ("T = dict(search=find)", "T['search']('x')"),
        ("class D: pass\nD.search = find", "D.search('x')"),
        ("search: object = find", "search('x')"),
        ("T = [('search', find)]", "T[0][1]('x')"),
        ("T = []\nif (search := find): T.append(search)", "T[0]('x')"),
        ("T = {}\ndef register(n, f): T[n] = f\nregister('search', find)", "T['search']('x')"),
        ("class Tool:\n    def __init__(s, name, func): s.f = func\nt = Tool(name='search', func=find)", "t.f('x')"),
        ("def tool(n): return lambda f: f\n@tool('search')\ndef other(q): 1 / 0", "other('x')"),
        ("class D:\n    name = 'search'\n    def run(self, q): 1 / 0", "D().run('x')"),
        ("class D:\n    def __init__(self): self.name = 'search'\n    def __call__(self, q): 1 / 0", "D()('x')"),
        ("find.__name__ = 'search'", "find('x')"),
        ("class D:\n    search = staticmethod(find)", "D.search('x')"),
        ("T = [{'name': 'search', 'fn': find}]", "T[0]['fn']('x')"),
        ("T = {'search': (find, {'q': 'text'})}", "T['search'][0]('x')"),
        ("T = {}\nT['search'] = {'fn': find}", "T['search']['fn']('x')"),
        ("T = {'search': None or find}", "T['search']('x')"),
        ("SEARCH = 'search'\nT = {SEARCH: find}", "T['search']('x')"),
        ("SEARCH = 'search'\nT = {}\nT[SEARCH] = find", "T['search']('x')"),
    ],
)
def test_what_stands_under_the_name_answers(source, ask):
    names, walked = load(LIVE + source)

    assert eval(ask, names) == "answered"
    assert [one.name for one in walked.found] == ["search"]


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("search = 'a text'", "search"),
        ("T = {'search': {'type': 'object'}}", "T"),
        ("class Search: pass\nT = {'search': Search}", "T['search'].__name__"),
        ("import threading\nt = threading.Thread(target=int, name='search'); t.start(); t.join()", "t.name"),
        ("def call_tool(n, f): return f()\nx = call_tool('search', lambda: 5)", "x"),
        ("other = lambda: 7", "other()"),
        ("def search(q): 1 / 0\ndef shown(q): return 'shown'\nT = {'search': (search, shown)}", "T['search'][1]('x')"),
        ("name = 'search'\nT = {name: 3, 'other': len}", "T['other']('x')"),
        ("SEARCH = 'search'\nSEARCH = 'other'\ndef f(q): return 7\nT = {SEARCH: f}", "T['other']('x')"),
    ],
)
def test_everything_else_stays_as_it_is(source, result):
    plain = {"__name__": "agent"}
    exec(source, plain)
    names, _ = load(source)

    assert eval(result, names) == eval(result, plain)


def test_lines_and_docstrings_stay_where_they_are():
    tree = ast.parse(
        '"""Of the module."""\nfrom __future__ import annotations\n\nT = {"search": len}\n\nraise KeyError\n'
    )
    walk(tree, ["search"])

    with pytest.raises(KeyError) as caught:
        exec(compile(tree, "/project/agent.py", "exec"), {})

    assert caught.traceback[-1].lineno + 1 == 6
    assert ast.get_docstring(tree) == "Of the module."


def test_a_class_of_the_name_without_a_method_to_call_is_unclear():
    walked = walk(ast.parse("class D:\n    name = 'search'\n    def look(self): ...\n"), ["search"])

    assert (walked.found, walked.unclear) == ([], {"search": [1]})


@pytest.mark.parametrize(
    ("expression", "form"),
    [
        ("lambda: 1", Form("lambda")),
        ("partial(f, 1)", Form("lambda")),
        ("functools.partial(f, 1)", Form("lambda")),
        ("a.b.find", Form("name", "find")),
        ("make(1)", Form("call", "make")),
        ("staticmethod(find)", Form("name", "find")),
        ("None if x else find", Form("name", "find")),
        ("make(1)(2)", Form("other")),
        ("'text'", Form("other")),
    ],
)
def test_an_expression_is_what_reading_tells(expression, form):
    assert form_of(ast.parse(expression, mode="eval").body) == form


def test_names_are_followed_through_assignments_and_circles_end():
    names = Names()
    names.add(ast.parse("def make():\n    def inner(): ...\n    return inner\na = make()\nb = a\nc = d\nd = c\n"))

    assert names.is_callable(Form("name", "b"))
    assert not names.is_callable(Form("name", "c"))
    assert not names.is_callable(Form("name", "absent"))


def test_branches_for_a_name_are_those_that_call_something():
    source = "if n == 'search':\n    find(1)\nelif n == 'other':\n    g()\nif n == 'search':\n    pass\n"

    assert [(one.line, one.calls) for one in branches(ast.parse(source), frozenset({"search"}))] == [
        (2, frozenset({"find"}))
    ]
