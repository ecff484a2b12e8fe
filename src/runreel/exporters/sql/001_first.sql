-- Version 1: what a run is rebuilt from. Every statement may be run again.
--
-- The four cleanup settings must stand here: set later they have no effect, and without them the bytes of a deleted row
-- stay on disk for minutes. Partitions follow our own clock (`arrived_ns`), never the sender's, which may be anywhere.

CREATE TABLE IF NOT EXISTS runreel.spans
(
    tenant LowCardinality(String),
    trace_id String CODEC(ZSTD(1)),
    span_id String CODEC(ZSTD(1)),
    copy String CODEC(ZSTD(1)),
    parent_id String CODEC(ZSTD(1)),
    name LowCardinality(String),
    service LowCardinality(String),
    instance String CODEC(ZSTD(1)),
    span_kind Int32 CODEC(ZSTD(1)),
    status Int32 CODEC(ZSTD(1)),
    start_ns UInt64 CODEC(Delta, ZSTD(1)),
    end_ns UInt64 CODEC(Delta, ZSTD(1)),
    arrived_ns UInt64 CODEC(Delta, ZSTD(1)),
    kind LowCardinality(String),
    dialect LowCardinality(String),
    run_hint String CODEC(ZSTD(1)),
    agent_id LowCardinality(String),
    model LowCardinality(String),
    provider LowCardinality(String),
    input_tokens Nullable(UInt64) CODEC(ZSTD(1)),
    output_tokens Nullable(UInt64) CODEC(ZSTD(1)),
    facts String CODEC(ZSTD(1)),
    record String CODEC(ZSTD(3)),
    scope String CODEC(ZSTD(1)),
    resource String CODEC(ZSTD(1)),
    -- A sender's time may be beyond what DateTime64 holds (2262): the clamped one is for looking, the number is the truth.
    started DateTime64(9, 'UTC') MATERIALIZED fromUnixTimestamp64Nano(toInt64(least(start_ns, 9223372036000000000)), 'UTC'),
    duration_ns UInt64 MATERIALIZED if(end_ns > start_ns, end_ns - start_ns, 0),
    arrived DateTime64(9, 'UTC') MATERIALIZED fromUnixTimestamp64Nano(toInt64(least(arrived_ns, 9223372036000000000)), 'UTC')
)
ENGINE = ReplacingMergeTree(arrived_ns)
PARTITION BY toYYYYMM(fromUnixTimestamp64Nano(toInt64(least(arrived_ns, 9223372036000000000)), 'UTC'), 'UTC')
ORDER BY (tenant, trace_id, span_id, copy)
SETTINGS index_granularity = 1024, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS runreel.log_events
(
    tenant LowCardinality(String),
    trace_id String CODEC(ZSTD(1)),
    span_id String CODEC(ZSTD(1)),
    copy String CODEC(ZSTD(1)),
    event_name LowCardinality(String),
    severity Int32 CODEC(ZSTD(1)),
    time_ns UInt64 CODEC(Delta, ZSTD(1)),
    observed_ns UInt64 CODEC(Delta, ZSTD(1)),
    arrived_ns UInt64 CODEC(Delta, ZSTD(1)),
    record String CODEC(ZSTD(3)),
    scope String CODEC(ZSTD(1)),
    resource String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(arrived_ns)
PARTITION BY toYYYYMM(fromUnixTimestamp64Nano(toInt64(least(arrived_ns, 9223372036000000000)), 'UTC'), 'UTC')
ORDER BY (tenant, trace_id, span_id, copy)
SETTINGS index_granularity = 1024, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;

-- Skeletons and parts are looked up one by one by hash: a default granule of 8192 rows reads 20 times slower. Skeletons
-- are short and much alike, and what is compressed together is a granule: with 64 rows they take half as much again.
CREATE TABLE IF NOT EXISTS runreel.payloads
(
    tenant LowCardinality(String),
    sha256 FixedString(32) CODEC(NONE),
    size UInt64 CODEC(ZSTD(1)),
    state LowCardinality(String),
    reason String CODEC(ZSTD(1)),
    skeleton String CODEC(ZSTD(3)),
    parts Array(FixedString(32)) CODEC(ZSTD(3)),
    arrived_ns UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(arrived_ns)
ORDER BY (tenant, sha256)
SETTINGS index_granularity = 256, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;

-- `data` is compressed before it comes here (`codec` says how); `place` is `blobs` where the bytes are in the blob store.
CREATE TABLE IF NOT EXISTS runreel.parts
(
    tenant LowCardinality(String),
    sha256 FixedString(32) CODEC(NONE),
    size UInt64 CODEC(NONE),
    media_type LowCardinality(String),
    codec LowCardinality(String),
    place LowCardinality(String),
    data String CODEC(NONE),
    arrived_ns UInt64 CODEC(NONE)
)
ENGINE = ReplacingMergeTree(arrived_ns)
ORDER BY (tenant, sha256)
SETTINGS index_granularity = 64, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;

-- What is known of a trace without reading its rows. Only aggregates that do not mind seeing a row twice, so that a
-- batch sent again changes nothing. Written before the rows themselves: a trace without rows is no run, rows without
-- their trace would never be listed.
CREATE TABLE IF NOT EXISTS runreel.traces
(
    tenant LowCardinality(String),
    trace_id String CODEC(ZSTD(1)),
    steps SimpleAggregateFunction(max, UInt8),
    started_ns SimpleAggregateFunction(min, UInt64),
    ended_ns SimpleAggregateFunction(max, UInt64),
    changed_ns SimpleAggregateFunction(max, UInt64),
    run_hints SimpleAggregateFunction(groupUniqArrayArray, Array(String))
)
ENGINE = AggregatingMergeTree
ORDER BY (tenant, trace_id)
SETTINGS index_granularity = 1024, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;

CREATE VIEW IF NOT EXISTS runreel.trace_news AS
SELECT
    t.tenant AS tenant,
    t.trace_id AS trace_id,
    max(t.steps) AS steps,
    min(t.started_ns) AS started_ns,
    max(t.ended_ns) AS ended_ns,
    max(t.changed_ns) AS changed_ns,
    arraySort(groupUniqArrayArray(t.run_hints)) AS run_hints
FROM runreel.traces AS t
GROUP BY t.tenant, t.trace_id;

-- From the run that spans name to their traces: one run may be in several.
CREATE TABLE IF NOT EXISTS runreel.run_names
(
    tenant LowCardinality(String),
    run_id String CODEC(ZSTD(1)),
    trace_id String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
ORDER BY (tenant, run_id, trace_id)
SETTINGS index_granularity = 1024, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;

-- A cache: every row can be made again from spans and log events. Of the rows of a run only the one with the newest
-- `assembled_ns` counts: a late span may move the start, and with it the place in this order. `made` is false where the
-- traces turned out to hold no such run.
CREATE TABLE IF NOT EXISTS runreel.runs
(
    tenant LowCardinality(String),
    started_ns UInt64 CODEC(Delta, ZSTD(1)),
    run_id String CODEC(ZSTD(1)),
    made Bool,
    traces Array(String) CODEC(ZSTD(1)),
    changed_ns UInt64 CODEC(ZSTD(1)),
    assembled_ns UInt64 CODEC(ZSTD(1)),
    derivation LowCardinality(String),
    revision String CODEC(ZSTD(1)),
    trace_ids Array(String) CODEC(ZSTD(1)),
    agent_id LowCardinality(String),
    ended_ns UInt64 CODEC(ZSTD(1)),
    outcome LowCardinality(String),
    open Bool,
    model_calls UInt32,
    tool_calls UInt32,
    retrievals UInt32,
    replayable LowCardinality(String),
    parent_run_id String CODEC(ZSTD(1)),
    replay_of String CODEC(ZSTD(1)),
    user_ref String CODEC(ZSTD(1)),
    env LowCardinality(String),
    started DateTime64(9, 'UTC') MATERIALIZED fromUnixTimestamp64Nano(toInt64(least(started_ns, 9223372036000000000)), 'UTC'),
    INDEX by_run run_id TYPE bloom_filter GRANULARITY 1
)
ENGINE = ReplacingMergeTree(assembled_ns)
ORDER BY (tenant, started_ns, run_id)
SETTINGS index_granularity = 1024, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;

-- The columns of the OpenTelemetry Collector's ClickHouse exporter, so that dashboards made for it work here. A value
-- that is stored apart shows as its address. `Tenant` is ours: where there are several, a dashboard must choose one.
CREATE VIEW IF NOT EXISTS runreel.otel_traces AS
WITH replaceRegexpAll(record, '"\\x{E000}r:([0-9a-f]{64})"', '"sha256:\\1"') AS text
SELECT
    started AS Timestamp,
    trace_id AS TraceId,
    span_id AS SpanId,
    parent_id AS ParentSpanId,
    JSONExtractString(text, 'trace_state') AS TraceState,
    name AS SpanName,
    transform(span_kind, [0, 1, 2, 3, 4, 5],
        ['Unspecified', 'Internal', 'Server', 'Client', 'Producer', 'Consumer'], 'Unspecified') AS SpanKind,
    service AS ServiceName,
    JSONExtract(resource, 'attributes', 'Map(LowCardinality(String), String)') AS ResourceAttributes,
    JSONExtractString(scope, 'name') AS ScopeName,
    JSONExtractString(scope, 'version') AS ScopeVersion,
    JSONExtract(text, 'attributes', 'Map(LowCardinality(String), String)') AS SpanAttributes,
    duration_ns AS Duration,
    transform(status, [0, 1, 2], ['Unset', 'Ok', 'Error'], 'Unset') AS StatusCode,
    JSONExtractString(text, 'message') AS StatusMessage,
    arrayMap(event -> fromUnixTimestamp64Nano(toInt64(least(JSONExtractUInt(event, 'time_ns'), 9223372036000000000)), 'UTC'),
        JSONExtractArrayRaw(text, 'events')) AS `Events.Timestamp`,
    arrayMap(event -> JSONExtractString(event, 'name'), JSONExtractArrayRaw(text, 'events')) AS `Events.Name`,
    arrayMap(event -> JSONExtract(event, 'attributes', 'Map(LowCardinality(String), String)'),
        JSONExtractArrayRaw(text, 'events')) AS `Events.Attributes`,
    arrayMap(link -> JSONExtractString(link, 'trace_id'), JSONExtractArrayRaw(text, 'links')) AS `Links.TraceId`,
    arrayMap(link -> JSONExtractString(link, 'span_id'), JSONExtractArrayRaw(text, 'links')) AS `Links.SpanId`,
    arrayMap(link -> JSONExtractString(link, 'trace_state'), JSONExtractArrayRaw(text, 'links')) AS `Links.TraceState`,
    arrayMap(link -> JSONExtract(link, 'attributes', 'Map(LowCardinality(String), String)'),
        JSONExtractArrayRaw(text, 'links')) AS `Links.Attributes`,
    tenant AS Tenant
FROM runreel.spans FINAL;
