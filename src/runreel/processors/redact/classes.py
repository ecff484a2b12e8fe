"""What may be declared about values: their class, by tool, attribute or source, with JSON pointers to the places."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from runreel.errors import ConfigError

Class = Literal["drop", "token", "hash", "regulated", "keep"]
"""`drop` takes a value out, `token` puts a token in the place of each text and number in it, `hash` the same with a
token that the vault never learns, `regulated` one token in the place of the whole value whatever its shape; `keep`
leaves personal data in it (never secrets)."""

CLASSES: tuple[Class, ...] = get_args(Class)
DECLARED = ("FIELD", "HASH", "REGULATED")
"""Entities of the tokens that stand for declared values."""

Pointer = tuple[str, ...]
"""The members that a JSON pointer leads through; `*` is any one member."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One declaration; exactly one of `tool`, `attribute` and `source` is set.

    Attributes:
        kind: The class.
        tool: Name of a tool; the pointer leads into its arguments and its result.
        attribute: Name of an attribute, or the start of one before a `*`; the pointer leads into its value.
        source: Name of an index, or what a document says it comes from: the text of such documents.
        pointer: Where in the value; empty for all of it.
    """

    kind: Class
    tool: str = ""
    attribute: str = ""
    source: str = ""
    pointer: Pointer = ()


def rules(written: Sequence[dict[str, str]]) -> tuple[Rule, ...]:
    """Return what a configuration declares. Raises ConfigError with every problem."""
    problems: list[str] = []
    out: list[Rule] = []
    for place, body in enumerate(written):
        try:
            out.append(rule(body))
        except ValueError as error:
            problems.append(f"classes[{place}]: {error}")
    if problems:
        raise ConfigError("redact", problems)
    return tuple(out)


def rule(body: dict[str, str]) -> Rule:
    """Return one declaration: a map with `class`, one of `tool`, `attribute`, `source`, and perhaps `pointer`.

    Raises ValueError with what is wrong and what to write.
    """
    kind = body.get("class", "")
    if kind not in CLASSES:
        raise ValueError(f"class: {kind!r} is no class: write one of {', '.join(CLASSES)}")
    named = [name for name in ("tool", "attribute", "source") if body.get(name)]
    if len(named) != 1:
        what = "none is" if not named else f"{' and '.join(named)} are"
        raise ValueError(f"{what} there: write exactly one of tool, attribute, source")
    if body.get("pointer") and named == ["source"]:
        raise ValueError("pointer: a source has none, the text of its documents is meant: leave it out")
    where = {name: body[name] for name in named}
    if "*" in where.get("attribute", "")[:-1]:
        raise ValueError(f"attribute: {where['attribute']!r}: a * may only stand at the end")
    return Rule(kind, pointer=pointer(body.get("pointer", "")), **where)


def pointer(text: str) -> Pointer:
    """Return the members of a JSON pointer (`/customer/iban`, `/items/*/name`). Raises ValueError."""
    if not text:
        return ()
    if not text.startswith("/"):
        raise ValueError(
            f"pointer: {text!r} is no JSON pointer: write it with a / before each member, as in /customer/iban"
        )
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))


def contract(entries: Sequence[object]) -> tuple[tuple[Class, Pointer], ...]:
    """Return what a sender declares in `replay.sensitive`: pointers, each with a class before it where it is not
    `token` (`regulated:/customer`).

    A sender can only ask for more than is done anyhow: `keep` counts as `token`, and what cannot be read is left out.
    """
    out: list[tuple[Class, Pointer]] = []
    for entry in entries:
        if not isinstance(entry, str):
            continue
        name, colon, rest = entry.partition(":")
        kind, where = (name, rest) if colon and name in CLASSES else ("token", entry)
        try:
            out.append((cast("Class", kind) if kind != "keep" else "token", pointer(where)))
        except ValueError:
            continue
    return tuple(out)


def leads_to(wanted: Pointer, path: Sequence[str]) -> bool:
    """Tell whether a pointer leads exactly along a path."""
    return len(wanted) == len(path) and all(part in ("*", step) for part, step in zip(wanted, path, strict=True))
