"""Lines for people: folded at words where a terminal would break them anywhere, whole where something reads along."""

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

_UNBOUNDED = 100_000
_LEAST = 24  # columns for text, however deep the indentation


def fold(console: Console, line: Text, hang: int = 0) -> None:
    """Print one line; on a terminal, what does not fit goes on below it, indented by `hang`."""
    if not console.is_terminal:
        console.print(line, soft_wrap=True)
        return
    lead = len(line.plain) - len(line.plain.lstrip(" "))
    hang = max(hang, lead)
    folded = line[lead:].wrap(console, max(console.width - hang, _LEAST)) if line.plain.strip() else [line]
    for number, part in enumerate(folded):
        part.rstrip()
        console.print(Text(" " * (hang if number else lead)).append_text(part), soft_wrap=True)


def fitted(console: Console, line: Text) -> Text:
    """Return a line that a terminal cuts with an ellipsis where it ends; elsewhere it stays whole."""
    if console.is_terminal:
        line.no_wrap, line.overflow = True, "ellipsis"
    return line


def draw(console: Console, tree: Tree) -> None:
    """Print a tree; what does not fit is folded on a terminal, inside the tree, and never cut elsewhere."""
    if console.is_terminal:
        console.print(tree)
    else:
        width, console.width = console.width, _UNBOUNDED  # a width given to `print` cannot be above the console's
        console.print(tree, soft_wrap=True)
        console.width = width
