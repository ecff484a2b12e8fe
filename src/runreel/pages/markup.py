"""Markup that cannot be broken out of: names come from our own code, and every text is escaped when it is put in."""

import html
import re
from collections.abc import Iterator
from typing import Final, NewType, TypeAlias

from runreel.canonical import SECRET_RE, TOKEN_RE
from runreel.text import printable

Markup = NewType("Markup", str)
"""HTML that `element` made. Never made of a run's text in any other way."""
Child: TypeAlias = "Markup | Text | None"

_VOID: Final = frozenset({"meta", "br"})
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*", re.IGNORECASE)
# What `printable` put in the place of a control character or of an override of the direction of text.
_CONTROL: Final = r"\\x[0-9a-f]{2}|\\u(?:202[89a-e]|206[6-9]|d[89a-f][0-9a-f]{2})"
_MARKED: Final = re.compile(f"(?P<token>{TOKEN_RE.pattern})|(?P<secret>{SECRET_RE.pattern})|(?P<control>{_CONTROL})")


_MOST: Final = 20_000  # characters of a block, which its budget has cut already
_MOST_INLINE: Final = 2_000  # of a name, an id, a key, a number: whatever a run holds there


class Text:
    """A text of ours, to be escaped."""

    __slots__ = ("text",)

    def __init__(self, text: object) -> None:
        self.text = _cut(str(text), _MOST)


def element(tag: str, *children: Child, **attributes: str | int | bool | None) -> Markup:
    """Return an element. Attributes: `class_` is class, `data_of` data-of; True has no value, None and False are left
    out.

    Raises ValueError for a name that is none: names never come from a run.
    """
    words = [tag]
    for name, value in attributes.items():
        name = name.rstrip("_").replace("_", "-")
        if not _NAME.fullmatch(name):
            raise ValueError(f"no name of an attribute: {name!r}")
        if value is True:
            words.append(name)
        elif value is not None and value is not False:
            words.append(f'{name}="{html.escape(printable(_cut(str(value), _MOST_INLINE)))}"')
    if not _NAME.fullmatch(tag):
        raise ValueError(f"no name of an element: {tag!r}")
    head = f"<{' '.join(words)}>"
    return Markup(head if tag in _VOID else f"{head}{joined(*children)}</{tag}>")


def joined(*children: Child) -> Markup:
    """Return pieces one after the other."""
    return Markup("".join(_child(child) for child in children))


def _child(child: Child) -> str:
    if child is None:
        return ""
    return html.escape(printable(child.text)) if isinstance(child, Text) else child


def said(text: str, tag: str = "bdi", class_: str | None = None) -> Markup:
    """Return a text of a run in an element of its own, which keeps its direction to itself.

    Tokens and removed secrets are marked; control characters and overrides of direction are shown as what they are.
    """
    text = _cut(text, _MOST if tag == "pre" else _MOST_INLINE)
    # A parser drops the newline that a block of text begins with: give it one of ours.
    return element(tag, Text("\n" if tag == "pre" else ""), *_pieces(text), class_=class_)


def _cut(text: str, most: int) -> str:
    """Cut a text that would fill the page: what is shown whole elsewhere is none of these."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most:,} characters more)"


def _pieces(text: str) -> Iterator[Child]:
    shown, at = printable(text), 0
    for found in _MARKED.finditer(shown):
        yield Text(shown[at : found.start()])
        if found["control"]:
            yield element("bdi", Text(found.group()), class_="control")
        else:
            yield element("mark", Text(found.group()), class_="secret" if found["secret"] else "token")
        at = found.end()
    yield Text(shown[at:])
