"""Tell people and programs what a replay came to: first divergence first, and no live value unredacted."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from runreel.canonical import dumps
from runreel.replay.cleaning import Clean, common, describe, mask
from runreel.replay.divergences import near
from runreel.replay.values import Divergence, Replayed
from runreel.terminal import fold
from runreel.text import many, one_line
from runreel.values import Kind, Value

_AROUND = 40  # characters shown before a difference
_WIDTH = 160
_MOST_SHOWN = 20  # divergences on the terminal; --json has them all
_SHORT_NUMBER = 100_000
_CALLS: Mapping[Kind, tuple[str, str]] = {
    "llm": ("model call", "model calls"),
    "tool": ("tool call", "tool calls"),
    "retrieval": ("retrieval", "retrievals"),
}
_NOT_SHOWN = (
    "live texts are told by their length, since nothing here could redact them: that takes the tenant's key, and a "
    "running collector or runreel[collector]"
)
_VERDICTS = {
    "same": ("identical", "bold green"),
    "diverged": ("diverged", "bold red"),
    "not_comparable": ("not comparable", "bold yellow"),
}


def render(replayed: Replayed, console: Console, clean: Clean | None = None) -> None:
    """Print the report."""
    word, style = _VERDICTS[replayed.verdict]
    line = Text(f"{replayed.mode} replay of {replayed.of}: ")
    line.append(word, style)
    count = len(replayed.divergences)
    if count:
        line.append(f", {count} divergence" + ("s" if count > 1 else ""))
    fold(console, line, 2)
    for number, divergence in enumerate(replayed.divergences[:_MOST_SHOWN], 1):
        _print_divergence(console, number, divergence, clean)
    if count > _MOST_SHOWN:
        fold(console, Text(f"  … {count - _MOST_SHOWN} more: --json lists them all"))
    if clean is None and any(divergence.has_now for divergence in replayed.divergences):
        fold(console, Text(f"  {_NOT_SHOWN}", "dim"), 4)
    for fact in _facts(replayed):
        fold(console, Text(f"  {one_line(fact)}", "dim"), 4)


def _print_divergence(console: Console, number: int, divergence: Divergence, clean: Clean | None) -> None:
    head = Text(f"  {number}. ")
    head.append(divergence.type, "bold red" if divergence.fails else "bold")
    head.append(f" {one_line(place(divergence))}")
    fold(console, head, 5)
    if divergence.reason:
        fold(console, Text(f"     {one_line(_reason(divergence))}"))
    was, now = shown(divergence, clean)
    if divergence.has_was:
        fold(console, Text.assemble("     was  ", (one_line(was, _WIDTH), "green")), 10)
    if divergence.has_now:
        fold(console, Text.assemble("     now  ", (one_line(now, _WIDTH), "red")), 10)
    nearest = [one for one in divergence.nearest if one.seq != divergence.recorded and one.likeness]
    if nearest:
        listed = "; ".join(near(one) for one in nearest)
        fold(console, Text(f"     nearest recorded: {one_line(listed)}", "dim"), 7)
    if divergence.advice:
        fold(console, Text(f"     {divergence.advice}", "italic"))


def place(divergence: Divergence) -> str:
    """Name where a divergence is: the recorded step, what it is, the field."""
    words = []
    if divergence.recorded is not None:
        words.append(f"at step {divergence.recorded}")
    elif divergence.replayed is not None and divergence.kind != "other":
        after = "" if divergence.after is None else f", after step {divergence.after}"
        words.append(f"at call {divergence.replayed} of the replay{after}")
    if divergence.kind != "other":
        words.append(f"{divergence.kind} {divergence.name}".strip())
    elif divergence.name:
        words.append(divergence.name)
    if divergence.path:
        words.append(f"field {mask(divergence.path)}")
    return ", ".join(words)


_REASONS = {
    "value": "the value is another one",
    "type": "the value is of another type",
    "added": "the live request has more than the record",
    "removed": "the live request lacks what the record has",
    "token": "the live value is not the one that the token stands for",
}


def _reason(divergence: Divergence) -> str:
    return _REASONS.get(divergence.reason, divergence.reason)


def _facts(replayed: Replayed) -> Iterator[str]:
    yield f"answered from the record: {_answered(replayed)}; live calls: {replayed.live_calls}"
    if replayed.reproduced:
        times = "1 recorded failure" if replayed.reproduced == 1 else f"{replayed.reproduced} recorded failures"
        yield f"{times} came about again in the agent's own code"
    for via, steps in _coverage(replayed).items():
        yield f"by {via}: {many(len(steps), 'step')} ({_ranges(steps)})"
    if replayed.proved:
        yield f"personal values proved with the key: {replayed.proved}"
    if replayed.assumed:
        yield f"assumed, for want of a key, to be the recorded ones: {', '.join(replayed.assumed)}"
    if replayed.drawn:
        yield f"assumed to stand for what this replay drew anew: {', '.join(replayed.drawn)}"
    for text, count in replayed.masked.items():
        yield f"mask {text} hid {many(count, 'difference') if count else 'nothing'}"
    yield f"walls: {replayed.isolation}"
    for note in replayed.notes:
        yield f"note: {note}"


def _coverage(replayed: Replayed) -> Mapping[str, list[int]]:
    """Return the steps that each boundary was answered for."""
    out: dict[str, list[int]] = {}
    for step, via in sorted(replayed.coverage.items()):
        out.setdefault(via, []).append(step)
    return dict(sorted(out.items()))


def _ranges(steps: Sequence[int]) -> str:
    """Write steps in order, neighbours together: 1, 3-5."""
    out: list[list[int]] = []
    for step in steps:
        if out and step == out[-1][1] + 1:
            out[-1][1] = step
        else:
            out.append([step, step])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in out)


def _answered(replayed: Replayed) -> str:
    parts = []
    for kind, (one, several) in _CALLS.items():
        names = {name: count for (of, name), count in replayed.answered.items() if of == kind}
        total = sum(names.values())
        if total:
            listed = ", ".join(f"{name} {count}" for name, count in sorted(names.items()))
            parts.append(f"{total} {one if total == 1 else several} ({listed})")
    return ", ".join(parts) or "nothing"


# --- values -----------------------------------------------------------------------------------------------------------


def shown(divergence: Divergence, clean: Clean | None) -> tuple[str, str]:
    """Return the recorded and the live value as they may be shown, around the place where they differ.

    The recorded one is redacted. The live one goes through the redactor; without one, of its texts only the length and
    the place of the difference are told.
    """
    was, now = _text(divergence.was), _text(divergence.now)
    if not divergence.has_was:
        return "", _live(divergence.now, clean)
    if not divergence.has_now:
        return _quoted(was), ""
    if divergence.now is None:
        return _quoted(was), "nothing"
    if clean is not None:
        now = clean(now)
        was_whole = "nothing" if divergence.was is None else was
        start = max(common(was_whole, now) - _AROUND, 0)
        return _window(was_whole, start), _window(now, start)
    if isinstance(divergence.now, str):
        recorded = divergence.was if isinstance(divergence.was, str) else None
        start = max(common(recorded or "", divergence.now) - _AROUND, 0)
        return _window(was, start), describe(divergence.now, recorded)
    return _quoted(was), _live(divergence.now, None)


def _live(value: Value, clean: Clean | None) -> str:
    if clean is not None:
        return clean(_text(value))
    if isinstance(value, str):
        return describe(value, None)
    if value is None or isinstance(value, bool):
        return _text(value)
    if isinstance(value, (int, float)):
        return _text(value) if abs(value) < _SHORT_NUMBER else "a number"
    if isinstance(value, Mapping):
        return f"a map of {len(value)}"
    return f"a list of {len(value)}"


def _text(value: Value) -> str:
    return value if isinstance(value, str) else dumps(value)


def _quoted(text: str) -> str:
    return _window(text, 0)


def _window(text: str, start: int) -> str:
    """Cut a long text to what surrounds a place in it."""
    if len(text) <= _WIDTH - 10:
        return text
    end = start + _WIDTH - 10
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"


# --- JSON -------------------------------------------------------------------------------------------------------------


def document(replayed: Replayed, clean: Clean | None = None) -> dict[str, Any]:
    """Return the report with stable field names. Live values in it are redacted as on the terminal."""
    return {
        "run_id": replayed.of,
        "mode": replayed.mode,
        "verdict": replayed.verdict,
        "divergences": [_divergence_document(one, clean) for one in replayed.divergences],
        "answered": [
            {"kind": kind, "name": name, "count": count} for (kind, name), count in sorted(replayed.answered.items())
        ],
        "reproduced": replayed.reproduced,
        "coverage": [{"step": step, "by": via} for step, via in sorted(replayed.coverage.items())],
        "not_reached": replayed.not_reached,
        "live_calls": replayed.live_calls,
        "tokens": {"proved": replayed.proved, "assumed": list(replayed.assumed)},
        "drawn": list(replayed.drawn),
        "masks": [{"mask": text, "hid": count} for text, count in replayed.masked.items()],
        "network": [dict(attempt) for attempt in replayed.network],
        "isolation": replayed.isolation,
        "exit_code": replayed.exit_code,
        "ended": replayed.ended,
        "notes": list(replayed.notes),
        "replay_run_id": replayed.run.run_id if replayed.run else None,
        "duration_s": round(replayed.duration_s, 3),
    }


def _divergence_document(divergence: Divergence, clean: Clean | None) -> dict[str, Any]:
    was, now = shown(divergence, clean)
    return {
        "type": divergence.type,
        "fails": divergence.fails,
        "kind": divergence.kind,
        "name": divergence.name,
        "step": divergence.recorded,
        "call": divergence.replayed,
        "after": divergence.after,
        "call_id": divergence.call_id,
        "path": mask(divergence.path),
        "was": was if divergence.has_was else None,
        "now": now if divergence.has_now else None,
        "reason": _reason(divergence),
        "nearest": [
            {
                "step": one.seq,
                "kind": one.kind,
                "name": one.name,
                "path": mask(one.path),
                "likeness": one.likeness,
                "answered": one.answered,
            }
            for one in divergence.nearest
        ],
        "advice": divergence.advice,
    }


def to_json(replayed: Replayed, clean: Clean | None = None) -> str:
    return json.dumps(document(replayed, clean), ensure_ascii=False)
