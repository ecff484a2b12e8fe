"""The tables' SQL for a cluster: each table replicated on its shard, and one over all shards under its own name.

Rows of one trace, payload or part stand on one shard, so that reading with FINAL stays exact: duplicates of a row meet.
"""

import re
from collections.abc import Callable, Sequence

from runreel.errors import StoreError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_TABLE = re.compile(r"CREATE TABLE IF NOT EXISTS runreel\.(\w+)\s")
_ENGINE = re.compile(r"ENGINE = (\w*MergeTree)(?:\(([^)]*)\))?")
_ALTER = re.compile(r"ALTER TABLE runreel\.(\w+)\s")
_VIEW = re.compile(r"CREATE (OR REPLACE )?VIEW (IF NOT EXISTS )?runreel\.(\w+)")
_WINDOW = re.compile(r"non_replicated_deduplication_window = (\d+)")
# What rows of a table are kept together by.
_SHARD_BY = {
    "payloads": "sha256",
    "parts": "sha256",
    "runs": "run_id",
    "run_names": "run_id",
    "callers": "instance",
    "prices": "model",
    "ledger": "collector",
    "goldens": "run_id",
    "quarantine": "id",
    "schema_version": "version",
}


def ddl(cluster: str) -> Callable[[str], Sequence[str]]:
    """Return what turns one statement for one server into those for a cluster of that name.

    Raises:
        StoreError: no name of a cluster.
    """
    if not _NAME.fullmatch(cluster):
        raise StoreError(f"{cluster!r} is no name of a cluster: letters, digits, _ and -")

    def statements(sql: str) -> Sequence[str]:
        return _statements(sql, cluster)

    return statements


def _statements(sql: str, cluster: str) -> Sequence[str]:
    on = f"ON CLUSTER `{cluster}`"
    if sql.startswith("CREATE DATABASE IF NOT EXISTS "):
        return [f"{sql} {on}"]
    table = _TABLE.match(sql)
    if table:
        name = table[1]
        local = _TABLE.sub(f"CREATE TABLE IF NOT EXISTS runreel.{name}_local {on} ", sql, count=1)
        local = _ENGINE.sub(_replicated(name), local, count=1)
        local = _WINDOW.sub(r"replicated_deduplication_window = \1", local)
        key = _SHARD_BY.get(name, "trace_id")
        over_all = f"Distributed(`{cluster}`, runreel, {name}_local, cityHash64({key}))"
        return [local, f"CREATE TABLE IF NOT EXISTS runreel.{name} {on} AS runreel.{name}_local ENGINE = {over_all}"]
    altered = _ALTER.match(sql)
    if altered:
        name = altered[1]
        return [
            _ALTER.sub(f"ALTER TABLE runreel.{name}_local {on} ", sql, count=1),
            _ALTER.sub(f"ALTER TABLE runreel.{name} {on} ", sql, count=1),
        ]
    view = _VIEW.match(sql)
    if view:
        return [sql[: view.end()] + f" {on}" + sql[view.end() :]]
    if sql.startswith("INSERT INTO "):
        return [sql]  # through the table over all shards
    raise StoreError(f"no form for a cluster of a statement that begins {sql.split('(', maxsplit=1)[0][:40]!r}")


def _replicated(name: str) -> Callable[[re.Match[str]], str]:
    def written(found: re.Match[str]) -> str:
        given = ["'/clickhouse/tables/{shard}/runreel/" + name + "'", "'{replica}'", *([found[2]] if found[2] else [])]
        return f"ENGINE = Replicated{found[1]}({', '.join(given)})"

    return written
