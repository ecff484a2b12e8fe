"""Many replays as a page: what became of each run, where most of them first diverged, and a link to each one's page."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runreel.pages.markup import Markup, Text, element, said
from runreel.pages.report import COLOURS
from runreel.pages.shell import badge, page
from runreel.text import many, one_line

_MOST_PLACES = 10
_WORDS: Mapping[str, str] = {"same": "identical", "diverged": "diverged", "not_comparable": "not comparable"}


@dataclass(frozen=True, slots=True)
class Row:
    """One run: its id, the verdict of its replay, where it first diverged or why it could not be replayed, and the file
    name of its page, empty where there is none. The file name is ours, not a run's text."""

    run_id: str
    verdict: str
    where: str
    file: str = ""


def overview(rows: Sequence[Row], what: str, notes: Sequence[str] = ()) -> str:
    """Return the page. Pure; all text of the runs is escaped. `what` names the runs that were asked for."""
    counts = Counter(row.verdict for row in rows)
    words = ", ".join(f"{counts[verdict]:,} {word}" for verdict, word in _WORDS.items() if counts[verdict])
    colour = "bad" if counts["diverged"] else "warn" if counts["not_comparable"] else "good"
    return page(
        f"replays of {what}",
        element("h1", Text("Replays of "), said(one_line(what, 200))),
        element("div", element("p", Text(f"{many(len(rows), 'run')}: {words}")), class_=f"verdict {colour}"),
        *(element("p", said(one_line(note, 500)), class_="aside") for note in notes),
        *_places(rows),
        element("h2", Text("Runs")),
        element("table", *map(_row, rows), class_="runs"),
    )


def _places(rows: Sequence[Row]) -> Iterator[Markup]:
    places = Counter(row.where for row in rows if row.verdict == "diverged").most_common(_MOST_PLACES)
    if not places:
        return
    yield element("h2", Text("Where they first diverged"))
    lines = [element("li", Text(f"{count:,} × "), said(one_line(where, 500))) for where, count in places]
    yield element("ul", *lines)


def _row(row: Row) -> Markup:
    name = said(one_line(row.run_id, 120))
    return element(
        "tr",
        element("td", element("a", name, href=row.file) if row.file else name),
        element("td", badge(_WORDS.get(row.verdict, row.verdict), COLOURS.get(row.verdict, ""))),
        element("td", said(one_line(row.where, 500))),
    )
