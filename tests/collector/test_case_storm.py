"""Case C38: thousands of tiny requests, spans of two hundred days, and reads before any merge."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import otlp_build as build
from collector_kit import SPOOLED, ask
from runreel.components import open_database, open_runs
from serve_kit import serve

STORM = 600
CLIENTS = 32
MOST_PARTS = 100
"""Active parts of all tables together; a server of ClickHouse begins to refuse at 3,000 in one partition."""


def run(number: int) -> bytes:
    trace_id = hashlib.md5(str(number).encode(), usedforsecurity=False).hexdigest()
    call = build.llm(
        "00000000000000b1",
        build.ROOT,
        [build.msg("user", f"q{number}")],
        [build.msg("assistant", "a")],
        tid=trace_id,
    )
    return build.req(build.agent(tid=trace_id), call).SerializeToString()


def test_a_storm_of_tiny_requests_makes_few_parts_and_is_exact_before_any_merge(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with serve(home, SPOOLED) as serving:
        url = f"{serving.at.otlp_http}/v1/traces"
        with ThreadPoolExecutor(CLIENTS) as clients:
            statuses = [answer.status for answer in clients.map(lambda number: ask(url, run(number)), range(STORM))]
            again = [answer.status for answer in clients.map(lambda number: ask(url, run(number)), range(0, STORM, 10))]
        listed = ask(f"{serving.at.api}/api/v1/runs?limit=0", authorization=f"Bearer {serving.at.token}").json()["runs"]

    database = open_database(home)
    engine = database._engine
    ((parts,),) = engine.query("SELECT count() FROM system.parts WHERE database = 'runreel' AND active")
    ((spans,),) = engine.query("SELECT count() FROM runreel.spans FINAL")
    database.shutdown()

    assert {*statuses, *again} == {200}
    assert len(listed) == STORM
    assert sum(run["model_calls"] for run in listed) == STORM
    tokens = {one["input_tokens"] for run in listed for one in run["usage"]}
    assert len(tokens) == 1  # of each run the same, however often it was sent
    assert spans == 2 * STORM
    assert parts < MOST_PARTS


def test_spans_of_two_hundred_days_in_one_minute_make_one_partition_a_table(tmp_path: Path) -> None:
    home = tmp_path / "home"
    spread = [
        build.req(build.agent(tid=f"{number:032x}", at=-86_400_000 * number)).SerializeToString()
        for number in range(1, 200)
    ]
    with serve(home, SPOOLED) as serving:
        url = f"{serving.at.otlp_http}/v1/traces"
        assert {ask(url, body).status for body in spread} == {200}

    open_runs(home).close()  # stores what the end of the collector left in its spool
    database = open_database(home)
    found = database._engine.query(
        "SELECT table, uniqExact(partition) FROM system.parts WHERE database = 'runreel' AND active GROUP BY table"
    )
    ((spans,),) = database._engine.query("SELECT count() FROM runreel.spans FINAL")
    database.shutdown()

    # Two where the month turns meanwhile: partitions go by when a span arrived.
    assert max(partitions for _, partitions in found) <= 2
    assert spans == 199
