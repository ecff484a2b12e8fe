import pytest

from runreel.collector import yaml_lines
from runreel.collector.config import parse
from runreel.errors import ConfigError


def read(text, **env):
    return yaml_lines.read(text, env)


def test_every_value_has_its_line():
    found = read("a:\n  b: 1\n  c:\n    - x\n    - y\n")

    assert found.data == {"a": {"b": 1, "c": ["x", "y"]}}
    assert found.line(("a", "b")) == 2
    assert found.line(("a", "c", 1)) == 5
    assert found.line(("a", "c", 7, "deeper")) == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${env:PORT}", 4317),
        ("'${env:PORT}'", "4317"),
        ("127.0.0.1:${env:PORT}", "127.0.0.1:4317"),
        ("${PORT}", 4317),
        ("${env:MISSING:-7}", 7),
        ("${env:MISSING:-}", None),
        ("${env:EMPTY:-7}", None),
        ("$${env:PORT}", "${env:PORT}"),
        ("a$$b", "a$b"),
        ("plain", "plain"),
    ],
)
def test_references_are_replaced_and_then_typed(text, value):
    found = read(f"a: {text}", PORT="4317", EMPTY="")

    assert (found.data, found.problems) == ({"a": value}, ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a: ${env:NOPE}",
            "line 1: a: the environment variable NOPE is not set: set it, or write ${env:NOPE:-default}",
        ),
        ("a: ${file:x}", "line 1: a: ${file:x} is no reference"),
        ("b: 1\na: 2\na: 3", "line 3: a: the key 'a' is given twice, first in line 2"),
        ("1.5: x", "line 1: a key must be text"),
        ("? [x]\n: 1", "line 1: a key must be text"),
        ("a: &x [*x]", "line 1: a::0: an anchor (&) refers to itself"),
        ("a: !!python/object:os.system x", "line 1: a: cannot be read as"),
        ("a: [1, ", "line 1: not YAML:"),
        ("a: 1\n---\nb: 2", "line 2: not YAML:"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, said):
    problems = [str(problem) for problem in read(text).problems]

    assert len(problems) == 1
    assert problems[0].startswith(said)


def test_a_file_that_expands_without_end_is_refused():
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]" for n in range(1, 9)]

    found = read("\n".join(lines))

    assert ["too many values" in str(problem) for problem in found.problems] == [True]


def test_an_alias_used_twice_is_no_loop():
    found = read("a: &x {k: 1}\nb: *x\n")

    assert (found.data, found.problems) == ({"a": {"k": 1}, "b": {"k": 1}}, ())


@pytest.mark.parametrize("depth", [150, 400, 5000])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_what_is_nested_too_deeply_is_a_problem_and_no_crash(depth: int, pair: str) -> None:
    opened = pair[0] + ("a: " if pair == "{}" else "")

    with pytest.raises(ConfigError, match=r"x\.yaml: "):
        parse(opened * depth + pair[1] * depth, "x.yaml", {})
