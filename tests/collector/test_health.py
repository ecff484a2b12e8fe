import asyncio
import json

import pytest

from runreel.collector.health import Health


def ask(health, path="/healthy", method="GET", query=b""):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(health({"path": path, "method": method, "query_string": query}, None, send))
    return sent[0]["status"], sent[1]["body"]


@pytest.fixture
def health():
    return Health("/healthy")


def test_it_is_unavailable_until_everything_is_up(health):
    assert ask(health) == (503, b'{"status": "Server not available"}')

    health.ready = True
    status, body = ask(health)
    assert status == 200
    assert json.loads(body)["status"] == "Server available"


def test_head_has_no_body(health):
    assert ask(health, method="HEAD") == (503, b"")


def test_other_paths_and_methods_are_refused(health):
    health.ready = True

    assert ask(health, path="/")[0] == 404
    assert ask(health, method="POST")[0] == 405


class Watched:
    def __init__(self, stores, ready):
        self._stores, self._ready = stores, ready

    def stores(self):
        return self._stores

    def quarantine(self):
        return {"full": False, "kept": []}

    def ready(self):
        return self._ready


def test_who_asks_for_stores_is_told_of_each(health):
    health.ready, health.watch = True, Watched({"clickhouse": "ok", "s3": "nothing listens there"}, True)

    status, body = ask(health, query=b"stores")

    assert status == 200
    assert json.loads(body)["stores"] == {"clickhouse": "ok", "s3": "nothing listens there"}
    assert json.loads(body)["quarantine"] == {"full": False, "kept": []}
    assert "stores" not in json.loads(ask(health)[1])


def test_where_requests_cannot_be_taken_it_is_not_available_to_who_asks_for_stores(health):
    health.ready, health.watch = True, Watched({"clickhouse": "away"}, False)

    assert ask(health, query=b"stores")[0] == 503
    assert ask(health)[0] == 200  # the process is well: starting it again would help nobody
