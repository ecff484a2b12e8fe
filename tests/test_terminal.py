"""Lines fold at words on a terminal, and stay whole elsewhere."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from runreel.terminal import draw, fitted, fold


def printed(line: str, *, terminal: bool, width: int = 40, hang: int = 0) -> str:
    out = io.StringIO()
    fold(Console(file=out, force_terminal=terminal, color_system=None, width=width), Text(line), hang)
    return out.getvalue()


def test_what_does_not_fit_goes_on_below_indented() -> None:
    assert printed("  was  one two three four five six seven eight", terminal=True, width=32, hang=7) == (
        "  was  one two three four\n       five six seven eight\n"
    )


def test_a_line_without_a_hang_goes_on_below_its_own_beginning() -> None:
    assert printed("    aaaaaaaaaaaa bbbbbbbbbbbbbbbbbbbb", terminal=True, width=30) == (
        "    aaaaaaaaaaaa\n    bbbbbbbbbbbbbbbbbbbb\n"
    )


@pytest.mark.parametrize("line", ["", "short", "word " * 100])
def test_a_pipe_gets_the_line_as_it_is(line: str) -> None:
    assert printed(line, terminal=False) == line + "\n"


@given(st.text(st.sampled_from("ab ❄字"), max_size=200), st.integers(1, 60), st.integers(0, 9))
def test_no_character_but_spaces_is_lost(line: str, width: int, hang: int) -> None:
    assert "".join(printed(line, terminal=True, width=width, hang=hang).split()) == "".join(line.split())


@pytest.mark.parametrize("terminal", [True, False])
def test_a_line_in_a_tree_is_cut_with_an_ellipsis_on_a_terminal_alone(terminal: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, color_system=None, width=20)
    tree = Tree("steps")
    tree.add(fitted(console, Text("a line that is longer than that")))

    draw(console, tree)

    assert out.getvalue().splitlines()[1] == (
        "└── a line that is …" if terminal else "└── a line that is longer than that"
    )
