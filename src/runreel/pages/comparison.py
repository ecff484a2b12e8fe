"""Two runs as a page: the first divergence first, then their steps side by side; of a replay, what it found too."""

import shlex
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from runreel.canonical import canonical
from runreel.pages.budget import Budget
from runreel.pages.changes import changes
from runreel.pages.content import Contents
from runreel.pages.markup import Markup, Text, element, joined, said
from runreel.pages.report import COLOURS, title, took, usage
from runreel.pages.shell import badge, page
from runreel.replay.compare import Change
from runreel.replay.diff import Diff, Difference, Totals
from runreel.text import many, one_line
from runreel.values import Run, Step

_MOST: Final = 100  # differences in the page
_OPEN: Final = 10  # of them open
_RELATION: Final = ("The second is a replay of the first.", "The first is a replay of the second.")


def comparison(found: Diff, a: Run, b: Run, replayed: Mapping[str, Any] | None = None) -> str:
    """Return the page of a comparison. Pure; all text of the runs is escaped.

    `replayed` is the document of a replay (`replay.report.document`, redacted): then `a` is its run, `b` the replay as
    it was recorded.
    """
    names = " ".join(shlex.quote(one_line(run.run_id)) for run in (a, b))
    contents = Contents(Budget(f"runreel diff {names} --json"))
    news = _News()
    shown = list(_differences(found, contents.budget, news))
    return page(
        f"{a.run_id} against {b.run_id}",
        element("h1", said(one_line(a.run_id, 120)), Text(" against "), said(one_line(b.run_id, 120))),
        _relation(found),
        _verdict(found),
        *(_replay(replayed) if replayed else ()),
        element("h2", Text("Differences, the first divergence first")) if shown else None,
        *shown,
        _more(found, contents.budget),
        element("h2", Text("Both runs")),
        _totals(found.a, found.b),
        *_asides(found),
        element("h2", Text("Steps side by side")),
        *_pairs(found, a, b, contents),
    )


def replay_alone(replayed: Mapping[str, Any], why: str) -> str:
    """Return the page of a replay that recorded nothing of itself; `why` says so. `replayed` as in `comparison`."""
    run_id = str(replayed["run_id"])
    note = element("p", Text(f"There are no steps side by side: {why}."), class_="none")
    return page(
        f"replay of {run_id}", element("h1", Text("Replay of "), said(one_line(run_id, 120))), *_replay(replayed), note
    )


def _relation(found: Diff) -> Markup | None:
    if found.b.replay_of == found.a.run_id:
        return element("p", Text(_RELATION[0]), class_="aside")
    return element("p", Text(_RELATION[1]), class_="aside") if found.a.replay_of == found.b.run_id else None


def _verdict(found: Diff) -> Markup:
    compared = many(len(found.pairs), "step")
    first = found.first
    if first is None:
        words = f"Same: {compared} compared, no difference."
        return element("div", element("p", Text(words)), class_="verdict good")
    carried = sum(one.follows is not None for one in found.differences)
    words = f"{many(len(found.differences), 'difference')} in {compared} compared"
    words += f", {carried} of them only carry on an earlier one." if carried else "."
    head = element("p", Text("First divergence: "), element("a", *_where(first), href="#d0"))
    return element("div", head, element("p", Text(words)), class_="verdict bad")


# --- differences ------------------------------------------------------------------------------------------------------


def _where(one: Difference) -> tuple[Markup | Text, ...]:
    step = f"step {one.b} of the second run, " if one.a is None else f"step {one.a}, "
    side = Text(f", {one.side}" if one.side else "")
    return Text(step), badge(one.kind, one.kind), Text(" "), said(one_line(one.name, 80)), side


class _News:
    """Tells the changes that stand in the page from new ones: a changed message is in every later request, too."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def of(self, found: tuple[Change, ...]) -> tuple[Change, ...]:
        """Return the changes that were not asked about before."""
        new = []
        for change in found:
            key = canonical((change.operation, change.was, change.now))
            if key not in self._known:
                self._known.add(key)
                new.append(change)
        return tuple(new)


def _differences(found: Diff, budget: Budget, news: _News) -> Iterator[Markup]:
    """Show the differences in order; those in a row that only carry on earlier ones are a line each, folded."""
    shown, shown_open = enumerate(found.differences[:_MOST]), _OPEN
    for carries, group in groupby(shown, lambda pair: pair[1].follows is not None):
        if carries:
            lines = [_carried(place, one) for place, one in group]
            head = element("summary", Text(f"{many(len(lines), 'difference')} that carry on earlier ones only"))
            yield element("details", head, *lines, class_="carried aside")
        else:
            for place, _ in group:
                yield _difference(found, place, budget, news, is_open=shown_open > 0)
                shown_open -= 1


def _carried(place: int, one: Difference) -> Markup:
    earlier = element("a", Text("an earlier one"), href=f"#d{one.follows}")
    step = element("a", Text("the whole step"), href=f"#{_pair_name(one.a, one.b)}")
    return element("p", *_where(one), Text(" carries on "), earlier, Text("; "), step, id=f"d{place}")


def _difference(found: Diff, place: int, budget: Budget, news: _News, *, is_open: bool) -> Markup:
    one = found.differences[place]
    colour = {"missing_call": "bad", "unrecorded_call": "good"}.get(one.type, "warn")
    head = [*_where(one), Text(" "), badge(one.type, colour)]
    inside = [_linked(one)]
    if one.type == "missing_call":
        inside.append(element("p", Text("Only the first run has this step."), class_="aside"))
    elif one.type == "unrecorded_call":
        inside.append(element("p", Text("Only the second run has this step."), class_="aside"))
    else:
        sides = element("p", Text("the first run"), class_="side"), element("p", Text("the second run"), class_="side")
        new = news.of(one.changes)
        inside += [element("div", *sides, class_="two"), changes(new, budget)]
        if carried := len(one.changes) - len(new):
            words = f"{many(carried, 'change')} as in a difference above"
            inside.append(element("p", Text(words), class_="none"))
    return element(
        "details",
        element("summary", *head),
        element("div", *inside, class_="inside"),
        id=f"d{place}",
        class_="stop",
        open=is_open,
    )


def _linked(one: Difference) -> Markup:
    link = element("a", Text("the whole step, side by side"), href=f"#{_pair_name(one.a, one.b)}")
    return element("p", link, class_="aside")


def _pair_name(a: int | None, b: int | None) -> str:
    return f"p{'' if a is None else a}-{'' if b is None else b}"


def _more(found: Diff, budget: Budget) -> Markup | None:
    more = len(found.differences) - _MOST
    if more <= 0:
        return None
    return element("p", Text(f"{many(more, 'difference')} more: "), element("code", Text(budget.whole)), class_="cut")


# --- both runs --------------------------------------------------------------------------------------------------------


def _totals(a: Totals, b: Totals) -> Markup:
    rows: list[tuple[str, int | None, int | None]] = [
        ("model calls", a.model_calls, b.model_calls),
        ("tool calls", a.tool_calls, b.tool_calls),
        ("retrievals", a.retrievals, b.retrievals),
        ("tokens in", a.input_tokens, b.input_tokens),
        ("tokens out", a.output_tokens, b.output_tokens),
    ]
    lines = [_line(name, _number(one), _number(two), _more_or_less(one, two)) for name, one, two in rows]
    spent = (a.duration_ns, b.duration_ns)
    lines.append(_line("took", *map(took, spent), _times(*spent)))
    head = element("tr", *(element("th", Text(name)) for name in ("", "first", "second", "difference")))
    return element("table", head, *lines)


def _line(*cells: str) -> Markup:
    return element("tr", *(element("td", Text(cell)) for cell in cells))


def _number(number: int | None) -> str:
    return "not recorded" if number is None else f"{number:,}"


def _more_or_less(one: int | None, two: int | None) -> str:
    return "" if one is None or two is None or one == two else f"{two - one:+,}"


def _times(one: int, two: int) -> str:
    return f"{two / one:.2f} times" if one > 0 and two > 0 else ""


def _asides(found: Diff) -> Iterator[Markup]:
    for note in found.notes:
        yield element("p", Text("not compared: "), said(one_line(note)), class_="aside")
    if found.masks:
        masks = [joined(said(one_line(mask), "code"), Text(" ")) for mask in found.masks]
        words = f" hid {many(found.masked, 'change')}."
        yield element("p", Text("Masks: "), *masks, Text(words), class_="aside")


def _pairs(found: Diff, a: Run, b: Run, contents: Contents) -> Iterator[Markup]:
    """Show the steps of both runs in the first run's order; what only the second has stands before its next."""
    steps_a, steps_b = ({step.seq: step for step in run.steps} for run in (a, b))
    differ: dict[tuple[int | None, int | None], list[int]] = {}
    for place, difference in enumerate(found.differences):
        differ.setdefault((difference.a, difference.b), []).append(place)
    for one, two in _in_order(found):
        left = steps_a[one] if one is not None else None
        right = steps_b[two] if two is not None else None
        places = differ.get((one, two), [])
        yield _pair(_Side(a, left, "first"), _Side(b, right, "second"), places, contents)


def _in_order(found: Diff) -> list[tuple[int | None, int | None]]:
    rows: list[tuple[tuple[float, int], tuple[int | None, int | None]]] = []
    rows += [((one, 0), (one, two)) for one, two in found.pairs]
    rows += [
        ((one.a, 0), (one.a, None)) for one in found.differences if one.type == "missing_call" and one.a is not None
    ]
    by_second = sorted((two, one) for one, two in found.pairs)
    alone = sorted(one.b for one in found.differences if one.type == "unrecorded_call" and one.b is not None)
    at, before = 0, -1
    for seq in alone:
        while at < len(by_second) and by_second[at][0] < seq:
            before = by_second[at][1]
            at += 1
        rows.append(((before + 0.5, seq), (None, seq)))
    return [pair for _, pair in sorted(rows, key=lambda row: row[0])]


class _Side:
    """One run's part of a row: the step, None where the run has none there."""

    __slots__ = ("name", "run", "step")

    def __init__(self, run: Run, step: Step | None, name: str) -> None:
        self.run, self.step, self.name = run, step, name

    @property
    def seq(self) -> int | None:
        """Return the number of the step."""
        return None if self.step is None else self.step.seq

    def head(self) -> Markup:
        """Return the step on one line."""
        if self.step is None:
            return element("span", Text(f"not in the {self.name} run"), class_="none")
        tokens = usage(self.step)
        spent = f" {took(self.step.end_ns - self.step.start_ns)}{tokens and ', ' + tokens}"
        return element("span", *title(self.step), element("span", Text(spent), class_="aside"))

    def content(self, side: str, contents: Contents) -> Markup:
        """Return its `input` or `output`."""
        if self.step is None:
            return element("p", Text(f"not in the {self.name} run"), class_="none")
        where = f"step {self.step.seq} of the {self.name} run, {side}"
        return contents.step(self.run, self.step, side, where)


def _pair(left: _Side, right: _Side, places: list[int], contents: Contents) -> Markup:
    both = left.step is not None and right.step is not None
    links = [joined(element("a", Text("differs"), href=f"#d{place}"), Text(" ")) for place in places if place < _MOST]
    state = element("span", *links) if links else element("span", Text("same" if both else ""), class_="aside")
    blocks = []
    for side in ("input", "output"):
        one, two = left.content(side, contents), right.content(side, contents)
        head = element("h3", Text(side.capitalize()))
        blocks += [head, element("div", element("div", one), element("div", two), class_="two")]
    return element(
        "details",
        element("summary", left.head(), right.head(), state),
        element("div", *blocks, class_="inside"),
        id=_pair_name(left.seq, right.seq),
        class_=f"stop pair {'differs' if places else 'same'}",
    )


# --- a replay ---------------------------------------------------------------------------------------------------------


def _replay(document: Mapping[str, Any]) -> Iterator[Markup]:
    """Show what a replay found: its divergences, what answered it, how it was closed in."""
    verdict = str(document["verdict"])
    yield element("h2", Text("The replay"))
    words: list[Markup | Text] = [
        badge(verdict.replace("_", " "), COLOURS.get(verdict, "")),
        Text(f" {document['mode']} replay, "),
    ]
    yield element("p", *words, Text(f"{many(document['live_calls'], 'live call')}"))
    for divergence in document["divergences"][:_MOST]:
        yield _divergence(divergence)
    if (more := len(document["divergences"]) - _MOST) > 0:
        yield element("p", Text(f"{many(more, 'divergence')} more: runreel replay --json lists them all"), class_="cut")
    for mask in document["masks"]:
        yield element("p", Text("Mask "), said(str(mask["mask"]), "code"), Text(f" hid {mask['hid']}."), class_="aside")
    for note in document["notes"]:
        yield element("p", Text("note: "), said(one_line(str(note), 1000)), class_="aside")
    yield element("p", Text(f"walls: {document['isolation']}"), class_="aside")


def _divergence(one: Mapping[str, Any]) -> Markup:
    head: list[Markup | Text] = [badge(str(one["type"]), "bad" if one["fails"] else "warn"), Text(" ")]
    if one["step"] is not None:
        head.append(Text(f"step {one['step']}, "))
    kind = "" if one["kind"] == "other" else f"{one['kind']} "
    head.append(said(one_line(f"{kind}{one['name']}", 100)))
    inside = [said(one_line(str(one["path"]), 300), "p", "path")] if one["path"] else []
    if one["reason"]:
        inside.append(said(one_line(str(one["reason"]), 400), "p"))
    for label, text, class_ in (("was", one["was"], "was"), ("now", one["now"], "new")):
        if text is not None:
            inside += [element("p", Text(label), class_="side"), said(str(text), "pre", class_)]
    if one["advice"]:
        inside.append(said(str(one["advice"]), "p", "fix"))
    return element(
        "details", element("summary", *head), element("div", *inside, class_="inside"), class_="stop", open=True
    )
