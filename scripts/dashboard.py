"""The Grafana dashboard of docker-compose.yml, from one table of panels: `python scripts/dashboard.py > FILE`.

Queries are ClickHouse SQL over the tables that Grafana's user may read. `$from` and `$to` stand for the time range, in
seconds since 1970.
"""

import json
import sys
from dataclasses import dataclass
from typing import Any, Literal

DATASOURCE = {"type": "grafana-clickhouse-datasource", "uid": "runreel"}
# Recorded runs of the chosen time range; a replay is no run of production.
_RUNS = "runreel.run_list WHERE replay_of = '' AND started_ns >= $from * 1000000000 AND started_ns < $to * 1000000000"
_COSTS = "runreel.run_costs WHERE started_ns >= $from * 1000000000 AND started_ns < $to * 1000000000"
_AT = "toDateTime(intDiv(intDiv(started_ns, 1000000000), $step) * $step, 'UTC') AS time"

Kind = Literal["stat", "timeseries", "bars", "table"]


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: its place in a grid of 24 columns, and its query."""

    title: str
    kind: Kind
    sql: str
    x: int
    y: int
    width: int
    height: int
    unit: str = "short"
    says: str = ""


PANELS = (
    Panel("Runs", "stat", f"SELECT count() AS runs FROM {_RUNS}", 0, 0, 4, 4),
    Panel(
        "Can be replayed in full",
        "stat",
        f"SELECT countIf(replayable = 'full') / count() AS share FROM {_RUNS} HAVING count() > 0",
        4,
        0,
        5,
        4,
        "percentunit",
        "What the others lack, and the setting to switch: runreel doctor",
    ),
    Panel("Ended with an error", "stat", f"SELECT countIf(outcome = 'error') AS runs FROM {_RUNS}", 9, 0, 5, 4),
    Panel("Model calls", "stat", f"SELECT sum(model_calls) AS calls FROM {_RUNS}", 14, 0, 5, 4),
    Panel(
        "Tokens",
        "stat",
        f"SELECT sum(input_tokens + output_tokens) AS tokens FROM {_COSTS}",
        19,
        0,
        5,
        4,
    ),
    Panel(
        "Runs by outcome",
        "timeseries",
        f"SELECT {_AT}, outcome AS series, count() AS value FROM {_RUNS} GROUP BY time, series ORDER BY time, series",
        0,
        4,
        12,
        8,
    ),
    Panel(
        "Replayability",
        "timeseries",
        f"SELECT {_AT}, replayable AS series, count() AS value FROM {_RUNS} GROUP BY time, series ORDER BY time, series",
        12,
        4,
        12,
        8,
    ),
    Panel(
        "Tokens by model",
        "timeseries",
        f"SELECT {_AT}, model AS series, sum(input_tokens + output_tokens) AS value FROM {_COSTS} "
        "GROUP BY time, series ORDER BY time, series",
        0,
        12,
        12,
        8,
    ),
    Panel(
        "Cost by model",
        "bars",
        "SELECT model, currency, round(sum(cost), 4) AS cost, sum(calls) AS calls, sum(input_tokens) AS input_tokens, "
        f"sum(output_tokens) AS output_tokens FROM {_COSTS} GROUP BY model, currency ORDER BY cost DESC, model",
        12,
        12,
        12,
        8,
        says="At the prices in runreel.prices on the day of the run; a model that has none there costs nothing known",
    ),
    Panel(
        "Latest runs",
        "table",
        "SELECT started AS time, run_id, agent_id AS agent, env, outcome, replayable, model_calls, tool_calls, "
        "arraySum(usage.input_tokens) + arraySum(usage.output_tokens) AS tokens, "
        f"round((ended_ns - started_ns) / 1e9, 2) AS seconds FROM {_RUNS} ORDER BY started_ns DESC LIMIT 50",
        0,
        20,
        24,
        9,
    ),
    Panel(
        "Ledger",
        "table",
        "SELECT tenant, collector, sumIf(number, what = 'acknowledged_spans') AS acknowledged, "
        "sumIf(number, what = 'stored_spans') AS stored, sumIf(number, what = 'spooled_spans') AS waiting, "
        "sumIf(number, what = 'quarantined_spans') AS quarantined, sumIf(number, startsWith(what, 'rejected:span:')) AS rejected, "
        "max(told) AS told FROM runreel.ledger FINAL WHERE tenant != '' GROUP BY tenant, collector ORDER BY tenant, collector",
        0,
        29,
        24,
        6,
        says="Spans, since each collector's data folder was made: acknowledged = stored + waiting + set aside",
    ),
)


def document() -> dict[str, Any]:
    """Return the dashboard as Grafana's JSON model."""
    return {
        "uid": "runreel",
        "title": "RunReel",
        "tags": ["runreel"],
        "timezone": "browser",
        "schemaVersion": 39,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-24h", "to": "now"},
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS, 1)],
    }


def query(panel: Panel, start: str, end: str, step: str) -> str:
    """Return a panel's SQL with its time range put in."""
    return panel.sql.replace("$from", start).replace("$to", end).replace("$step", step)


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    # Grafana fills these in: milliseconds since 1970, and how wide a point is.
    sql = query(panel, "intDiv(${__from}, 1000)", "intDiv(${__to}, 1000)", "greatest(intDiv($__interval_ms, 1000), 1)")
    kind = {"bars": "table"}.get(panel.kind, panel.kind)
    defaults: dict[str, Any] = {"unit": panel.unit}
    if panel.kind == "timeseries":
        defaults["custom"] = {"drawStyle": "bars", "fillOpacity": 70, "stacking": {"mode": "normal"}}
    return {
        "id": number,
        "title": panel.title,
        "description": panel.says,
        "type": kind,
        "datasource": DATASOURCE,
        "gridPos": {"x": panel.x, "y": panel.y, "w": panel.width, "h": panel.height},
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "/.*/"}} if panel.kind == "stat" else {},
        "targets": [
            {
                "refId": "A",
                "datasource": DATASOURCE,
                "editorType": "sql",
                "format": 0 if panel.kind == "timeseries" else 1,
                "queryType": "timeseries" if panel.kind == "timeseries" else "table",
                "rawSql": sql,
            }
        ],
    }


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=1)
    print()
