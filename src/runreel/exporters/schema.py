"""The tables: which columns they have, and how a store is brought up to date. The SQL stands in `sql/`, one file a
version."""

from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING

from runreel.errors import StoreError

if TYPE_CHECKING:
    from runreel.exporters.connection import Connection

DATABASE = "runreel"
_VERSIONS = (
    f"CREATE TABLE IF NOT EXISTS {DATABASE}.schema_version (version UInt32) "
    "ENGINE = ReplacingMergeTree ORDER BY version SETTINGS fsync_after_insert = 1, fsync_part_directory = 1"
)


def scripts() -> Mapping[int, str]:
    """Return the SQL of every version, by number."""
    folder = resources.files("runreel.exporters").joinpath("sql")
    found = {
        int(file.name.partition("_")[0]): file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    }
    return dict(sorted(found.items()))


def statements(script: str) -> list[str]:
    """Split a script at the semicolons that end a line; comments go."""
    lines = [line for line in script.splitlines() if not line.lstrip().startswith("--")]
    found = [statement.strip() for statement in "\n".join(lines).split(";\n")]
    return [statement.rstrip(";") for statement in found if statement.rstrip(";")]


def migrate(engine: "Connection", form: Callable[[str], Sequence[str]] | None = None) -> None:
    """Bring a store up to date. Idempotent, and may be cut off anywhere: a version counts once all of it has run. Where
    it is up to date, no statement is sent that makes anything.

    Args:
        engine: Where the tables are.
        form: Turns each statement into what is run for it (cluster.py); None runs it as it is.

    Raises:
        StoreError: the store is of a newer version than this one knows, or the engine refuses.
    """

    def run(sql: str) -> None:
        for statement in (sql,) if form is None else form(sql):
            engine.command(statement)

    known = scripts()
    newest = max(known)
    found = _version(engine)
    if found > newest:
        theirs = f"the store {engine.path} has tables of version {found}, and this RunReel knows up to {newest}"
        raise StoreError(f"{theirs}: use a newer RunReel, or another store")
    if found == newest:
        return  # and nothing is sent: a user that may not make tables is enough
    try:
        run(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
        run(_VERSIONS)
        for version, script in known.items():
            if version > found:
                for statement in statements(script):
                    run(statement)
                engine.insert("schema_version", {"version": [version]}, f"schema-{version}")
    except StoreError as error:
        raise StoreError(f"{error} (the tables are of version {found}, and version {newest} is needed)") from None


def _version(engine: "Connection") -> int:
    """Return the version of the tables, 0 where there are none."""
    there = engine.query(
        f"SELECT count() FROM system.tables WHERE database = '{DATABASE}' AND name = 'schema_version'"  # noqa: S608
    )
    if not there[0][0]:
        return 0
    ((found,),) = engine.query("SELECT max(version) FROM runreel.schema_version")
    return int(found)


# Column types by table, so that no insert asks the engine for them first. A test compares them with the tables.
_IDS = {"tenant": "LowCardinality(String)", "trace_id": "String", "span_id": "String", "copy": "String"}
_TEXTS = {"record": "String", "scope": "String", "resource": "String"}
TYPES: Mapping[str, Mapping[str, str]] = {
    "schema_version": {"version": "UInt32"},
    "spans": _IDS
    | dict.fromkeys(("parent_id", "instance", "run_hint"), "String")
    | dict.fromkeys(("name", "service", "kind", "dialect", "agent_id", "model", "provider"), "LowCardinality(String)")
    | dict.fromkeys(("span_kind", "status"), "Int32")
    | dict.fromkeys(("start_ns", "end_ns", "arrived_ns"), "UInt64")
    | dict.fromkeys(("input_tokens", "output_tokens"), "Nullable(UInt64)")
    | {"facts": "String"}
    | _TEXTS,
    "log_events": _IDS
    | {"event_name": "LowCardinality(String)", "severity": "Int32"}
    | dict.fromkeys(("time_ns", "observed_ns", "arrived_ns"), "UInt64")
    | _TEXTS,
    "payloads": {
        "tenant": "LowCardinality(String)",
        "sha256": "FixedString(32)",
        "size": "UInt64",
        "state": "LowCardinality(String)",
        "reason": "String",
        "skeleton": "String",
        "parts": "Array(FixedString(32))",
        "arrived_ns": "UInt64",
    },
    "parts": {
        "tenant": "LowCardinality(String)",
        "sha256": "FixedString(32)",
        "size": "UInt64",
        "media_type": "LowCardinality(String)",
        "codec": "LowCardinality(String)",
        "place": "LowCardinality(String)",
        "data": "String",
        "arrived_ns": "UInt64",
    },
    "traces": {
        "tenant": "LowCardinality(String)",
        "trace_id": "String",
        "steps": "UInt8",
        "started_ns": "UInt64",
        "ended_ns": "UInt64",
        "changed_ns": "UInt64",
        "run_hints": "Array(String)",
        "other_steps": "UInt8",
        "callers": "Array(String)",
    },
    "callers": {
        "tenant": "LowCardinality(String)",
        "instance": "String",
        "started_ns": "UInt64",
        "trace_id": "String",
        "scope": "LowCardinality(String)",
    },
    "ledger": {
        "tenant": "LowCardinality(String)",
        "collector": "String",
        "what": "LowCardinality(String)",
        "number": "UInt64",
        "told_ns": "UInt64",
    },
    "goldens": {
        "tenant": "LowCardinality(String)",
        **dict.fromkeys(("run_id", "name", "ticket", "sha256"), "String"),
        "registered_ns": "UInt64",
    },
    "prices": {
        "model": "String",
        "valid_from": "Date",
        "input_per_million": "Float64",
        "output_per_million": "Float64",
        "currency": "LowCardinality(String)",
    },
    "quarantine": dict.fromkeys(("tenant", "state", "kind", "reason", "service"), "LowCardinality(String)")
    | dict.fromkeys(("id", "trace_id", "span_id", "name", "record"), "String")
    | dict.fromkeys(("size", "arrived_ns", "changed_ns"), "UInt64"),
    "run_names": {"tenant": "LowCardinality(String)", "run_id": "String", "trace_id": "String"},
    "runs": dict.fromkeys(
        ("tenant", "derivation", "agent_id", "outcome", "replayable", "env"), "LowCardinality(String)"
    )
    | dict.fromkeys(("started_ns", "ended_ns", "changed_ns", "assembled_ns"), "UInt64")
    | dict.fromkeys(("run_id", "revision", "parent_run_id", "replay_of", "replay_result", "user_ref"), "String")
    | dict.fromkeys(("traces", "trace_ids", "tools"), "Array(String)")
    | dict.fromkeys(("model_calls", "tool_calls", "retrievals"), "UInt32")
    | {"open": "Bool", "made": "Bool"}
    | {"usage": "Array(Tuple(model String, calls UInt32, input_tokens UInt64, output_tokens UInt64))"},
}
