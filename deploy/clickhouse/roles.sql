-- Roles and row policies for a ClickHouse server, run once by somebody who may: `clickhouse-client < roles.sql`.
-- A user gets a role, and the tenant whose rows it may see: replace `default` and `somebody`.
--
--   writer    what a collector does
--   reader    lists of runs and costs: no text of any span
--   replayer  everything that a run is rebuilt from
--   admin     all of it, and erasure

CREATE ROLE IF NOT EXISTS runreel_writer;
GRANT SELECT, INSERT ON runreel.* TO runreel_writer;
-- What is kept aside is deleted where it was stored, and what is taken out of the quarantine there.
GRANT ALTER DELETE ON runreel.quarantine TO runreel_writer;
GRANT ALTER DELETE ON runreel.spans TO runreel_writer;
GRANT ALTER DELETE ON runreel.log_events TO runreel_writer;
-- On a cluster, which is told of tables and deletions by ON CLUSTER, also:
-- GRANT CLUSTER ON *.* TO runreel_writer;
GRANT CREATE DATABASE, CREATE TABLE, CREATE VIEW, DROP VIEW, ALTER TABLE ON runreel.* TO runreel_writer;

CREATE ROLE IF NOT EXISTS runreel_reader;
GRANT SELECT ON runreel.runs TO runreel_reader;
GRANT SELECT ON runreel.run_list TO runreel_reader;
GRANT SELECT ON runreel.run_costs TO runreel_reader;
GRANT SELECT ON runreel.prices TO runreel_reader;
GRANT SELECT ON runreel.ledger TO runreel_reader;
GRANT SELECT ON runreel.goldens TO runreel_reader;

CREATE ROLE IF NOT EXISTS runreel_replayer;
GRANT SELECT ON runreel.* TO runreel_replayer;

CREATE ROLE IF NOT EXISTS runreel_admin;
GRANT SELECT, INSERT, ALTER, CREATE, DROP, TRUNCATE, OPTIMIZE ON runreel.* TO runreel_admin;

-- A tenant's people see the rows of that tenant. Policies hold for every table with a column of that name.
CREATE ROLE IF NOT EXISTS runreel_tenant_default;
CREATE ROW POLICY IF NOT EXISTS tenant_default_spans ON runreel.spans FOR SELECT USING tenant = 'default' TO runreel_tenant_default;
CREATE ROW POLICY IF NOT EXISTS tenant_default_log_events ON runreel.log_events FOR SELECT USING tenant = 'default' TO runreel_tenant_default;
CREATE ROW POLICY IF NOT EXISTS tenant_default_payloads ON runreel.payloads FOR SELECT USING tenant = 'default' TO runreel_tenant_default;
CREATE ROW POLICY IF NOT EXISTS tenant_default_parts ON runreel.parts FOR SELECT USING tenant = 'default' TO runreel_tenant_default;
CREATE ROW POLICY IF NOT EXISTS tenant_default_traces ON runreel.traces FOR SELECT USING tenant = 'default' TO runreel_tenant_default;
CREATE ROW POLICY IF NOT EXISTS tenant_default_run_names ON runreel.run_names FOR SELECT USING tenant = 'default' TO runreel_tenant_default;
CREATE ROW POLICY IF NOT EXISTS tenant_default_callers ON runreel.callers FOR SELECT USING tenant = 'default' TO runreel_tenant_default;
CREATE ROW POLICY IF NOT EXISTS tenant_default_runs ON runreel.runs FOR SELECT USING tenant = 'default' TO runreel_tenant_default;
CREATE ROW POLICY IF NOT EXISTS tenant_default_ledger ON runreel.ledger FOR SELECT USING tenant = 'default' TO runreel_tenant_default;
CREATE ROW POLICY IF NOT EXISTS tenant_default_goldens ON runreel.goldens FOR SELECT USING tenant = 'default' TO runreel_tenant_default;
CREATE ROW POLICY IF NOT EXISTS tenant_default_quarantine ON runreel.quarantine FOR SELECT USING tenant = 'default' TO runreel_tenant_default;

-- For example: somebody who replays runs of the tenant `default`.
-- CREATE USER somebody IDENTIFIED BY '...';
-- GRANT runreel_replayer, runreel_tenant_default TO somebody;
