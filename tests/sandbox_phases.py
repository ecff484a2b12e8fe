"""Runs sandbox_escapes.py as whoever we are: outside, by the filter alone, with the namespace. See sandbox_world.py.

Prints one JSON line a phase and waits for a line of input after each: the contacts are counted meanwhile.
"""

import dataclasses
import fcntl
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from runreel.replay.sandbox import Sandbox, merge

AGENT = str(Path(__file__).with_name("sandbox_escapes.py"))
WALLS = {"filter": Sandbox(namespace=False, landlock=False), "namespace": Sandbox()}


HIGH = 300


def connection(addresses: dict[str, list[object]]) -> socket.socket:
    """A connection to the outside that a child would inherit, were its descriptor not closed.

    Its number is higher than any that the child opens itself.
    """
    host, port = addresses["inherited descriptor"]
    with socket.create_connection((host, port)) as made:
        made.sendall(b"hello")
        it = socket.socket(fileno=fcntl.fcntl(made.fileno(), fcntl.F_DUPFD, HIGH))
    os.set_inheritable(it.fileno(), True)
    return it


def outside(argv: list[str], reader: int, writer: int) -> dict[str, object]:
    os.set_inheritable(writer, True)
    done = subprocess.run(argv, close_fds=False, stdout=subprocess.PIPE, text=True, check=True)
    os.close(writer)
    os.close(reader)
    return {"uid": os.getuid(), **json.loads(done.stdout)}


def inside(sandbox: Sandbox, argv: list[str], reader: int, writer: int) -> dict[str, object]:
    with sandbox.start(argv, env=dict(os.environ), pass_fds=[writer], stdout=subprocess.PIPE) as child:
        os.close(writer)
        reports = [json.loads(line) for line in os.fdopen(reader, "rb")]
        said = json.loads(child.stdout.read())
        status = child.wait(60)
        attempts = child.attempts
    merged = merge(attempts, reports, watched=child.isolation.notify)
    return {
        **said,
        "uid": os.getuid(),
        "pid": child.pid,
        "status": status,
        "isolation": dataclasses.asdict(child.isolation),
        "findings": [dataclasses.asdict(finding) for finding in merged.findings],
        "notes": [dataclasses.asdict(note) for note in merged.notes],
    }


def main() -> None:
    addresses = json.loads(sys.argv[1])
    for name, sandbox in {"outside": None, **WALLS}.items():
        reader, writer = os.pipe()
        with connection(addresses) as inherited:
            argv = [sys.executable, AGENT, sys.argv[1], str(writer), str(inherited.fileno())]
            run = outside(argv, reader, writer) if sandbox is None else inside(sandbox, argv, reader, writer)
        print(json.dumps({"name": name, **run}), flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main()
