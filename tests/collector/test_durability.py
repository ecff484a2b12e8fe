"""Acknowledged means durable: what a client was told is stored survives `kill -9` at any moment."""

import os
import random
import signal
import socket
from collections import Counter

import pytest

from collector_kit import CONFIG, SPOOLED, until
from load_kit import Load, grpc_exporter, http_exporter
from runreel.components import open_database, open_runs
from runreel.spool import ledger
from serve_kit import Nursery, end

KILLS = int(os.environ.get("RUNREEL_KILLS", "20"))
KILLS_WITHOUT = 5


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "kills"), [(SPOOLED, KILLS), (CONFIG, KILLS_WITHOUT)], ids=["spool", "without"])
def test_every_acknowledged_span_is_stored_once_after_kill_9_at_random_moments(tmp_path, text, kills):
    grpc_port, http_port = free_port(), free_port()
    config, home = tmp_path / "config.yaml", tmp_path / "home"
    listens = text.replace("127.0.0.1:0", f"127.0.0.1:{grpc_port}", 1)
    config.write_text(listens.replace("127.0.0.1:0", f"127.0.0.1:{http_port}", 1))
    chance = random.Random(7)
    clients = [lambda: grpc_exporter(f"127.0.0.1:{grpc_port}"), lambda: http_exporter(f"http://127.0.0.1:{http_port}")]
    nursery = Nursery(tmp_path)

    with Load(clients * 2) as load:
        for _ in range(kills):
            enough = len(load.acknowledged) + chance.randint(1, 60)
            pid = nursery.start("--home", str(home), "--config", str(config))
            until(lambda enough=enough: len(load.acknowledged) >= enough)
            end(pid, signal.SIGKILL)
    if text is CONFIG:
        # It starts once more on what the last kill left, and stops.
        end(nursery.start("--home", str(home), "--config", str(config)), signal.SIGTERM)
    nursery.close()
    open_runs(home).close()  # stores what the last kill left in the spool

    stored = spans_in(home, {trace for trace, _ in load.acknowledged})
    assert len(load.acknowledged) > 3 * kills
    assert load.acknowledged - set(stored) == set()
    assert {key: count for key, count in stored.items() if count > 1} == {}
    if text is SPOOLED:
        _, counted = ledger.read(home / "spool")
        counts = counted.document()["default"]
        # A span whose answer a kill swallowed is sent again, and counted as often as it was taken.
        assert counts["acknowledged_spans"] == counts["stored_spans"] >= len(load.acknowledged)
        assert counts["spooled_spans"] == 0


def spans_in(home, traces):
    """How many times each (trace id, span id) of these traces is in the store."""
    database = open_database(home)
    try:
        rows, _ = database.rows("default", sorted(traces))
    finally:
        database.shutdown()
    return Counter((row.span.key.trace_id, row.span.key.span_id) for row in rows)
