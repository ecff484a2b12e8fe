"""The script that becomes the agent, started by hand."""

import errno
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from runreel.replay.sandbox import bpf, shim

SCRIPT = str(Path(shim.__file__))


def run(*argv: str, plan: str = "0,0,0", keep_locale: int = 0, **env: str) -> tuple[dict[str, int], int, str]:
    """Run the shim without namespace, Landlock and asking (or as `plan` says): what it reports, exit status, stdout."""
    machine = os.uname().machine
    programs = [bpf.pack(bpf.program(machine, ask=ask)).hex() for ask in (True, False)]
    ours, theirs = socket.socketpair()
    with ours, theirs:
        numbers = f"{theirs.fileno()},{bpf.NUMBERS[machine]['seccomp']},{plan},{keep_locale}"
        command = [sys.executable, "-S", "-E", SCRIPT, numbers, *programs, *argv]
        process = subprocess.Popen(
            command, env=env, pass_fds=[theirs.fileno()], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        theirs.close()
        out, _ = process.communicate(timeout=60)
        ours.settimeout(60)
        data = b""
        while True:
            more, descriptors, _, _ = socket.recv_fds(ours, 4096, 1)
            for descriptor in descriptors:
                os.close(descriptor)
            if not more:
                break
            data += more
    report = {name: int(number) for name, number in map(str.split, data.decode().splitlines())}
    return report, process.returncode, out


def test_the_agent_gets_exactly_the_environment_that_was_given() -> None:
    report, status, out = run("/usr/bin/env", A="1", LANG="C")

    assert report == {"seccomp": 1}
    assert status == 0
    assert sorted(out.split()) == ["A=1", "LANG=C"]


def test_a_locale_that_was_given_is_kept() -> None:
    _, _, out = run("/usr/bin/env", keep_locale=1, LC_CTYPE="C.UTF-8")

    assert out.split() == ["LC_CTYPE=C.UTF-8"]


def test_signals_that_python_ignores_are_not_ignored_in_the_agent() -> None:
    _, _, out = run("/bin/cat", "/proc/self/status")
    ignored = int(next(line.split()[1] for line in out.splitlines() if line.startswith("SigIgn")), 16)

    assert not ignored & (1 << (signal.SIGPIPE - 1))
    assert not ignored & (1 << (signal.SIGXFSZ - 1))


def test_a_program_that_is_not_there_is_reported_with_its_error() -> None:
    report, status, _ = run("/nowhere/at/all")

    assert report == {"seccomp": 1, "exec": -errno.ENOENT}
    assert status == 125


def test_without_a_program_it_only_says_which_walls_stand() -> None:
    report, status, _ = run(plan="1,1,1")

    assert set(report) == {"namespace", "landlock", "notify", "seccomp"}
    assert report["seccomp"] == 1
    assert status == 0


def test_nothing_but_the_standard_streams_is_open_in_the_agent() -> None:
    _, _, out = run("/bin/ls", "/proc/self/fd")

    assert out.split() == ["0", "1", "2", "3"]  # the last one is how ls reads the folder
