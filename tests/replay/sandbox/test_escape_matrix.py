"""Fourteen escapes, as root and as uid 65534, by the filter alone and with the namespace: none reaches its listener.

Each escape has a listener of its own, and all of them are reached outside the sandbox. docs/sandbox.md shows the table
that these tests compare.
"""

import functools
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import pytest

import runreel
from sandbox_escapes import AROUND, DNS_NAME, ESCAPES

TESTS = Path(__file__).parents[2]
PAGE = Path(__file__).parents[3] / "docs" / "sandbox.md"
USERS = {"root": 0, "65534": 65534}
WALLS = ("filter", "namespace")
NOT_ALLOWED = 77
NOT_PYTHON = {"subprocess with curl", "grpc", "ctypes connect"}
CLOSED = "inherited descriptor"

users = pytest.mark.parametrize("user", USERS)
walls = pytest.mark.parametrize("wall", WALLS)


@functools.cache
def seen_as(user: str) -> dict[str, Any]:
    """Run every escape in every phase, once a user."""
    if os.getuid() != 0:
        pytest.skip("a network of its own takes root")
    installed = Path(runreel.__file__).parents[1]
    # Not tmp_path: its name grows too long for a Unix socket.
    with tempfile.TemporaryDirectory(prefix="rr-") as folder:
        os.chown(folder, USERS[user], USERS[user])
        needed = {sys.prefix, sys.base_prefix, sysconfig.get_path("purelib"), str(installed), str(TESTS), folder}
        argv = [sys.executable, str(TESTS / "sandbox_world.py"), str(USERS[user]), folder, *sorted(needed)]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=180)
    if done.returncode == NOT_ALLOWED:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    assert all(seen[phase]["uid"] == USERS[user] for phase in ("outside", *WALLS))
    return seen


def target(seen: dict[str, Any], name: str) -> str:
    """How a report names the listener of an escape."""
    address = seen["addresses"][name]
    if name == "DNS":
        return f"{DNS_NAME}:80"
    if isinstance(address, str):
        return address
    return f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"


def told(seen: dict[str, Any], wall: str, name: str) -> list[dict[str, Any]]:
    return [line for line in seen[wall]["findings"] if line["target"] == target(seen, name)]


@users
def test_outside_the_sandbox_every_escape_reaches_its_listener(user: str) -> None:
    outside = seen_as(user)["outside"]

    assert len(ESCAPES) == 14
    assert set(outside["escapes"]) == set(outside["counts"]) == set(ESCAPES)
    assert set(outside["escapes"].values()) == {"reached"}


@users
@walls
@pytest.mark.parametrize("name", ESCAPES)
def test_behind_the_walls_no_escape_reaches_its_listener(user: str, wall: str, name: str) -> None:
    inside = seen_as(user)[wall]

    assert inside["escapes"][name] != "reached"
    assert inside["counts"].get(name, 0) == 0
    assert inside["status"] == 0
    assert inside["isolation"]["seccomp"]
    assert inside["isolation"]["namespace"] == (wall == "namespace")


@users
@walls
@pytest.mark.parametrize("name", [name for name in ESCAPES if name != CLOSED])
def test_each_attempt_is_told_once_with_who_tried_and_where_to(user: str, wall: str, name: str) -> None:
    seen = seen_as(user)

    (line,) = told(seen, wall, name)

    assert (line["command"] == "curl") == (name == "subprocess with curl")
    assert (line["pid"] == seen[wall]["pid"]) == (name != "subprocess with curl")
    assert ("sandbox_escapes.py" in line["cmdline"]) == (name != "subprocess with curl")
    if name not in NOT_PYTHON:
        assert ESCAPES[name].__name__ in line["stack"][0] or name in ("thread", "aiohttp")
        assert "sandbox_escapes.py:" in line["stack"][0]


@users
@walls
def test_attempts_are_told_in_the_order_they_were_made(user: str, wall: str) -> None:
    seen = seen_as(user)
    names = {target(seen, name): name for name in ESCAPES}

    order = [names[line["target"]] for line in seen[wall]["findings"]]

    assert order == [name for name in ESCAPES if name != CLOSED]


@users
@walls
def test_an_inherited_connection_is_closed_inside(user: str, wall: str) -> None:
    assert seen_as(user)[wall]["escapes"][CLOSED] == "OSError 9"


@users
@walls
def test_calls_that_lead_around_the_filter_are_refused(user: str, wall: str) -> None:
    seen = seen_as(user)
    outside = seen["outside"]["around"]

    assert seen[wall]["around"] == {
        "io_uring_setup": "OSError 38",
        **dict.fromkeys(["ptrace", "process_vm_writev", "pidfd_getfd"], "PermissionError 1"),
        **({"i386 calls": "OSError -31", "x32 calls": "PermissionError 1"} if "i386 calls" in AROUND else {}),
    }
    # What this kernel has at all works outside: refusing it is the sandbox's doing.
    assert {name for name, ended in outside.items() if ended == "reached"} >= {"process_vm_writev", "pidfd_getfd"}


# --- the page ---------------------------------------------------------------------------------------------------------

_HEAD = "| escape | outside | root, filter | root, namespace | 65534, filter | 65534, namespace | ends with | report |"


def table() -> str:
    """Write the table of docs/sandbox.md from what was seen: contacts that each listener counted."""
    lines = [_HEAD, "|---" * 8 + "|"]
    for name in ESCAPES:
        counts, ended, lines_told = [], set(), set()
        for user in USERS:
            seen = seen_as(user)
            for wall in WALLS:
                counts.append(str(seen[wall]["counts"].get(name, 0)))
                ended.add(seen[wall]["escapes"][name])
                lines_told.add(_told(seen, wall, name))
        (how,), (said,) = ended, lines_told
        outside = seen_as("root")["outside"]["escapes"][name]
        lines.append(f"| {name} | {outside} | {' | '.join(counts)} | {how} | {said} |")
    return "\n".join(lines)


def _told(seen: dict[str, Any], wall: str, name: str) -> str:
    if name == CLOSED:
        return "closed"
    (line,) = told(seen, wall, name)
    where = "the name" if name == "DNS" else "the address"
    who = "the line" if line["stack"] else f"`{line['command'].rstrip('0123456789.')}`"
    return f"`{line['syscall']}`, {where}, {who}"


def test_the_page_shows_this_table() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")
