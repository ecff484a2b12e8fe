"""Shows what a step was given and what it answered: messages part by part, JSON laid out, texts as they are.

An agent sends its whole history again with every model call. Here every message stands once: a later request says how
many of its first messages are those of an earlier one, and a long message that came before is a link to it. The page's
script puts them in place when they are opened.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from runreel.canonical import canonical, surely_equal
from runreel.pages.budget import Budget
from runreel.pages.markup import Markup, Text, element, joined, said
from runreel.runs.document import plain
from runreel.text import many, one_line
from runreel.values import Ref, Run, Step, Value

_LINE_CHARS: Final = 90
_OPEN_CHARS: Final = 1_500  # a longer value is folded
_LOOK_BACK: Final = 4  # earlier requests that one may go on from: agents take turns
_HINT: Final = "Follow the link: without its script this page shows it there alone."
_NO_CONTENT: Final = {
    "withheld": "withheld",
    "external": "kept elsewhere by the sender",
    "absent": "not recorded",
    "cut": "cut by the sender",
}


@dataclass(slots=True)
class Contents:
    """What has been shown so far of the runs of one page."""

    budget: Budget
    _lists: dict[str, list[tuple[str, str, tuple[Value, ...]]]] = field(default_factory=dict)
    _values: dict[str, tuple[str, str]] = field(default_factory=dict)
    _numbers: int = 0

    def step(self, run: Run, step: Step, side: str, where: str) -> Markup:
        """Show one side of a step, `input` or `output`; `where` names it for those that come later."""
        ref: Ref = step.input if side == "input" else step.output
        if not ref.sha256 or ref.sha256 not in run.payloads:
            why = f" ({one_line(ref.reason, 200)})" if ref.reason else ""
            return element("p", Text(_NO_CONTENT.get(ref.state, ref.state)), said(why), class_="none")
        value = run.value(ref)
        known = self._values.get(ref.sha256)
        if known is not None and ref.size > _LINE_CHARS:
            return self._again(known, "the same")
        name = self._name()
        self._values.setdefault(ref.sha256, (name, where))
        marked = None
        if ref.state != "whole":
            marked = element("p", Text(f"{_NO_CONTENT.get(ref.state, ref.state)}: "), said(ref.reason), class_="cut")
        if step.kind == "llm" and isinstance(value, tuple) and value:
            return element("div", marked, self._messages(value, name, where, run.run_id), class_="content")
        return element("div", marked, self.value(value), id=name, class_="content")

    def shared(self, value: Value, where: str) -> Markup:
        """Show a value that may stand in several places, such as the tools that a model is offered: once."""
        key = hashlib.sha256(canonical(value)).hexdigest()
        known = self._values.get(key)
        if known is not None:
            return self._again(known, "the same")
        name = self._name()
        self._values[key] = (name, where)
        return element("div", self.value(value), id=name, class_="content")

    def value(self, value: Value) -> Markup:
        """Show a value: a text as it is, anything else as JSON; folded where it is long."""
        text = value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False, indent=2)
        block = self.budget.block(text, "value text" if isinstance(value, str) else "value json")
        if len(text) <= _OPEN_CHARS:
            return block
        head = element("summary", said(one_line(text[: 2 * _LINE_CHARS], _LINE_CHARS)), _size(len(text)))
        return element("details", head, block)

    def fields(self, fields: Mapping[str, Value]) -> Markup | None:
        """Show what else a step holds, folded."""
        if not fields:
            return None
        return element("details", element("summary", Text("fields")), self.value(dict(fields)), class_="fields")

    def _messages(self, messages: tuple[Value, ...], name: str, where: str, run_id: str) -> Markup:
        lists = self._lists.setdefault(run_id, [])
        first, of = 0, None
        for earlier in reversed(lists[-_LOOK_BACK:]):
            same = _in_common(earlier[2], messages)
            if same > first:
                first, of = same, earlier
            if same == len(earlier[2]):
                break
        lists.append((name, where, messages))
        rows = [self._message(message, number) for number, message in enumerate(messages[first:], first)]
        if of is not None and first:
            rows.insert(0, self._first(of, first))
        return element("div", *rows, id=name, class_="messages")

    def _first(self, of: tuple[str, str, tuple[Value, ...]], first: int) -> Markup:
        """Say that a list begins as an earlier one did."""
        what = "message 0" if first == 1 else f"messages 0 to {first - 1}"
        link = element("a", Text(of[1]), href=f"#{of[0]}")
        return element(
            "details",
            element("summary", Text(f"{what}, as in "), link),
            element("p", Text(_HINT), class_="none"),
            class_="again",
            data_of=of[0],
            data_first=first,
            data_n=first,
        )

    def _message(self, message: Value, number: int) -> Markup:
        if not isinstance(message, Mapping):
            return element("div", _role(str(number), "not a message"), self.value(message), class_="message", data_n=1)
        parts = message.get("parts")
        rest = {key: value for key, value in message.items() if key not in ("role", "parts")}
        shown = [self._part(part) for part in parts] if isinstance(parts, tuple) else []
        if not isinstance(parts, tuple) and parts is not None:
            rest["parts"] = parts
        role = _role(str(number), _word(message.get("role")))
        finish = rest.pop("finish_reason", None) if isinstance(rest.get("finish_reason"), str) else None
        ended = said(f"finish reason {one_line(str(finish), 60)}", "span", "aside") if finish else None
        return element("div", role, *shown, ended, self.value(rest) if rest else None, class_="message", data_n=1)

    def _part(self, part: Value) -> Markup:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if not isinstance(part, Mapping):
            return self.value(part)
        known = {"text": ("type", "content"), "reasoning": ("type", "content")}
        if isinstance(kind, str) and kind in known and set(part) == set(known[kind]):
            named = element("p", Text(kind), class_="label") if kind != "text" else None
            return joined(named, self.value(part["content"]))
        if kind == "tool_call" and set(part) <= {"type", "id", "name", "arguments"}:
            label = f"calls {_word(part.get('name'))}, id {_word(part.get('id'))}"
            return joined(said(label, "p", "label"), self.value(part.get("arguments")))
        if kind == "tool_call_response" and set(part) <= {"type", "id", "response"}:
            return joined(said(f"result of {_word(part.get('id'))}", "p", "label"), self.value(part.get("response")))
        return self.value(part)

    def _again(self, known: tuple[str, str], what: str) -> Markup:
        name, where = known
        head = element("summary", element("a", Text(f"{what} as in {where}"), href=f"#{name}"))
        return element("details", head, element("p", Text(_HINT), class_="none"), class_="again", data_of=name)

    def _name(self) -> str:
        self._numbers += 1
        return f"c{self._numbers}"


def _in_common(one: tuple[Value, ...], other: tuple[Value, ...]) -> int:
    """Count the messages at the start that two lists share."""
    count = 0
    for was, now in zip(one, other, strict=False):
        if not surely_equal(was, now):
            break
        count += 1
    return count


def _role(number: str, role: str) -> Markup:
    return element("p", element("span", Text(number), class_="number"), said(f" {role}"), class_="role")


def _word(value: Any) -> str:
    return one_line(str(plain(value)), 80) if value is not None else "none"


def _size(chars: int) -> Markup:
    return element("span", Text(f" {many(chars, 'character')}"), class_="aside")


def calls_in(value: Value) -> Iterator[str]:
    """Yield the names of the tools that an answer calls."""
    for message in value if isinstance(value, tuple) else ():
        parts = message.get("parts") if isinstance(message, Mapping) else None
        for part in parts if isinstance(parts, tuple) else ():
            if isinstance(part, Mapping) and part.get("type") == "tool_call":
                yield _word(part.get("name"))
