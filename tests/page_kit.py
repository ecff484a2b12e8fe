"""Read pages as a browser would, and runs whose every field attacks the reader."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any

from run_kit import called, run, step, told
from runreel.values import Gap, Run

MARK = "zqx"
"""Stands in every attack: markup that holds it came from a run."""
ATTACKS = (
    f"<script>alert('{MARK}')</script>",
    f"</script><script>{MARK}()</script>",
    f"</style></title></textarea></pre></details><img src=x onerror={MARK}()>",
    f'" onmouseover="{MARK}()" x=\'',
    f'<a href="javascript:{MARK}()">{MARK}</a> javascript:{MARK}() data:text/html,<b>{MARK}</b>',
    f"<!--{MARK}--><![CDATA[{MARK}]]><?{MARK}?><svg onload={MARK}()><math><mi//xlink:href='data:{MARK}'>",
    f"&lt;script&gt;{MARK}&#60;b&#62;",
    f"\x1b[2J\x1b]0;{MARK}\x07\x9b31m",
    f"\u202e{MARK}\u2066txt.exe\u202c\u2069",
    f"\x00{MARK}\ud800\r\n\f\x0b\u2028",
    f"${{{MARK}}} {{{{{MARK}}}}} `{MARK}`",
)


def attacked(attack: str) -> Run:
    """A run with the text in every field that holds text: names, ids, messages, keys, errors, gaps, versions."""
    message = {"role": attack, "parts": [{"type": "text", "content": attack}], "finish_reason": attack, attack: attack}
    odd = {
        "role": "user",
        "parts": [{"type": attack, attack: attack}, attack, {"type": "text", "content": {attack: 1}}],
    }
    llm = [message, odd, called((attack, attack, {attack: attack})), told(attack, attack), attack]
    fields = {
        "model": attack,
        "params": {attack: attack},
        "tool_definitions": [{"name": attack, "description": attack}],
        "usage": {"input_tokens": 1, "output_tokens": attack},
        "contract": {"decision": attack, "reason": attack},
        "side_effect": attack,
        attack: attack,
    }
    error = (attack, attack, attack)
    made = run(
        step("agent", attack, attack, attack, after=()),
        step("llm", attack, llm, llm, fields=fields, parent=0),
        step("tool", attack, {attack: attack}, attack, call_id=attack, fields=fields, error=error),
        step("retrieval", attack, attack, [{"id": attack, "content": attack}], fields=fields),
        step("decision", attack, None, attack, fields=fields),
        step("memory", attack, attack, {attack: [attack]}, fields=fields),
        step("other", attack, attack, None, fields=fields),
        run_id=attack,
        trace_ids=(attack,),
        agent_id=attack,
        parent_run_id=attack,
        parent_relation=attack,
        replay_of=attack,
        gaps=(Gap(1, attack, "frozen", attack, attack), Gap(None, attack, "live", attack, attack)),
        replayable="partial",
        versions={attack: attack},
        prompt_versions={attack: (attack,)},
        flags={attack: attack},
        env=attack,
        notes=(attack,),
        scores=({"name": attack, "value": attack},),
        flagged=({"reason": attack},),
    )
    first = made.steps[0]
    return replace(made, user_input=first.input, final_output=first.output)


@dataclass(slots=True)
class Parsed:
    """What a page holds: elements with their attributes, in order, and its texts."""

    elements: list[tuple[str, tuple[tuple[str, str | None], ...]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    unclosed: list[str] = field(default_factory=list)
    other: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def attributes(self) -> Iterator[tuple[str, str, str | None]]:
        for tag, attributes in self.elements:
            yield from ((tag, name, value) for name, value in attributes)

    def values(self, name: str) -> list[str]:
        return [value or "" for _, one, value in self.attributes() if one == name]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found = Parsed()
        self._skipped = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.elements.append((tag, tuple(attrs)))
        if tag != "meta":
            self.found.unclosed.append(tag)
        self._skipped = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        assert self.found.unclosed.pop() == tag
        self._skipped = ""

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.found.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.found.other.append(data)

    def unknown_decl(self, data: str) -> None:
        self.found.other.append(data)

    def handle_pi(self, data: str) -> None:
        self.found.other.append(data)


def parsed(page: str) -> Parsed:
    """Parse a page; every element must be closed, in order."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.found


_NAMES = """
html head meta title style body main script h1 h2 h3 p a code kbd pre bdi mark span div details summary
dl dt dd ul li table tr th td svg rect del ins
"""
ELEMENTS = frozenset(_NAMES.split())
_ATTRIBUTES = {
    "class": r"[a-z0-9 ]*",
    "id": r"[scdp][0-9-]*",
    "href": r"#[scdp][0-9-]+",
    "open": "",
    "data-of": r"c[0-9]+",
    "data-first": "[0-9]+",
    "data-n": "[0-9]+",
    "x": "[0-9]+",
    "y": "[0-9]+",
    "width": "[0-9]+",
    "height": "[0-9]+",
    "viewbox": r"[0-9 ]+",
    "preserveaspectratio": "none",
    "aria-hidden": "true",
    "lang": "en",
}


def foreign(found: Parsed) -> list[Any]:
    """Return what in a page's markup is not the page's own: elements, attributes, values, comments."""
    wrong: list[Any] = [tag for tag, _ in found.elements if tag not in ELEMENTS]
    for tag, name, value in found.attributes():
        if tag == "meta":
            wrong += [(tag, name, value)] if name not in ("charset", "http-equiv", "name", "content") else []
        elif name not in _ATTRIBUTES or not re.fullmatch(_ATTRIBUTES[name], value or ""):
            wrong.append((tag, name, value))
    return wrong + [text for text in found.other if text != "doctype html"]
