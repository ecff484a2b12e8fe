-- Version 3: what a replay came to, as JSON, beside the rest of its line in the cache of runs; empty for other runs.

ALTER TABLE runreel.runs ADD COLUMN IF NOT EXISTS replay_result String CODEC(ZSTD(1));
