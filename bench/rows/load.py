"""Loading and assembling a run from a store of ten million spans, against one of ten thousand.

Both hold the same runs, which came in as a collector takes them. The rest are copies of their rows under other trace
ids, made by the engine itself; payloads and parts are filled up in the same way.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection

import traffic
from harness import Bar, Declared, Row, Say, side_by_side
from scratch import REQUEST_SPANS, TENANT, Store, Unredacted, store

from runreel.exporters.files import FileBlobs
from runreel.runs.load import StoreRuns

ROWS = (Declared("load_from_many_rows", Bar("<=", 2), "times the time of a load where a thousandth of the spans are"),)
_RUNS, _STEPS = 12, 20
_SMALL, _LARGE = 10_000, 10_000_000
_AT_ONCE = 1_000_000
_SETTLE_S = 60.0


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Fill two stores, each in a process of its own (chDB opens one), then load from them in turn; wall time."""
    rounds, large = (2, _LARGE // 20) if quick else (7, _LARGE)
    with _Loads(_SMALL) as small, _Loads(large) as big:
        for name, one in (("small", small), ("large", big)):
            say(f"filling the {name} store")
            one.wait_until_filled(say)
        works = {"small": small.load_all, "large": big.load_all}
        for work in works.values():
            work()
        sides = side_by_side(works, rounds, clock=time.perf_counter, say=say)
        rows = [one.rows for one in (small, big)]
    few, many = sides["small"], sides["large"]
    yield ROWS[0].row(
        many.median / few.median,
        f"{many.median * 1e3:.0f} ms in {rows[1]} spans against {few.median * 1e3:.0f} ms in {rows[0]}, runs of "
        f"{_STEPS} steps, wall time, {_RUNS} loads a round, {many.spread}",
    )


class _Loads:
    """A process with a store of so many spans, that loads all the real runs in it when it is told to."""

    def __init__(self, spans: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, spans), daemon=True)
        self._process.start()
        theirs.close()
        self.rows = 0

    def __enter__(self) -> "_Loads":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.join()

    def wait_until_filled(self, say: Say) -> None:
        while isinstance(told := self._connection.recv(), str):
            say(told)
        self.rows = told

    def load_all(self) -> float:
        """Load every real run once; return how many there are. Raises EOFError where the process has failed."""
        self._connection.send(None)
        return float(self._connection.recv())


def _serve(connection: Connection, spans: int) -> None:
    """Fill a store, say how many spans it has, then load the runs in it each time something is received."""
    with store() as place:
        _take_runs(place)
        _fill(place, spans, connection.send)
        ((rows,),) = place.engine.query("SELECT count() FROM runreel.spans")
        names = [name for (name,) in place.engine.query("SELECT DISTINCT trace_id FROM runreel.real_traces")]
        runs = StoreRuns(place.exporter, FileBlobs(place.blobs))
        connection.send(int(rows))
        while _asked(connection):
            for name in names:
                steps = len(runs.run(TENANT, name).steps)
                if steps < 2 * _STEPS:
                    raise RuntimeError(f"a run of {_STEPS} steps came back with {steps}")
            connection.send(len(names))


def _asked(connection: Connection) -> bool:
    try:
        connection.recv()
    except EOFError:
        return False
    return True


def _take_runs(place: Store) -> None:
    agent = traffic.make_agent(3)
    spans = [span for number in range(_RUNS) for span in traffic.make_run(_STEPS, 500 + number, agent)]
    place.take(Unredacted(), list(traffic.batches(spans, REQUEST_SPANS)))
    for table in _COPIES:
        place.engine.command(f"CREATE TABLE runreel.real_{table} ENGINE = Memory AS SELECT * FROM runreel.{table}")


# How a copied row differs: under what trace, or under what hash. `n` is the number of the copy.
_OTHER_TRACE = "lower(hex(MD5(concat(trace_id, toString(n)))))"
_OTHER_HASH = "SHA256(concat(sha256, toString(n)))"
_COPIES = {
    "traces": ("trace_id", _OTHER_TRACE),
    "payloads": ("sha256", _OTHER_HASH),
    "parts": ("sha256", _OTHER_HASH),
    "spans": ("trace_id", _OTHER_TRACE),
}
# A copy of a payload or a part is short: it is there to be searched through, and no bytes of it are ever read.
_SHARED = 10
_SHORT = {"payloads": ("skeleton", "'\"copy\"'"), "parts": ("data", "'copy'")}


def _fill(place: Store, spans: int, tell: Callable[[str], object]) -> None:
    """Copy the rows of the runs until there are so many spans, then let the engine's merges end."""
    ((real,),) = place.engine.query("SELECT count() FROM runreel.real_spans")
    at_once = max(1, _AT_ONCE // real)
    for table, changes in _COPIES.items():
        copies = spans // real // (_SHARED if table in _SHORT else 1)
        for first in range(1, copies, at_once):
            tell(f"{table}, {100 * (first - 1) // copies} %")
            count = min(at_once, copies - first)
            place.engine.command(_copied(table, [changes, *([_SHORT[table]] if table in _SHORT else [])], first, count))
    tell("merging")
    deadline = time.monotonic() + _SETTLE_S
    while time.monotonic() < deadline and place.engine.query("SELECT 1 FROM system.merges WHERE database = 'runreel'"):
        time.sleep(0.2)


def _copied(table: str, changes: Sequence[tuple[str, str]], first: int, count: int) -> str:
    changed = ", ".join(f"{new} AS {column}" for column, new in changes)
    return (
        f"INSERT INTO runreel.{table} SELECT * EXCEPT n REPLACE ({changed}) FROM "
        f"(SELECT r.*, m.number AS n FROM numbers({first}, {count}) AS m CROSS JOIN runreel.real_{table} AS r)"
    )
