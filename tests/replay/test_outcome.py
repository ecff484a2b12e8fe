"""What is found at the end stands where it happened."""

import socket

import pytest

from runreel.replay import outcome
from runreel.replay.host import Host
from runreel.replay.protocol import Channel
from runreel.replay.sandbox import Isolation
from runreel.replay.unifying import Call
from tape_kit import matcher, tool


@pytest.fixture
def host():
    ours, theirs = socket.socketpair()
    with theirs:
        made = Host(
            matcher(tool(0, "a", {"n": 1}, ""), tool(1, "b", {}, ""), tool(2, "c", {}, "", [1])), Channel(ours.detach())
        )
        yield made
        made.channel.close()


def heard(host, target):
    """Say that Python code of the agent asked for an address now."""
    host.network.append({"event": "socket.connect", "target": target, "pid": "7", "ns": str(len(host.network))})
    host.network_at.setdefault(target, len(host.matcher.divergences))


def judged(host, how="returned"):
    host.told["ended"] = {"how": how, "error_type": "OSError"}
    seen = outcome.Seen(host, 0, False, (), Isolation(False, False, False, 0))
    replayed = outcome.judge(host.matcher.tape, seen, redact=None, duration_s=0.0)
    return [(one.type, one.name) for one in replayed.divergences]


def test_attempts_stand_in_the_order_in_which_they_were_made_before_what_followed(host):
    heard(host, "192.0.2.1:1")
    heard(host, "192.0.2.2:2")
    host.matcher.ask(Call("tool", "a", {"n": 2}))
    heard(host, "192.0.2.3:3")

    assert judged(host, "raised") == [
        ("network_attempt", "192.0.2.1:1"),
        ("network_attempt", "192.0.2.2:2"),
        ("input_mismatch", "a"),
        ("network_attempt", "192.0.2.3:3"),
    ]


def test_calls_that_never_came_do_not_move_an_attempt(host):
    host.matcher.ask(Call("tool", "a", {"n": 1}))
    host.matcher.ask(Call("tool", "c", {"x": 1}))
    heard(host, "192.0.2.1:1")

    assert judged(host) == [("missing_call", "b"), ("input_mismatch", "c"), ("network_attempt", "192.0.2.1:1")]
