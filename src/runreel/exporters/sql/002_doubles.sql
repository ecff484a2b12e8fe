-- Version 2: what is needed to find the traces of a run that several instrumentations tore apart, and to list runs by
-- their tools. Every statement may be run again: what is filled in from older rows goes through aggregates that do not
-- mind seeing it twice.

ALTER TABLE runreel.runs ADD COLUMN IF NOT EXISTS tools Array(String) CODEC(ZSTD(1));

-- `other_steps`: the trace has steps that are no model calls. `callers`: the service instances and scopes that wrote its
-- model calls, as one text each with a zero character between the two.
ALTER TABLE runreel.traces ADD COLUMN IF NOT EXISTS other_steps SimpleAggregateFunction(max, UInt8);

ALTER TABLE runreel.traces ADD COLUMN IF NOT EXISTS callers SimpleAggregateFunction(groupUniqArrayArray, Array(String));

CREATE OR REPLACE VIEW runreel.trace_news AS
SELECT
    t.tenant AS tenant,
    t.trace_id AS trace_id,
    max(t.steps) AS steps,
    min(t.started_ns) AS started_ns,
    max(t.ended_ns) AS ended_ns,
    max(t.changed_ns) AS changed_ns,
    arraySort(groupUniqArrayArray(t.run_hints)) AS run_hints,
    max(t.other_steps) AS other_steps,
    arraySort(groupUniqArrayArray(t.callers)) AS callers
FROM runreel.traces AS t
GROUP BY t.tenant, t.trace_id;

-- From a service instance to the model calls that it made, by time.
CREATE TABLE IF NOT EXISTS runreel.callers
(
    tenant LowCardinality(String),
    instance String CODEC(ZSTD(1)),
    started_ns UInt64 CODEC(Delta, ZSTD(1)),
    trace_id String CODEC(ZSTD(1)),
    scope LowCardinality(String)
)
ENGINE = ReplacingMergeTree
ORDER BY (tenant, instance, started_ns, trace_id, scope)
SETTINGS index_granularity = 1024, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;

INSERT INTO runreel.callers (tenant, instance, started_ns, trace_id, scope)
SELECT tenant, instance, start_ns, trace_id, JSONExtractString(scope, 'name')
FROM runreel.spans FINAL
WHERE kind = 'llm' AND instance != '';

INSERT INTO runreel.traces (tenant, trace_id, steps, started_ns, ended_ns, changed_ns, run_hints, other_steps, callers)
SELECT tenant, trace_id, 0, 18446744073709551615, 0, 0, [], max(kind != 'llm'),
    groupUniqArrayIf(concat(instance, char(0), JSONExtractString(scope, 'name')), kind = 'llm' AND instance != '')
FROM runreel.spans FINAL
WHERE kind != 'other'
GROUP BY tenant, trace_id;
