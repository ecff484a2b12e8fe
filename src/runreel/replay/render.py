"""Show a comparison of two runs: lines for a terminal, a document for programs. All text of a run is made harmless."""

import json
from collections.abc import Iterator
from typing import Any, Final

from rich.text import Text

from runreel.replay.compare import Change, words
from runreel.replay.diff import Diff, Difference, Totals
from runreel.runs.document import plain
from runreel.text import many, one_line, printable
from runreel.values import Value

_VALUE_CHARS: Final = 240  # of a value that is not compared word by word
_CONTEXT_CHARS: Final = 40  # of what stays, on either side of what changed
_CHANGES: Final = 12  # of one difference
_LEAST_IN_COMMON: Final = 0.3
_MARKS: Final = {"removed": ("[-", "-]", "red"), "added": ("{+", "+}", "green")}
_STYLE: Final = {"missing_call": "red", "unrecorded_call": "green"}


def lines(diff: Diff, *, full: bool = False) -> Iterator[Text]:
    """Yield a comparison as lines, the first divergence first. `full` shows every change and every value whole."""
    yield Text.assemble(
        (one_line(diff.a.run_id), "bold"), " against ", (one_line(diff.b.run_id), "bold"), _relation(diff)
    )
    first = diff.first
    if first is not None:
        yield Text()
        yield Text.assemble(("first divergence: ", "bold"), _where(first), f", {first.side or first.type}")
    for difference in diff.differences:
        if difference.follows is None:
            yield Text()
        yield from _difference(diff, difference, full=full)
    yield Text()
    yield from _table(diff.a, diff.b)
    for note in diff.notes:
        yield Text(f"not compared: {one_line(note)}")
    if diff.masked:
        yield Text(f"hidden by masks: {many(diff.masked, 'change')}")
    yield Text()
    yield _verdict(diff)


def _relation(diff: Diff) -> str:
    if diff.b.replay_of == diff.a.run_id:
        return "  (a replay of the first)"
    return "  (the first is a replay of the second)" if diff.a.replay_of == diff.b.run_id else ""


def _where(difference: Difference) -> str:
    name = f"{difference.kind} {one_line(difference.name, 60)}".rstrip()
    if difference.a is None:
        return f"step {difference.b} of the second run, {name}"
    return f"step {difference.a}, {name}"


def _difference(diff: Diff, difference: Difference, *, full: bool) -> Iterator[Text]:
    head = Text.assemble((_where(difference), "bold"), "  ", (difference.type, _STYLE.get(difference.type, "yellow")))
    if difference.follows is not None:
        head.append(f"  carries on {_where(diff.differences[difference.follows])}", "dim")
        yield head
        return
    if difference.type == "missing_call":
        head.append("  only in the first run")
    elif difference.type == "unrecorded_call":
        head.append("  only in the second run")
    yield head
    shown = difference.changes if full else difference.changes[:_CHANGES]
    for change in shown:
        yield from _change(change, full=full)
    if len(shown) < len(difference.changes):
        yield Text(f"  … and {many(len(difference.changes) - len(shown), 'change')} more (--full shows them)", "dim")


def _change(change: Change, *, full: bool) -> Iterator[Text]:
    if change.path:
        yield Text(f"  {one_line(change.path)}", "cyan")
    if isinstance(change.was, str) and isinstance(change.now, str):
        stretches = words(change.was, change.now)
        common = sum(len(text) for kind, text in stretches if kind == "equal")
        if common >= _LEAST_IN_COMMON * max(len(change.was), len(change.now)):
            yield _inline(stretches, full=full)
            return
    for operation, value in (("removed", change.was), ("added", change.now)):
        if change.operation in ("changed", operation):
            sign, colour = ("-", "red") if operation == "removed" else ("+", "green")
            yield Text(f"    {sign} {_value(value, full=full)}", colour)


def _inline(stretches: tuple[tuple[str, str], ...], *, full: bool) -> Text:
    """Show a text once, with what went and what came marked in it, colours or not."""
    out = Text("    ")
    for place, (kind, text) in enumerate(stretches):
        flat = _flat(text)
        if kind in _MARKS:
            before, after, colour = _MARKS[kind]
            out.append(f"{before}{flat if full else _cut(flat)}{after}", colour)
        elif full:
            out.append(flat)
        else:
            head = flat[:_CONTEXT_CHARS] if place else ""
            tail = flat[-_CONTEXT_CHARS:] if place < len(stretches) - 1 else ""
            out.append(flat if len(flat) <= len(head) + len(tail) else f"{head} … {tail}".strip(" "))
    return out


def _flat(text: str) -> str:
    """Put a text on one line without losing its spaces: what changed may be one."""
    return printable(text).replace("\n", "⏎").replace("\t", "⇥")


def _value(value: Value, *, full: bool) -> str:
    text = value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
    return _flat(text) if full else _cut(_flat(text))


def _cut(text: str) -> str:
    if len(text) <= _VALUE_CHARS:
        return text
    return f"{text[:_VALUE_CHARS]}… ({many(len(text) - _VALUE_CHARS, 'character')} more, --full shows them)"


def _table(a: Totals, b: Totals) -> Iterator[Text]:
    rows = [
        ("", "first", "second"),
        ("model calls", str(a.model_calls), str(b.model_calls)),
        ("tool calls", str(a.tool_calls), str(b.tool_calls)),
        ("retrievals", str(a.retrievals), str(b.retrievals)),
        ("tokens in", _tokens(a.input_tokens), _tokens(b.input_tokens)),
        ("tokens out", _tokens(a.output_tokens), _tokens(b.output_tokens)),
        ("took", f"{a.duration_ns / 1e9:.3f} s", f"{b.duration_ns / 1e9:.3f} s"),
    ]
    for name, left, right in rows:
        yield Text(f"{name:<12}{left:>14}{right:>14}", "" if name else "dim")


def _tokens(number: int | None) -> str:
    return "not recorded" if number is None else f"{number:,}"


def _verdict(diff: Diff) -> Text:
    compared = many(len(diff.pairs), "step")
    if diff.same:
        return Text(f"same: {compared} compared, no difference", "bold green")
    carried = sum(one.follows is not None for one in diff.differences)
    text = f"different: {many(len(diff.differences), 'difference')} in {compared} compared"
    return Text(text + (f", {carried} of them only carry on an earlier one" if carried else ""), "bold red")


# --- for programs -----------------------------------------------------------------------------------------------------


def document(diff: Diff) -> dict[str, Any]:
    """Return the JSON object of a comparison: whole, nothing cut and nothing escaped."""
    return {
        "same": diff.same,
        "a": _totals(diff.a),
        "b": _totals(diff.b),
        "differences": [_difference_document(one) for one in diff.differences],
        "pairs": [list(pair) for pair in diff.pairs],
        "notes": list(diff.notes),
        "masked": diff.masked,
    }


def _totals(totals: Totals) -> dict[str, Any]:
    return {name: getattr(totals, name) for name in Totals.__dataclass_fields__}


def _difference_document(one: Difference) -> dict[str, Any]:
    return {
        "type": one.type,
        "kind": one.kind,
        "name": one.name,
        "a": one.a,
        "b": one.b,
        "side": one.side,
        "follows": one.follows,
        "changes": [_change_document(change) for change in one.changes],
    }


def _change_document(change: Change) -> dict[str, Any]:
    out: dict[str, Any] = {"path": change.path, "operation": change.operation}
    if change.operation != "added":
        out["was"] = plain(change.was)
    if change.operation != "removed":
        out["now"] = plain(change.now)
    if isinstance(change.was, str) and isinstance(change.now, str):
        out["words"] = [list(stretch) for stretch in words(change.was, change.now)]
    return out
