"""The seccomp program, run in an interpreter for classic BPF: the same verdicts on both machines."""

import errno
import socket
import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.replay.sandbox import bpf

MACHINES = sorted(bpf.NUMBERS)
WORD = st.integers(0, 2**64 - 1)


def run(program: Sequence[bpf.Instruction], arch: int, number: int, arguments: Sequence[int] = ()) -> int:
    """Interpret a program over one call, as the kernel does."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, arch, 0, *padded)
    accumulator, counter = 0, 0
    while True:
        code, jt, jf, k = program[counter]
        counter += 1
        if code == 0x20:
            accumulator = int.from_bytes(data[k : k + 4], "little")
        elif code == 0x15:
            counter += jt if accumulator == k else jf
        elif code == 0x35:
            counter += jt if accumulator >= k else jf
        elif code == 0x54:
            accumulator &= k
        elif code == 0x06:
            return k
        else:
            raise AssertionError(f"unknown instruction {code:#x}")


def verdict(machine: str, name: str, *arguments: int, ask: bool = False) -> int:
    number = bpf.NUMBERS[machine][name]
    return run(bpf.program(machine, ask=ask), bpf.AUDIT_ARCH[machine], number, arguments)


def refused(number: int) -> int:
    return bpf.ERRNO | number


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["socket", "connect", "bind"])
def test_calls_that_reach_out_are_refused_or_asked_about(machine: str, name: str) -> None:
    assert verdict(machine, name, socket.AF_INET) == refused(errno.EACCES)
    assert verdict(machine, name, socket.AF_INET, ask=True) == bpf.ASK


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("ask", [True, False])
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("ptrace", errno.EPERM),
        ("process_vm_writev", errno.EPERM),
        ("pidfd_getfd", errno.EPERM),
        ("io_uring_setup", errno.ENOSYS),
        ("io_uring_enter", errno.ENOSYS),
        ("io_uring_register", errno.ENOSYS),
    ],
)
def test_ways_around_the_filter_are_refused_without_asking(machine: str, ask: bool, name: str, number: int) -> None:
    assert verdict(machine, name, ask=ask) == refused(number)


@pytest.mark.parametrize("machine", MACHINES)
@given(pointer=WORD)
def test_sendto_passes_without_an_address_only(machine: str, pointer: int) -> None:
    expected = bpf.ALLOW if pointer == 0 else refused(errno.EACCES)

    assert verdict(machine, "sendto", 3, 1, 1, 0, pointer, 16) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_sendto_looks_at_both_halves_of_the_address(machine: str) -> None:
    assert verdict(machine, "sendto", 3, 1, 1, 0, 1 << 32, 16) == refused(errno.EACCES)
    assert verdict(machine, "sendto", 3, 1, 1, 0, 1, 16) == refused(errno.EACCES)


@pytest.mark.parametrize("machine", MACHINES)
@given(family=st.integers(0, 50), kind=st.integers(0, 15), flags=st.sampled_from([0, 0o4000, 0o2000000, 0o2004000]))
def test_socketpair_makes_unix_streams_only(machine: str, family: int, kind: int, flags: int) -> None:
    stream = family == socket.AF_UNIX and kind == socket.SOCK_STREAM

    assert verdict(machine, "socketpair", family, kind | flags) == (bpf.ALLOW if stream else refused(errno.EACCES))


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["setsockopt", "getsockopt"])
def test_options_of_network_protocols_are_asked_about_where_there_may_be_stand_ins(machine: str, name: str) -> None:
    for level in (socket.SOL_IP, socket.SOL_TCP, socket.SOL_UDP, 41):
        assert verdict(machine, name, 3, level, ask=True) == bpf.ASK
        assert verdict(machine, name, 3, level) == bpf.ALLOW
    assert verdict(machine, name, 3, socket.SOL_SOCKET, ask=True) == bpf.ALLOW


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("ask", [True, False])
@given(number=st.integers(0, 0x3FFFFFFF), arguments=st.lists(WORD, max_size=6))
def test_every_other_call_is_allowed(machine: str, ask: bool, number: int, arguments: list[int]) -> None:
    program = bpf.program(machine, ask=ask)
    named = number in set(bpf.NUMBERS[machine].values()) - {bpf.NUMBERS[machine]["seccomp"]}

    assert named or run(program, bpf.AUDIT_ARCH[machine], number, arguments) == bpf.ALLOW


@pytest.mark.parametrize("machine", MACHINES)
@given(arch=st.integers(0, 2**32 - 1), number=st.integers(0, 2**32 - 1))
def test_another_abi_is_killed_whatever_it_calls(machine: str, arch: int, number: int) -> None:
    program = bpf.program(machine, ask=True)

    assert arch == bpf.AUDIT_ARCH[machine] or run(program, arch, number) == bpf.KILL_PROCESS


@pytest.mark.parametrize("ask", [True, False])
def test_x32_numbers_are_refused(ask: bool) -> None:
    program = bpf.program("x86_64", ask=ask)
    x32_socket = 0x40000000 + bpf.NUMBERS["x86_64"]["socket"]

    assert run(program, bpf.AUDIT_ARCH["x86_64"], x32_socket) == refused(errno.EPERM)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("ask", [True, False])
def test_every_way_through_the_program_ends_inside_it(machine: str, ask: bool) -> None:
    program = bpf.program(machine, ask=ask)

    for place, (code, jt, jf, _) in enumerate(program):
        assert max(jt, jf) < 256
        assert code == 0x06 or place + 1 + max(jt, jf) < len(program)
    assert len(bpf.pack(program)) == 8 * len(program)


def test_a_machine_without_a_table_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        bpf.program("riscv64", ask=True)
