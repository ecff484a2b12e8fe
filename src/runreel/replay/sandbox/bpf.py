"""The seccomp program that closes the network: built here as plain numbers, installed by walls.py.

The verdicts, in the order of the program:

| call | verdict |
|---|---|
| any call of another ABI (i386 on x86_64, arm on aarch64) | the process is killed |
| x32 numbers (x86_64 only); `ptrace`, `process_vm_writev`, `pidfd_getfd` | EPERM |
| `io_uring_setup`, `io_uring_enter`, `io_uring_register` | ENOSYS, so that libraries fall back |
| `socket`, `connect`, `bind`; `sendto` with an address | denied |
| `socketpair` other than a Unix stream pair | denied: a datagram pair can be sent to any named socket |
| `setsockopt`, `getsockopt` for IP, TCP, UDP (only while asking) | asked: stand-ins remember them, see supervisor.py |
| everything else | allowed |

"Denied" is EACCES, or, while asking, a question to the supervisor in the parent, which answers EACCES and notes who it
was. `sendmsg` and `sendmmsg` stay open: their address is out of a filter's sight, and a stream pair refuses one.
"""

import errno
import struct
from typing import NamedTuple

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

NUMBERS = {
    "x86_64": {
        "socket": 41,
        "connect": 42,
        "sendto": 44,
        "bind": 49,
        "socketpair": 53,
        "setsockopt": 54,
        "getsockopt": 55,
        "ptrace": 101,
        "process_vm_writev": 311,
        "seccomp": 317,
        "io_uring_setup": 425,
        "io_uring_enter": 426,
        "io_uring_register": 427,
        "pidfd_getfd": 438,
    },
    "aarch64": {
        "socket": 198,
        "socketpair": 199,
        "bind": 200,
        "connect": 203,
        "sendto": 206,
        "setsockopt": 208,
        "getsockopt": 209,
        "ptrace": 117,
        "process_vm_writev": 271,
        "seccomp": 277,
        "io_uring_setup": 425,
        "io_uring_enter": 426,
        "io_uring_register": 427,
        "pidfd_getfd": 438,
    },
}

KILL_PROCESS, ERRNO, ASK, ALLOW = 0x80000000, 0x00050000, 0x7FC00000, 0x7FFF0000

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NR, _ARCH = 0, 4
_X32 = 0x40000000
_AF_UNIX, _SOCK_STREAM, _TYPE_MASK = 1, 1, 0xF
_NETWORK_LEVELS = (0, 6, 17, 41)  # SOL_IP, SOL_TCP, SOL_UDP, SOL_IPV6


class Instruction(NamedTuple):
    """One instruction of classic BPF: operation, jump if true, jump if false (both forward, relative), constant."""

    code: int
    jt: int
    jf: int
    k: int


def low(argument: int) -> int:
    """Offset of the low half of a call's argument in the data that the program reads (little endian machines)."""
    return 16 + 8 * argument


def program(machine: str, *, ask: bool) -> tuple[Instruction, ...]:
    """Build the program for a machine (a key of NUMBERS). With `ask`, denied calls go to the supervisor.

    Raises KeyError for another machine.
    """
    numbers = NUMBERS[machine]
    deny = ASK if ask else ERRNO | errno.EACCES
    code = [*_equal(_ARCH, AUDIT_ARCH[machine]), _return(KILL_PROCESS), _load(_NR)]
    if machine == "x86_64":
        code += [Instruction(_JUMP_AT_LEAST, 0, 1, _X32), _return(ERRNO | errno.EPERM)]
    for name in ("io_uring_setup", "io_uring_enter", "io_uring_register"):
        code += _when(numbers[name], [_return(ERRNO | errno.ENOSYS)])
    for name in ("ptrace", "process_vm_writev", "pidfd_getfd"):
        code += _when(numbers[name], [_return(ERRNO | errno.EPERM)])
    for name in ("socket", "connect", "bind"):
        code += _when(numbers[name], [_return(deny)])
    code += _when(numbers["sendto"], _no_address(deny))
    code += _when(numbers["socketpair"], _stream_pair(deny))
    if ask:
        for name in ("setsockopt", "getsockopt"):
            code += _when(numbers[name], _network_option())
    return (*code, _return(ALLOW))


def pack(instructions: tuple[Instruction, ...]) -> bytes:
    """Return the program as the kernel reads it: 8 bytes an instruction."""
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in instructions)


def _load(offset: int) -> Instruction:
    return Instruction(_LOAD, 0, 0, offset)


def _return(verdict: int) -> Instruction:
    return Instruction(_RETURN, 0, 0, verdict)


def _equal(offset: int, value: int) -> list[Instruction]:
    """Go on after the next instruction where the word at the offset has the value, else with the next."""
    return [_load(offset), Instruction(_JUMP_EQUAL, 1, 0, value)]


def _when(number: int, body: list[Instruction]) -> list[Instruction]:
    """Run the body for one call. A body ends in a return on every way: the call's number is no longer loaded."""
    return [Instruction(_JUMP_EQUAL, 0, len(body), number), *body]


def _no_address(deny: int) -> list[Instruction]:
    """`sendto(fd, data, size, flags, ADDRESS, ...)`: both halves of the pointer must be zero."""
    return [*_equal(low(4), 0), _return(deny), *_equal(low(4) + 4, 0), _return(deny), _return(ALLOW)]


def _stream_pair(deny: int) -> list[Instruction]:
    """`socketpair(FAMILY, TYPE, ...)`: the type's upper bits are flags (close-on-exec, non-blocking)."""
    masked = [_load(low(1)), Instruction(_AND, 0, 0, _TYPE_MASK), Instruction(_JUMP_EQUAL, 1, 0, _SOCK_STREAM)]
    return [*_equal(low(0), _AF_UNIX), _return(deny), *masked, _return(deny), _return(ALLOW)]


def _network_option() -> list[Instruction]:
    """`setsockopt(fd, LEVEL, ...)`: ask where the level belongs to a network protocol."""
    body = [_load(low(1))]
    for level in _NETWORK_LEVELS:
        body += [Instruction(_JUMP_EQUAL, 0, 1, level), _return(ASK)]
    return [*body, _return(ALLOW)]
