"""What expectations look at: the calls of a run in order, its output, its outcome, what it used."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from runreel.canonical import document_in
from runreel.runs.document import plain, usage_of
from runreel.runs.scores import before_flags
from runreel.values import Kind, Run, Value

KINDS: Final[tuple[Kind, ...]] = ("llm", "tool", "retrieval", "decision")
BUDGETS: Final = ("model_calls", "tool_calls", "retrievals", "input_tokens", "output_tokens", "tokens")
_JSONPATH: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+|\*)\]|\['([^']*)'\]")


@dataclass(frozen=True, slots=True)
class Called:
    """One call of a run. `input` of a model call is its messages, of a tool its arguments, of a retrieval its query."""

    kind: Kind
    name: str
    seq: int
    input: Value = field(repr=False)
    output: Value = field(repr=False)
    error: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A run as expectations see it."""

    outcome: str
    output: Value = field(repr=False)
    has_output: bool
    calls: tuple[Called, ...]
    used: Mapping[str, int]

    def of(self, kind: str, name: str) -> tuple[Called, ...]:
        """Return the calls of a kind by that name, in order; `*` is any name."""
        return tuple(one for one in self.calls if one.kind == kind and name in ("*", one.name))

    def document(self) -> dict[str, Any]:
        """Return the view as a judge gets it: JSON values by stable names."""
        return {
            "outcome": self.outcome,
            "output": plain(self.output),
            "calls": [
                {
                    "kind": one.kind,
                    "name": one.name,
                    "input": plain(one.input),
                    "output": plain(one.output),
                    "error": one.error or None,
                }
                for one in self.calls
            ],
            "used": dict(self.used),
        }


def view(run: Run) -> View:
    """Return what expectations see of a run."""
    steps = [step for step in run.steps if step.shadowed_by is None]
    calls = tuple(
        Called(
            step.kind,
            str(step.fields.get("model_requested") or step.name) if step.kind == "llm" else step.name,
            step.seq,
            run.value(step.input),
            run.value(step.output),
            step.error.type if step.error else "",
        )
        for step in steps
        if step.kind in KINDS
    )
    usage = usage_of(run.steps)
    given, got = sum(one.input_tokens for one in usage), sum(one.output_tokens for one in usage)
    used = {
        "model_calls": sum(one.kind == "llm" for one in calls),
        "tool_calls": sum(one.kind == "tool" for one in calls),
        "retrievals": sum(one.kind == "retrieval" for one in calls),
        "input_tokens": given,
        "output_tokens": got,
        "tokens": given + got,
    }
    return View(before_flags(run), run.value(run.final_output), bool(run.final_output.sha256), calls, used)


def pointer_of(text: str) -> str:
    """Return the JSON pointer of a place: a pointer as it is, or a JSON path (`$.items[0].price`) written as one.

    `*` stands for any one name or index. Raises ValueError for anything else.
    """
    if text in ("", "$"):
        return ""
    if text.startswith("/"):
        return text
    path, parts = text.removeprefix("$"), []
    while path:
        found = _JSONPATH.match(path)
        if found is None:
            raise ValueError(f"{text!r} is neither a JSON pointer (/items/0) nor a JSON path ($.items[0])")
        parts.append(next(group for group in found.groups() if group is not None))
        path = path[found.end() :]
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)


def places(value: Value, pointer: str) -> Iterator[Value]:
    """Yield what stands at a pointer, which leads on into texts that are JSON; nothing where there is nothing."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    yield from _below(value, parts)


def _below(value: Value, parts: list[str]) -> Iterator[Value]:
    if not parts:
        yield value
        return
    if isinstance(value, str):
        value = document_in(value)
    here, rest = parts[0], parts[1:]
    if isinstance(value, Mapping):
        for name in value if here == "*" else [here]:
            if name in value:
                yield from _below(value[name], rest)
    elif isinstance(value, tuple):
        wanted = range(len(value)) if here == "*" else [int(here)] if here.isdecimal() else []
        for index in wanted:
            if index < len(value):
                yield from _below(value[index], rest)
