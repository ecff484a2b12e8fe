"""A kernel that has less, for one process: `python sandbox_old_kernel.py REFUSED...` probes there and tries a socket.

Refused calls (by a filter of its own, which everything started from here inherits): `seccomp`, `listener` (no reports),
`namespace`, `rights` (a namespace whose ids cannot be set), `landlock`, `stand-in`. Prints one JSON object.
"""

import dataclasses
import errno
import json
import os
import subprocess
import sys

from runreel.errors import SandboxError
from runreel.replay.sandbox import Sandbox, bpf, merge, probe, walls
from runreel.replay.sandbox.bpf import Instruction

MACHINE = os.uname().machine
NUMBERS = {
    "x86_64": {"unshare": 272, "openat": 257, "ioctl": 16, "landlock": 444},
    "aarch64": {"unshare": 97, "openat": 56, "ioctl": 29, "landlock": 444},
}[MACHINE]
NUMBERS["seccomp"] = bpf.NUMBERS[MACHINE]["seccomp"]
ADD_FD = 0x40182103
# What is refused: the call, and optionally an argument with the bits that tell, and the error.
REFUSALS = {
    "seccomp": ("seccomp", None, errno.EPERM),
    "listener": ("seccomp", (1, 8, 8), errno.EINVAL),
    "namespace": ("unshare", None, errno.EPERM),
    "rights": ("openat", (2, os.O_ACCMODE, os.O_WRONLY), errno.EACCES),
    "landlock": ("landlock", None, errno.ENOSYS),
    "stand-in": ("ioctl", (1, 0xFFFFFFFF, ADD_FD), errno.EINVAL),
}
TRY = "import socket\ntry: socket.socket().connect(('203.0.113.9', 80))\nexcept OSError as e: print(type(e).__name__)"


def refuse(names: list[str]) -> None:
    code = [Instruction(0x20, 0, 0, 0)]
    for name in names:
        call, argument, error = REFUSALS[name]
        body = [Instruction(0x06, 0, 0, bpf.ERRNO | error)]
        if argument:
            place, mask, value = argument
            load = [Instruction(0x20, 0, 0, bpf.low(place)), Instruction(0x54, 0, 0, mask)]
            body = [*load, Instruction(0x15, 0, 1, value), *body, Instruction(0x06, 0, 0, bpf.ALLOW)]
        code += [Instruction(0x15, 0, len(body), NUMBERS[call]), *body]
    code.append(Instruction(0x06, 0, 0, bpf.ALLOW))
    walls.seccomp(NUMBERS["seccomp"], bpf.pack(tuple(code)), ask=False)


def main() -> None:
    refuse(sys.argv[1:])
    try:
        probed = dataclasses.asdict(probe())
    except SandboxError as error:
        print(json.dumps({"refused": str(error), "exit_code": error.exit_code}))
        return
    with Sandbox().start([sys.executable, "-c", TRY], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as child:
        out = child.stdout.read().decode()
        child.wait(60)
    lines = merge(child.attempts, [], watched=child.isolation.notify).findings
    findings = [[line.syscall, line.family, line.target, line.pid == child.pid] for line in lines]
    print(json.dumps({"probed": probed, "ran": dataclasses.asdict(child.isolation), "out": out, "findings": findings}))


if __name__ == "__main__":
    main()
