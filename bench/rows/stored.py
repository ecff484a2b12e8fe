"""Bytes on disk for the same spans: RunReel's tables and files against the `otel_traces` layout.

Both after `OPTIMIZE ... FINAL`, indexes included. Redaction is left out: tokens are shorter than what they stand for,
and that is not what is compared.
"""

from collections.abc import Iterator
from pathlib import Path

import traffic
from harness import Bar, Declared, Row, Say
from scratch import COMMIT_REQUESTS, REQUEST_SPANS, Store, Unredacted, decode, store
from stock import OtelTraces

_UNIT = "times fewer bytes than otel_traces"
ROWS = (Declared("stored_20_steps", Bar(">=", 6), _UNIT), Declared("stored_80_steps", Bar(">=", 20), _UNIT))
_RUNS = {20: 10, 80: 3}


def measure(*, quick: bool, say: Say) -> Iterator[Row]:
    """Store runs of one agent both ways: ten of 20 steps, then three of 80; `quick` stores fewer."""
    with store() as place:
        chain, before = Unredacted(), 0
        for declared, (steps, runs) in zip(ROWS, _RUNS.items(), strict=True):
            count = max(1, runs // 3) if quick else runs
            agent = traffic.make_agent(steps)
            spans = [span for number in range(count) for span in traffic.make_run(steps, 1000 * steps + number, agent)]
            bodies = list(traffic.batches(spans, REQUEST_SPANS))
            say(f"{steps} steps, RunReel's tables")
            place.take(chain, bodies)
            total = _ours(place)
            ours, before = total - before, total
            say(f"{steps} steps, otel_traces")
            theirs = _otel(place, f"otel_traces_{steps}", bodies)
            yield declared.row(
                theirs / ours,
                f"{ours / 1e6:.2f} MB against {theirs / 1e6:.2f} MB for {sum(map(len, bodies)) / 1e6:.1f} MB sent: "
                f"{count} runs of {steps} steps, {len(spans)} spans",
            )


def _ours(place: Store) -> int:
    """Return what all tables and the files of heavy parts take."""
    tables = place.engine.query(
        "SELECT name FROM system.tables WHERE database = 'runreel' AND engine LIKE '%MergeTree'"
    )
    for (name,) in tables:
        place.engine.command(f"OPTIMIZE TABLE runreel.{name} FINAL")
    return _on_disk(place, "runreel", [name for (name,) in tables]) + _files(place.blobs)


def _otel(place: Store, name: str, bodies: list[bytes]) -> int:
    """Insert the same spans into a new table of the `otel_traces` layout and return what it takes."""
    table = OtelTraces(place.database, name)
    try:
        for start in range(0, len(bodies), COMMIT_REQUESTS):
            table.insert([span for body in bodies[start : start + COMMIT_REQUESTS] for span in decode(body).spans])
        place.engine.command(f"OPTIMIZE TABLE {table.DATABASE}.{name} FINAL")
        return _on_disk(place, table.DATABASE, [name])
    finally:
        table.close()


def _on_disk(place: Store, database: str, tables: list[str]) -> int:
    sql = (
        "SELECT sum(bytes_on_disk) FROM system.parts "
        "WHERE active AND database = {database:String} AND table IN {tables:Array(String)}"
    )
    ((size,),) = place.engine.query(sql, {"database": database, "tables": tables})
    return int(size)


def _files(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
