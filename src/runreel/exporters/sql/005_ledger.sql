-- Version 5: what each collector says has become of everything that it acknowledged, for dashboards. The truth is in the
-- collectors' own spools; this is what they told last.

CREATE TABLE IF NOT EXISTS runreel.ledger
(
    tenant LowCardinality(String),
    collector String,
    what LowCardinality(String),
    number UInt64,
    told_ns UInt64,
    told DateTime64(9, 'UTC') MATERIALIZED fromUnixTimestamp64Nano(toInt64(least(told_ns, 9223372036000000000)), 'UTC')
)
ENGINE = ReplacingMergeTree(told_ns)
ORDER BY (tenant, collector, what)
SETTINGS index_granularity = 1024, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;
