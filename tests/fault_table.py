"""Seeded faults: edits of the desk agent or its world, and what a replay or a comparison must say of each first.

The table is `replay/faults/table.yaml`. `where` names a step of the recorded run by kind, name and occurrence (`tool
refund 1`), `call N` the Nth call of the replay where no recorded step belongs to it, `run` the run as a whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml

HOME = Path(__file__).parent / "replay" / "faults"
AGENT, WORLD = "desk.py", "desk_world.py"


@dataclass(frozen=True)
class Fault:
    """One fault. `edits` name an old and a new text, and a file where it is not the agent's. `base` names what the
    recorded agent was; `how` is `runs` where the edited agent is recorded too and the two runs are compared; `real`
    ones go through `replay`, behind the walls, `on_walls_only` ones nowhere else."""

    sort: str
    what: str
    edits: tuple[Mapping[str, str], ...] = ()
    type: str = "same"
    where: str = ""
    path: str = ""
    base: str = "desk"
    how: str = "replay"
    real: bool = False
    on_walls_only: bool = False

    @property
    def name(self):
        return f"{self.sort}: {self.what}"

    def sources(self):
        """Return the edited agent and its world, by file name."""
        return edited(self.edits, edited(table().bases[self.base], pristine()))


@dataclass(frozen=True)
class Table:
    bases: Mapping[str, tuple[Mapping[str, str], ...]]
    faults: tuple[Fault, ...]
    harmless: tuple[Fault, ...] = field(default=())


@cache
def table():
    """Read the table."""
    data = yaml.safe_load((HOME / "table.yaml").read_text("utf-8"))
    faults = [Fault(sort, **row) for sort, rows in data["faults"].items() for row in rows]
    harmless = [Fault("same", **row) for row in data["harmless"]]
    return Table(data["bases"], tuple(faults), tuple(harmless))


def pristine():
    return {name: (HOME / name).read_text("utf-8") for name in (AGENT, WORLD)}


def edited(edits, sources):
    """Return sources with edits made; an edit that finds nothing to replace is a mistake in the table."""
    out = dict(sources)
    for edit in edits:
        file = edit.get("file", AGENT)
        assert edit["old"] in out[file], edit["old"]
        out[file] = out[file].replace(edit["old"], edit["new"])
    return out
