import asyncio
import json

import pytest

from runreel.collector.health import Health


def ask(health, path="/healthy", method="GET"):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(health({"path": path, "method": method}, None, send))
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
