"""Shows what differs between two values: leaf by leaf, side by side, texts by word."""

import json
from typing import Final

from runreel.pages.budget import Budget
from runreel.pages.markup import Markup, Text, element, joined, said
from runreel.replay.compare import Change, words
from runreel.runs.document import plain
from runreel.text import many, one_line
from runreel.values import Value

_AROUND: Final = 400  # characters shown of what stays, before and behind what differs
_COMPARED: Final = 12_000  # characters of a stretch that are compared by word
_MOST: Final = 200  # changes of one difference


def changes(found: tuple[Change, ...], budget: Budget) -> Markup:
    """Show the changes of one difference, each under its path."""
    shown = [_change(change, budget) for change in found[:_MOST]]
    more = len(found) - len(shown)
    if more:
        words_ = f"Cut here: {many(more, 'change')} more. All: "
        shown.append(element("p", Text(words_), element("code", Text(budget.whole)), class_="cut"))
    return joined(*shown)


def _change(change: Change, budget: Budget) -> Markup:
    place = said(one_line(change.path, 300), "p", "path") if change.path else None
    if isinstance(change.was, str) and isinstance(change.now, str):
        return joined(place, _texts(change.was, change.now, budget))
    was = None if change.operation == "added" else change.was
    now = None if change.operation == "removed" else change.now
    return joined(
        place,
        _columns(
            _absent("not in the first run") if change.operation == "added" else budget.block(_text(was), "was"),
            _absent("not in the second run") if change.operation == "removed" else budget.block(_text(now), "new"),
        ),
    )


def _columns(left: Markup, right: Markup) -> Markup:
    return element("div", element("div", left), element("div", right), class_="two")


def _absent(what: str) -> Markup:
    return element("p", Text(what), class_="none")


def _text(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False, indent=2)


def _texts(was: str, now: str, budget: Budget) -> Markup:
    """Show two texts with what went and what came marked in them; what both begin and end with is cut down."""
    start = shared(was, now)
    end = min(shared(was[::-1], now[::-1]), len(was) - start, len(now) - start)
    first, last = max(start - _AROUND, 0), max(end - _AROUND, 0)
    old, new = was[first : len(was) - last], now[first : len(now) - last]
    stretches = words(old[:_COMPARED], new[:_COMPARED])
    return _columns(
        _side(stretches, "removed", "del", budget, (first, last), len(old), len(was), "was"),
        _side(stretches, "added", "ins", budget, (first, last), len(new), len(now), "new"),
    )


def _side(
    stretches: tuple[tuple[str, str], ...],
    kind: str,
    tag: str,
    budget: Budget,
    same: tuple[int, int],
    length: int,
    whole: int,
    class_: str,
) -> Markup:
    """Show one side: `same` are the characters of its start and end that are left out since both sides have them."""
    pieces: list[Markup | Text] = [Text("\n")]
    missing = max(length - _COMPARED, 0)
    if same[0]:
        pieces.append(element("span", Text(f"… the same {same[0]:,} characters … "), class_="aside"))
    for what, text in stretches:
        if what not in ("equal", kind):
            continue
        part, left_out = budget.shown(text)
        missing += left_out
        pieces.append(said(part, tag if what == kind else "bdi"))
    if same[1]:
        pieces.append(element("span", Text(f" … the same {same[1]:,} characters …"), class_="aside"))
    block = element("pre", *pieces, class_=class_)
    return joined(block, budget.note(missing, whole)) if missing else block


def shared(was: str, now: str) -> int:
    """Return how many characters two texts begin with together."""
    low, high = 0, min(len(was), len(now))
    while low < high:
        middle = (low + high + 1) // 2
        if was[low:middle] == now[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
