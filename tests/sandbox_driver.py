"""Runs sandbox_agent.py outside and inside the sandbox, and prints what the listeners saw: `sandbox_driver.py FOLDER`.

A program of its own, so that it can be run as root and as an ordinary user.
"""

import dataclasses
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from runreel.replay.sandbox import Sandbox, merge

sys.path.insert(0, str(Path(__file__).parent))
from sandbox_listeners import Listeners

AGENT = Path(__file__).with_name("sandbox_agent.py")
MODES = {
    "all walls": Sandbox(),
    "no namespace": Sandbox(namespace=False),
    "filter alone": Sandbox(namespace=False, landlock=False),
    "no reports": Sandbox(namespace=False, notify=False),
}


def inherited(listeners: Listeners) -> socket.socket:
    """A connection to the outside that a child would inherit, were it not for close_fds."""
    it = socket.create_connection(listeners.addresses["tcp4"])
    it.sendall(b"hello")
    os.set_inheritable(it.fileno(), True)
    return it


def outside(listeners: Listeners) -> dict[str, object]:
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    with inherited(listeners) as it:
        argv = [sys.executable, str(AGENT), json.dumps(listeners.addresses), str(writer), str(it.fileno())]
        done = subprocess.run(argv, close_fds=False, capture_output=True, text=True, check=True)
    os.close(writer)
    os.close(reader)
    return {"outcomes": json.loads(done.stdout), "counts": listeners.counts()}


def inside(listeners: Listeners, sandbox: Sandbox) -> dict[str, object]:
    reader, writer = os.pipe()
    with inherited(listeners) as it:
        argv = [sys.executable, str(AGENT), json.dumps(listeners.addresses), str(writer), str(it.fileno())]
        with sandbox.start(argv, env=dict(os.environ), pass_fds=[writer], stdout=subprocess.PIPE) as child:
            os.close(writer)
            reports = [json.loads(line) for line in os.fdopen(reader, "rb")]
            outcomes = json.loads(child.stdout.read())
            status = child.wait(60)
            attempts = child.attempts
    merged = merge(attempts, reports, watched=child.isolation.notify)
    return {
        "status": status,
        "pid": child.pid,
        "outcomes": outcomes,
        "counts": listeners.counts(),
        "isolation": dataclasses.asdict(child.isolation),
        "findings": [dataclasses.asdict(finding) for finding in merged.findings],
        "notes": [dataclasses.asdict(note) for note in merged.notes],
    }


if __name__ == "__main__":
    listeners = Listeners(Path(sys.argv[1]))
    result = {"uid": os.getuid(), "addresses": listeners.addresses, "outside": outside(listeners)}
    print(json.dumps(result | {name: inside(listeners, sandbox) for name, sandbox in MODES.items()}))
