"""What a row of the bench is, and how two things are measured side by side."""

import importlib
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

Clock: TypeAlias = Callable[[], float]
Work: TypeAlias = Callable[[], "float | None"]
"""Does something once, and returns how much it did (bytes, spans); None counts as one."""


@dataclass(frozen=True, slots=True)
class Bar:
    """What a row should reach."""

    side: Literal[">=", "<="]
    limit: float

    def met(self, value: float) -> bool:
        """Say whether a value reaches the bar."""
        return value >= self.limit if self.side == ">=" else value <= self.limit

    def __str__(self) -> str:
        return f"{self.side} {self.limit:g}"


SKIPPED = "skipped: "


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the results.

    Attributes:
        name: Unique, stable.
        value: A ratio of two things measured in the same run; None where the row failed to run, or was skipped: where
            something it needs is not there, and `detail` begins with SKIPPED.
        unit: What the ratio is of, in words.
        detail: Both figures, how often and on how much they were measured.
    """

    name: str
    value: float | None
    bar: Bar
    unit: str
    detail: str = ""

    @property
    def ok(self) -> bool:
        return self.value is not None and self.bar.met(self.value)

    def document(self) -> dict[str, Any]:
        """Return the row as it stands in results.json."""
        value = None if self.value is None else float(f"{self.value:.4g}")
        return {
            "name": self.name,
            "value": value,
            "bar": str(self.bar),
            "ok": self.ok,
            "unit": self.unit,
            "detail": self.detail,
        }


@dataclass(frozen=True, slots=True)
class Declared:
    """A row that a module promises: its name, its bar, its unit."""

    name: str
    bar: Bar
    unit: str

    def row(self, value: float | None, detail: str = "") -> Row:
        return Row(self.name, value, self.bar, self.unit, detail)


Say: TypeAlias = Callable[[str], object]
"""Tells whoever waits what is being measured now."""


class Measure(Protocol):
    """Measures every row of a group; `quick` takes less of everything."""

    def __call__(self, *, quick: bool, say: Say) -> Iterator[Row]: ...


@dataclass(frozen=True, slots=True)
class Group:
    """A module in `rows/`. Each is measured in a process of its own: chDB opens one folder a process, and what one
    group warmed up must not help the next."""

    rows: Sequence[Declared]
    measure: Measure

    @classmethod
    def load(cls, name: str) -> "Group":
        """Import a group: its `ROWS` and `measure`."""
        module = importlib.import_module(f"rows.{name}")
        return cls(module.ROWS, module.measure)


@dataclass(frozen=True, slots=True)
class Side:
    """What one of two things cost, round by round, in seconds for each unit of work."""

    costs: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.costs)

    @property
    def spread(self) -> str:
        """How far apart the rounds were: (largest - smallest) / median."""
        if len(self.costs) < 2:
            return "one round"
        return f"{len(self.costs)} rounds, spread {(max(self.costs) - min(self.costs)) / self.median:.0%}"


def side_by_side(
    works: Mapping[str, Work], rounds: int, *, clock: Clock = time.process_time, say: Say | None = None
) -> dict[str, Side]:
    """Do the works in turn, `rounds` times, and return what each cost.

    In turn, so that a busy neighbour or a slower clock touches all of them. Processor time is the default clock: it
    leaves the neighbours' share out; give `time.perf_counter` where waiting is part of the cost.
    """
    costs: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds):
        for name, work in works.items():
            if say:
                say(f"{name}, round {turn + 1} of {rounds}")
            start = clock()
            done = work()
            costs[name].append((clock() - start) / (1.0 if done is None else done))
    return {name: Side(tuple(each)) for name, each in costs.items()}


def spent_by_children() -> float:
    """Return the processor time of the programs that were run and have ended, with all that they ran, in seconds."""
    spent = os.times()
    return spent.children_user + spent.children_system


def rate(side: Side, unit: str = "MB/s", per: float = 1e6) -> str:
    """Return the speed of a side in words: work is counted in bytes, or `per` says in what."""
    return f"{1 / side.median / per:.3g} {unit}"


def was_skipped(row: Mapping[str, Any]) -> bool:
    """Say whether a row, as it stands in results.json, was not measured for want of something."""
    return row["value"] is None and str(row["detail"]).startswith(SKIPPED)


def shown(row: Mapping[str, Any]) -> str:
    """Return the value of a row, as it stands in results.json, for people."""
    if row["value"] is not None:
        return f"{row['value']:.3g}"
    return "skipped" if was_skipped(row) else "failed"


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write results.json, one row a line so that a change shows as what it is."""
    lines = ",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def read(path: Path) -> list[dict[str, Any]]:
    """Return the rows of an earlier run; none where there is no file."""
    if not path.exists():
        return []
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return rows
