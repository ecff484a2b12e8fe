"""Read the command line of a Python program: what it runs, and which options stand before that."""

from collections.abc import Sequence
from typing import NamedTuple


class Command(NamedTuple):
    """`how` is `script`, `-c`, `-m`, or nothing where the program comes from standard input; `place` is where it stands
    among the words, `letters` are the short options before it."""

    how: str
    place: int
    letters: frozenset[str]

    @property
    def shuts_out(self) -> bool:
        """Say whether it takes no part in what the environment says (-E, -I) or sets up (-S)."""
        return bool(self.letters & {"E", "I", "S"})


def read(words: Sequence[str]) -> Command:
    """Read a command line whose first word is the interpreter."""
    place = 1
    letters: set[str] = set()
    while place < len(words):
        word = words[place]
        if not word.startswith("-") or word == "-":
            return Command("" if word == "-" else "script", place, frozenset(letters))
        if word.startswith("--"):
            place += 2 if word == "--check-hash-based-pycs" else 1
            continue
        with_value = next((one for one in word[1:] if one in "cmWX"), "")
        letters |= set(word[1:].partition(with_value)[0] if with_value else word[1:])
        if with_value in ("c", "m"):
            return Command(f"-{with_value}", place, frozenset(letters))
        place += 2 if with_value and word.endswith(with_value) else 1
    return Command("", place, frozenset(letters))
