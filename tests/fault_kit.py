"""Runs the fault table: recordings, replays in this process and behind the walls, comparisons of runs; writes the page.

As a program, `python tests/fault_kit.py` prints docs/replay-faults.md.
"""

import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import wrap

import fault_table
from otlp_sink import record
from recorded_runs import KEY
from runreel.demo import model_server
from runreel.processors.redact import Redactor
from runreel.replay.engine import replay
from runreel.runs.assemble import assemble

HERE = Path(__file__).parent
AT_ONCE = 2  # as many as the machines have cores that tests run on


@dataclass(frozen=True)
class Told:
    """What was said first: the type, the step in the table's words, the field."""

    type: str
    where: str = ""
    path: str = ""

    def fits(self, fault):
        return self.type == fault.type and self.where == fault.where and self.path.startswith(fault.path)


def told_of_replay(run, replayed):
    """Return what a replay says first."""
    first = next(iter(replayed.divergences), None)
    if first is None:
        return Told(replayed.verdict)
    if first.recorded is not None:
        return Told(first.type, step_name(run, first.recorded), first.path)
    asked = first.replayed is not None and first.kind != "other"
    return Told(first.type, f"call {first.replayed}" if asked else "run", first.path)


def told_of_runs(run, compared):
    """Return what a comparison of two runs says first."""
    first = compared.first
    if first is None:
        return Told("same")
    where = f"call {first.b}" if first.a is None else step_name(run, first.a)
    return Told(first.type, where, first.changes[0].path if first.changes else "")


def step_name(run, seq):
    steps = {step.seq: step for step in run.steps}
    this = steps[seq]
    like = [s.seq for s in run.steps if s.shadowed_by is None and (s.kind, s.name) == (this.kind, this.name)]
    return f"{this.kind} {this.name} {like.index(seq) + 1}"


def everything():
    table = fault_table.table()
    return (*table.faults, *table.harmless)


# --- in this process: one driver for each base ------------------------------------------------------------------------


@cache
def driven():
    """Return what is said of each fault without walls, by its name."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(_drive, fault_table.table().bases)
    return {name: told for one in found for name, told in one.items()}


def _drive(base):
    faults = [fault for fault in everything() if fault.base == base and not fault.on_walls_only]
    if not faults:
        return {}
    done = subprocess.run(
        [sys.executable, HERE / "fault_driver.py"],
        input=pickle.dumps((base, faults, KEY.secret)),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-4000:])
    run, results = pickle.loads(done.stdout)
    how = {"replay": told_of_replay, "runs": told_of_runs}
    return {fault.name: how[fault.how](run, results[fault.name]) for fault in faults}


# --- behind the walls -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Walled:
    """What `replay` says of each fault, by its name; how often a model was asked for real, and what tools ran."""

    told: dict
    models: int
    bodies: list


@cache
def walled():
    """Replay those faults that go through `replay`, with a model within reach and tools that count."""
    faults = [fault for fault in everything() if fault.real]
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(AT_ONCE) as pool,
        model_server.serving({"desk": ()}) as model,
    ):
        bodies = Path(folder, "bodies")
        env = {**os.environ, "OPENAI_BASE_URL": model.url, "DESK_RAN": str(bodies)}
        bases = sorted({fault.base for fault in faults})
        runs = dict(zip(bases, pool.map(lambda base: _record(Path(folder), base), bases), strict=True))

        def one(numbered):
            number, fault = numbered
            script = _written(Path(folder, str(number)), fault.sources())
            with open(os.devnull, "wb") as nowhere:
                replayed = replay(runs[fault.base], script, key=KEY.secret, stdout=nowhere, env=env)
            assert replayed.live_calls == 0
            return fault.name, told_of_replay(runs[fault.base], replayed)

        told = dict(pool.map(one, enumerate(faults)))
        return Walled(told, len(model.bodies), bodies.read_text().split() if bodies.exists() else [])


def _record(folder, base):
    sources = fault_table.edited(fault_table.table().bases[base], fault_table.pristine())
    script = _written(folder / base, sources)
    world = {}
    exec(sources[fault_table.WORLD], world)
    with model_server.serving({"desk": world["MODEL"]}) as model:
        batch, _ = record(script, model_url=model.url)
    clean = Redactor(KEY).process(batch)
    return assemble(clean.spans, clean.logs)


def _written(folder, sources):
    folder.mkdir()
    for name, text in sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    return str(folder / fault_table.AGENT)


# --- the page ---------------------------------------------------------------------------------------------------------

_TITLES = {
    "prompt": "The prompt",
    "history": "What is told the model of earlier turns",
    "model": "The model and its parameters",
    "tools": "The tools that the model is shown",
    "arguments": "Arguments of tools",
    "retrieval": "Retrievals",
    "calls": "Calls made, left out, in another order",
    "world": "The network",
    "decisions": "Decisions and flags",
    "output": "What comes out",
    "clock": "What cannot be the same twice",
    "runs": "Two recorded runs compared",
}


_HEAD = """
{count} changes of an agent, its tools, its index or its model, and what is said of each first. The changes and what
must be said were written down before the engine was tuned to them (`tests/replay/faults/table.yaml`); the agent is
`tests/replay/faults/desk.py`. Right type: {right}. Right type and first step: {step}. {walls} go through `replay`
behind the walls, the others through the same code in one process, or through the comparison of two recorded runs.
{harmless} changes that change nothing (a comment, the form of JSON, the order of parallel calls, a new parameter at its
default...) are told to be identical.
"""


def page():
    """Return docs/replay-faults.md."""
    table, found, behind = fault_table.table(), driven(), walled().told
    right, step = score(found, behind)
    count = len(table.faults)
    head = _HEAD.format(
        count=count,
        right=f"{right} of {count} ({right / count:.1%})",
        step=f"{step} of {count} ({step / count:.1%})",
        walls=len(behind),
        harmless=len(table.harmless),
    )
    lines = ["# Seeded faults", "", *wrap(head.strip(), 120), ""]
    sorts = Counter(fault.sort for fault in table.faults)
    for sort in sorts:
        lines += [f"## {_TITLES[sort]}", "", "| changed | must be found as | found so |", "|---|---|---|"]
        for fault in table.faults:
            if fault.sort == sort:
                lines.append(_row(fault, behind.get(fault.name) or found[fault.name]))
        lines.append("")
    return "\n".join(lines)


def _row(fault, told):
    walls = " (walls)" if fault.real else ""
    base = f" (agent: {fault.base})" if fault.base != "desk" else ""
    said = "yes" if told.fits(fault) else f"**{told.type}**, {told.where}"
    return f"| {fault.what}{base}{walls} | {fault.type}, {fault.where} | {said} |"


def score(found, behind):
    """Return how many faults were found with their type, and how many with their first step as well."""
    told = [(fault, behind.get(fault.name) or found[fault.name]) for fault in fault_table.table().faults]
    right = sum(one.type == fault.type for fault, one in told)
    return right, sum(one.type == fault.type and one.where == fault.where for fault, one in told)


if __name__ == "__main__":
    print(page(), end="")
