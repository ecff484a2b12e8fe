-- Version 6: which runs are kept as goldens, test cases in somebody's repository. Retention keeps such a run as it keeps
-- one that failed; erasure names the goldens that hold what is erased, which no store can reach. Name and ticket are
-- redacted; `sha256` is the fingerprint of what was recorded.

CREATE TABLE IF NOT EXISTS runreel.goldens
(
    tenant LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    name String CODEC(ZSTD(1)),
    ticket String CODEC(ZSTD(1)),
    sha256 String CODEC(ZSTD(1)),
    registered_ns UInt64 CODEC(ZSTD(1)),
    registered DateTime64(9, 'UTC') MATERIALIZED fromUnixTimestamp64Nano(toInt64(least(registered_ns, 9223372036000000000)), 'UTC')
)
ENGINE = ReplacingMergeTree(registered_ns)
ORDER BY (tenant, run_id, name)
SETTINGS index_granularity = 1024, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;
