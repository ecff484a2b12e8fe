"""An agent that tries every way out reaches nobody, as root and as an ordinary user; outside it reaches everybody."""

import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

import pytest

import runreel

TESTS = Path(__file__).parents[2]
NOBODY = 65534
DRIVER = [sys.executable, str(TESTS / "sandbox_driver.py")]
MODES = ["all walls", "no namespace", "filter alone", "no reports"]
REPORTING = MODES[:3]


def command(user: str, folder: Path) -> list[str]:
    if user == "root":
        return [*DRIVER, str(folder)]
    if os.getuid() != 0:
        return [*DRIVER, str(folder)]  # we are an ordinary user already
    os.chown(folder, NOBODY, NOBODY)
    installed = Path(runreel.__file__).parents[1]
    needed = {sys.prefix, sys.base_prefix, sysconfig.get_path("purelib"), str(installed), str(TESTS), str(folder)}
    return [sys.executable, str(TESTS / "ordinary_user.py"), str(NOBODY), *sorted(needed), "--", *DRIVER, str(folder)]


@functools.cache
def seen_as(user: str) -> dict[str, Any]:
    """Run the driver once a user: what the listeners and the walls saw."""
    if user == "root" and os.getuid() != 0:
        pytest.skip("not root here")
    # Not tmp_path: its name grows too long for a Unix socket.
    with tempfile.TemporaryDirectory(prefix="rr-") as folder:
        done = subprocess.run(command(user, Path(folder)), capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    assert (seen["uid"] == 0) == (user == "root")
    return seen


users = pytest.mark.parametrize("user", ["root", "ordinary"])
modes = pytest.mark.parametrize("mode", MODES)
reporting = pytest.mark.parametrize("mode", REPORTING)


@users
def test_outside_the_sandbox_every_try_but_one_reaches_its_listener(user: str) -> None:
    seen = seen_as(user)
    outside = seen["outside"]

    # A connected pair cannot be connected anew, sandbox or not; inside it must be refused before the kernel gets there.
    assert {name for name, outcome in outside["outcomes"].items() if outcome != "reached"} == {"a stream pair"}
    assert set(outside["counts"]) == set(seen["addresses"])
    assert len(outside["outcomes"]) >= 17


@users
@modes
def test_inside_nobody_is_reached(user: str, mode: str) -> None:
    seen = seen_as(user)
    inside = seen[mode]

    assert inside["counts"] == {}
    assert inside["status"] == 0
    assert set(inside["outcomes"]) == set(seen["outside"]["outcomes"])
    assert "reached" not in inside["outcomes"].values()


@users
@modes
def test_an_inherited_connection_is_closed(user: str, mode: str) -> None:
    assert seen_as(user)[mode]["outcomes"]["inherited"] == "OSError 9"


@users
@modes
def test_the_walls_that_were_asked_for_stand(user: str, mode: str) -> None:
    isolation = seen_as(user)[mode]["isolation"]

    assert isolation["seccomp"]
    assert isolation["notify"] or mode == "no reports" or "no reports" in isolation["reason"]
    assert isolation["namespace"] or mode != "all walls" or "no namespace" in isolation["reason"]
    assert not isolation["namespace"] or mode == "all walls"


def targets(addresses: dict[str, Any]) -> dict[str, str]:
    written = {}
    for name, address in addresses.items():
        if isinstance(address, str):
            written[name] = address.replace("\0", "@")
        else:
            written[name] = f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"
    return written


@users
@reporting
def test_the_report_names_every_target_that_python_code_tried_and_the_line(user: str, mode: str) -> None:
    seen = seen_as(user)
    if not seen[mode]["isolation"]["notify"]:
        pytest.skip(seen[mode]["isolation"]["reason"])
    found = {finding["target"]: finding for finding in seen[mode]["findings"] if finding["pid"] == seen[mode]["pid"]}

    for name, target in targets(seen["addresses"]).items():
        assert "sandbox_agent.py:" in found[target]["where"], name
        assert found[target]["family"] == {"tcp6": "AF_INET6"}.get(name, "AF_INET" if ":" in target else "AF_UNIX")
        assert "sandbox_agent.py" in found[target]["cmdline"]


@users
@reporting
def test_threads_and_c_code_are_counted_with_the_process(user: str, mode: str) -> None:
    seen = seen_as(user)
    if not seen[mode]["isolation"]["notify"]:
        pytest.skip(seen[mode]["isolation"]["reason"])
    tcp4 = targets(seen["addresses"])["tcp4"]
    counts = [line["count"] for line in seen[mode]["findings"] if line["target"] == tcp4 and line["command"] != "curl"]

    assert sum(counts) == 3  # the main thread, another one, and ctypes


@users
@reporting
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_a_subprocess_is_named_with_its_command_line(user: str, mode: str) -> None:
    seen = seen_as(user)
    if not seen[mode]["isolation"]["notify"]:
        pytest.skip(seen[mode]["isolation"]["reason"])
    where = targets(seen["addresses"])
    curls = {line["target"]: line for line in seen[mode]["findings"] if line["command"] == "curl"}

    assert curls[where["tcp4"]]["cmdline"].endswith(f"http://{where['tcp4']}/")
    assert curls[where["unix"]]["cmdline"].endswith("http://localhost/")
    assert all(line["pid"] != seen[mode]["pid"] for line in curls.values())


@users
@modes
def test_what_libc_looks_up_by_itself_is_no_finding(user: str, mode: str) -> None:
    inside = seen_as(user)[mode]

    assert not [line for line in inside["findings"] if "nscd" in line["target"] or line["family"] == "AF_NETLINK"]
    assert all(line["note"] for line in inside["notes"])


@users
def test_without_reports_from_the_kernel_the_agents_own_still_make_findings(user: str) -> None:
    findings = seen_as(user)["no reports"]["findings"]

    assert {line["family"] for line in findings} >= {"AF_INET", "AF_UNIX"}
    assert all("sandbox_agent.py:" in line["where"] for line in findings)
