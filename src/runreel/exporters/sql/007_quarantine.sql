-- Version 7: what was acknowledged and is kept aside instead of stored, whole and redacted, with the reason: spans without
-- a field that they must have, and records that a store refused. `record` is a split batch of it alone (zstd), with the
-- parts that it needs. `state` is `held`, or what became of it: `released`, `dropped`, `expired`; then `record` is empty,
-- and the row before is deleted. The newest `changed_ns` of an id counts.

CREATE TABLE IF NOT EXISTS runreel.quarantine
(
    tenant LowCardinality(String),
    id String CODEC(ZSTD(1)),
    state LowCardinality(String),
    kind LowCardinality(String),
    reason LowCardinality(String),
    trace_id String CODEC(ZSTD(1)),
    span_id String CODEC(ZSTD(1)),
    name String CODEC(ZSTD(1)),
    service LowCardinality(String),
    size UInt64 CODEC(ZSTD(1)),
    record String CODEC(NONE),
    arrived_ns UInt64 CODEC(ZSTD(1)),
    changed_ns UInt64 CODEC(ZSTD(1)),
    arrived DateTime64(9, 'UTC') MATERIALIZED fromUnixTimestamp64Nano(toInt64(least(arrived_ns, 9223372036000000000)), 'UTC')
)
ENGINE = ReplacingMergeTree(changed_ns)
ORDER BY (tenant, id)
SETTINGS index_granularity = 64, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;
