"""How much run text a page may hold: it stays small enough to open and keep, and says where something is not in it."""

from dataclasses import dataclass

from runreel.pages.markup import Markup, Text, element, joined, said
from runreel.text import printable

PAGE_BYTES = 1_400_000
"""Run text in one page, escaped, in UTF-8: with what is around it, a page of 40 steps stays below 2 MB."""
VALUE_CHARS = 20_000
_LEAST_CHARS = 160  # of a value, however full the page is


@dataclass(slots=True)
class Budget:
    """What is left for run text. `whole` is the command that shows everything; `cut` counts the values that are cut."""

    whole: str
    left: int = PAGE_BYTES
    cut: int = 0

    def shown(self, text: str, most: int = VALUE_CHARS) -> tuple[str, int]:
        """Return as much of a text as there is room for, and how many characters are left out."""
        room = self.left // 2 if self.left < 2 * most else most
        part = text[: max(_LEAST_CHARS, min(most, room))]
        # A control character takes up to ten bytes, an escaped quote six.
        self.left -= len(part.encode("utf-8", "replace")) + 5 * sum(map(part.count, "<>&\"'")) + _hidden(part)
        self.left = max(self.left, 0)
        return part, len(text) - len(part)

    def block(self, text: str, class_: str = "value") -> Markup:
        """Return a text as a block, with a word about what is cut off it."""
        part, missing = self.shown(text)
        block = said(part, "pre", class_)
        return block if not missing else joined(block, self.note(missing, len(text)))

    def note(self, missing: int, of: int) -> Markup:
        """Say that something is not in the page, and what shows it."""
        self.cut += 1
        words = f"Cut here: {missing:,} of {of:,} characters are not in this page. Whole: "
        return element("p", Text(words), element("code", Text(self.whole)), class_="cut")


def _hidden(part: str) -> int:
    return 0 if part.isprintable() else max(0, 10 * (len(printable(part)) - len(part)))
