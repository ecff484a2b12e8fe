"""What every page has around it: the policy that lets nothing of a run do anything, the style and the script."""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from runreel.pages.markup import Markup, Text, element, joined
from runreel.text import one_line

_KEYS = (
    ("j or ↓", "the next"),
    ("k or ↑", "the one before"),
    ("Enter", "open or close it"),
    ("o", "open or close all"),
)


def page(title: str, *content: Markup | None) -> str:
    """Return a whole page: one file that asks for nothing, from any folder."""
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", Text(one_line(title, 200))),
        element("style", style),
    )
    body = element("body", element("main", _help(), *content), element("script", script))
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _help() -> Markup:
    keys = [joined(element("kbd", Text(key)), Text(f" {what}  ")) for key, what in _KEYS]
    return element("p", *keys, class_="aside keys")


@cache
def _asset(name: str) -> Markup:
    # Ours, and without `</`: it stands in the page as it is, and its hash is in the policy.
    return Markup((files("runreel.pages") / name).read_text(encoding="utf-8"))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def badge(text: str, class_: str) -> Markup:
    """Return a word of ours in a colour of ours."""
    return element("span", Text(text), class_=f"badge {class_}")
