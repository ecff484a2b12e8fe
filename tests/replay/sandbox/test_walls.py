"""Each wall alone, in a process of its own, since none can be taken down again."""

import errno
import os
import subprocess
import sys
import textwrap
from pathlib import Path

from runreel.replay.sandbox import bpf, shim

FOLDER = str(Path(shim.__file__).parent)


def in_a_process(code: str) -> str:
    """Run code as the shim runs: no site, walls beside it. Returns what it printed."""
    text = f"import sys; sys.path.insert(0, {FOLDER!r})\nimport os, walls\n{textwrap.dedent(code)}"
    done = subprocess.run([sys.executable, "-S", "-E", "-c", text], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_shim_imports_next_to_nothing() -> None:
    loaded = in_a_process("print(*sorted(sys.modules))").split()

    assert not {"ctypes", "socket", "subprocess", "signal", "struct", "enum", "typing", "runreel"} & set(loaded)


def test_no_capability_is_left_and_none_comes_back_at_an_exec() -> None:
    out = in_a_process("""
        walls.drop_capabilities()
        os.execv('/bin/cat', ['cat', '/proc/self/status'])
    """)
    status = dict(line.split(":", 1) for line in out.splitlines())

    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"].strip() == "1"


def test_landlock_closes_the_memory_of_other_processes_or_says_that_there_is_none() -> None:
    out = in_a_process("""
        try:
            version = walls.landlock()
        except OSError as error:
            print('none', error.errno)
            sys.exit()
        try:
            os.open(f'/proc/{os.getppid()}/mem', os.O_RDWR)
            print('open')
        except OSError as error:
            print(version, error.errno)
    """)

    version, number = out.split()
    if version == "none":
        assert int(number) in (errno.ENOSYS, errno.EOPNOTSUPP)
    else:
        assert int(version) >= 1
        assert int(number) == errno.EACCES


def test_the_filter_alone_refuses_every_socket() -> None:
    machine = os.uname().machine
    number, program = bpf.NUMBERS[machine]["seccomp"], bpf.pack(bpf.program(machine, ask=False))
    out = in_a_process(f"""
        import socket
        print(walls.seccomp({number}, {program!r}, ask=False))
        for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, 40):
            try:
                socket.socket(family, socket.SOCK_DGRAM)
                print('open')
            except OSError as error:
                print(error.errno)
        one, two = socket.socketpair()
        one.sendall(b'x')
        print(two.recv(1))
    """)

    assert out.splitlines() == ["None", *[str(errno.EACCES)] * 5, "b'x'"]


def test_a_program_that_the_kernel_does_not_take_is_an_error() -> None:
    number = bpf.NUMBERS[os.uname().machine]["seccomp"]
    out = in_a_process(f"""
        try:
            walls.seccomp({number}, bytes(8), ask=False)
        except OSError as error:
            print(error.errno, error.filename)
    """)

    assert out == f"{errno.EINVAL} syscall"


def test_a_process_with_threads_cannot_leave_for_a_namespace() -> None:
    out = in_a_process("""
        import _thread
        lock = _thread.allocate_lock()
        lock.acquire()
        _thread.start_new_thread(lock.acquire, ())
        try:
            walls.unshare()
            print('left')
        except OSError as error:
            print(error.errno)
        sys.stdout.flush()
        os._exit(0)
    """)

    assert int(out or 0) in (errno.EINVAL, errno.EPERM, errno.ENOSPC)
