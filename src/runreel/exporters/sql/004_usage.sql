-- Version 4: the tokens of a run by model, counted once, and what tokens cost. `prices` is the users' own table: prices
-- change, and nobody's list is in here. A model that has none costs nothing known.

ALTER TABLE runreel.runs ADD COLUMN IF NOT EXISTS
    usage Array(Tuple(model String, calls UInt32, input_tokens UInt64, output_tokens UInt64)) CODEC(ZSTD(1));

CREATE TABLE IF NOT EXISTS runreel.prices
(
    model String,
    valid_from Date,
    input_per_million Float64,
    output_per_million Float64,
    currency LowCardinality(String)
)
ENGINE = ReplacingMergeTree
ORDER BY (model, valid_from)
SETTINGS index_granularity = 1024, old_parts_lifetime = 1, cleanup_delay_period = 1, cleanup_delay_period_random_add = 0,
    max_cleanup_delay_period = 2, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;

-- One row a run: the newest line of the cache, for whoever reads the tables themselves.
CREATE OR REPLACE VIEW runreel.run_list AS
SELECT *, fromUnixTimestamp64Nano(toInt64(least(started_ns, 9223372036000000000)), 'UTC') AS started
FROM (SELECT * FROM runreel.runs ORDER BY assembled_ns DESC LIMIT 1 BY tenant, run_id)
WHERE made;

-- One row a run and model, with what it cost at the price that was valid on its day.
CREATE OR REPLACE VIEW runreel.run_costs AS
SELECT
    r.tenant AS tenant,
    r.run_id AS run_id,
    r.agent_id AS agent_id,
    r.started_ns AS started_ns,
    r.model AS model,
    r.calls AS calls,
    r.input_tokens AS input_tokens,
    r.output_tokens AS output_tokens,
    arrayLast(price -> price.1 <= r.day, p.prices) AS price,
    price.4 AS currency,
    if(price.4 = '', NULL, r.input_tokens / 1e6 * price.2 + r.output_tokens / 1e6 * price.3) AS cost
FROM (
    SELECT tenant, run_id, agent_id, started_ns, used.1 AS model, used.2 AS calls, used.3 AS input_tokens,
        used.4 AS output_tokens,
        toDate(toDateTime(toUInt32(least(intDiv(started_ns, 1000000000), 4294967295)), 'UTC')) AS day
    FROM (SELECT tenant, run_id, agent_id, started_ns, arrayJoin(usage) AS used FROM runreel.run_list WHERE replay_of = '')
) AS r
LEFT JOIN (
    SELECT model, arraySort(groupArray((valid_from, input_per_million, output_per_million, currency))) AS prices
    FROM runreel.prices
    GROUP BY model
) AS p ON p.model = r.model;
