"""What the supervisor answers, and what it notes, for real calls of real processes."""

import os
import socket
import subprocess
import sys

import pytest

from runreel.replay.sandbox import Attempt, Sandbox, probe, supervisor

ENV = dict(os.environ)


@pytest.fixture(scope="module", autouse=True)
def _reports() -> None:
    isolation = probe()
    if not isolation.notify:
        pytest.skip(isolation.reason)


def attempts(code: str) -> tuple[str, tuple[Attempt, ...]]:
    argv = [sys.executable, "-c", "import errno, os, socket, subprocess, sys, threading\n" + code]
    with Sandbox().start(argv, env=ENV, stdout=subprocess.PIPE) as child:
        out = child.stdout.read().decode()
        assert child.wait(60) == 0
        return out, child.attempts


def told(found: tuple[Attempt, ...]) -> list[tuple[str, str, str, str, int]]:
    return [(a.syscall, a.family, a.kind, a.target, a.count) for a in found]


@pytest.mark.parametrize(
    ("family", "kind", "call", "address", "target"),
    [
        ("AF_INET", "SOCK_STREAM", "connect", ("203.0.113.1", 443), "203.0.113.1:443"),
        ("AF_INET", "SOCK_DGRAM", "sendto", ("203.0.113.1", 53), "203.0.113.1:53"),
        ("AF_INET6", "SOCK_STREAM", "connect", ("2001:db8::1", 80), "[2001:db8::1]:80"),
        ("AF_UNIX", "SOCK_STREAM", "connect", "/run/docker.sock", "/run/docker.sock"),
        ("AF_UNIX", "SOCK_DGRAM", "sendto", "\0abstract", "@abstract"),
        ("AF_INET", "SOCK_STREAM", "bind", ("127.0.0.1", 8080), "127.0.0.1:8080"),
    ],
)
def test_a_call_is_noted_with_its_target(family: str, kind: str, call: str, address: object, target: str) -> None:
    data = "b'x', " if call == "sendto" else ""
    out, found = attempts(f"""
try:
    socket.socket(socket.{family}, socket.{kind}).{call}({data}{address!r})
except OSError as error:
    print(error.errno)
""")

    assert out == "13\n"
    assert told(found) == [(call, family, kind, target, 1)]


@pytest.mark.parametrize("family", ["AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG"])
def test_a_socket_of_another_family_is_refused_at_once(family: str) -> None:
    out, found = attempts(f"""
try:
    socket.socket(socket.{family}, socket.SOCK_RAW)
except OSError as error:
    print(error.errno)
""")

    assert out == "13\n"
    assert told(found) == [("socket", family, "SOCK_RAW", "", 1)]
    assert not found[0].stood_in


def test_a_socket_that_is_only_opened_is_a_stand_in() -> None:
    _, found = attempts("socket.socket(); socket.socket()")

    assert told(found) == [("socket", "AF_INET", "SOCK_STREAM", "", 2)]
    assert found[0].stood_in


def test_a_stand_in_talks_to_nobody() -> None:
    out, _ = attempts("""
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for call in (lambda: s.send(b"x"), lambda: s.sendmsg([b"x"], [], 0, ("127.0.0.1", 9)), lambda: s.listen(),
             lambda: s.recv(1)):
    try:
        print(call())
    except OSError as error:
        print(errno.errorcode[error.errno])
""")

    assert out.split() == ["EPIPE", "EISCONN", "EINVAL", "b''"]


def test_a_stand_in_keeps_the_flags_that_were_asked_for_and_takes_network_options() -> None:
    out, _ = attempts("""
a = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
b = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
b.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
print(os.get_blocking(a.fileno()), os.get_blocking(b.fileno()), a.get_inheritable())
before = b.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
b.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
print(before, b.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY), len(b.getsockopt(socket.IPPROTO_TCP, 1, 2)))
b.close()
print(socket.socket().getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
""")

    assert out == "False True False\n0 1 2\n0\n"


def test_a_library_in_c_that_checks_its_options_comes_as_far_as_the_connect() -> None:
    pytest.importorskip("grpc")
    _, found = attempts("""
import grpc
try:
    grpc.insecure_channel("203.0.113.1:4317").unary_unary("/a/b")(b"", timeout=20)
except grpc.RpcError:
    pass
""")

    assert ("connect", "AF_INET", "SOCK_STREAM", "203.0.113.1:4317") in [line[:4] for line in told(found)]


def test_equal_attempts_are_counted_and_threads_belong_to_their_process() -> None:
    _, found = attempts("""
def attempt():
    try:
        socket.socket().connect(("203.0.113.1", 1))
    except OSError:
        pass
attempt()
thread = threading.Thread(target=attempt); thread.start(); thread.join()
""")

    assert told(found) == [("connect", "AF_INET", "SOCK_STREAM", "203.0.113.1:1", 2)]
    assert found[0].tid == found[0].pid


def test_a_child_process_is_told_from_its_parent() -> None:
    code = "import socket\ntry: socket.socket().connect(('203.0.113.1', 2))\nexcept OSError: pass"
    out, found = attempts(f"""
process = subprocess.Popen([sys.executable, "-c", {code!r}])
print(process.pid, process.wait())
""")

    assert [(a.pid, a.cmdline) for a in found] == [(int(out.split()[0]), (sys.executable, "-c", code))]


def test_a_pair_of_datagram_sockets_is_refused() -> None:
    _, found = attempts("""
try:
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError:
    pass
""")

    assert told(found) == [("socketpair", "AF_UNIX", "SOCK_DGRAM", "", 1)]


def test_an_address_that_cannot_be_read_is_no_target() -> None:
    out, found = attempts("""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.connect(libc.socket(2, 1, 0), ctypes.c_void_p(8), 16), ctypes.get_errno())
""")

    assert out == "-1 13\n"
    assert told(found) == [("connect", "AF_INET", "SOCK_STREAM", "", 1)]


def test_endless_different_attempts_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "_MOST_DIFFERENT", 4)
    _, found = attempts("""
for port in range(1, 31):
    try:
        socket.socket().connect(("203.0.113.1", port))
    except OSError:
        pass
""")

    assert sum(attempt.count for attempt in found) == 30
    assert len(found) <= 6


def test_once_the_supervisor_is_gone_the_kernel_refuses_by_itself() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    code = f"""
import socket
input()
try: socket.socket(); print("open")
except OSError as error: print(error.errno)
try: socket.create_connection({listener.getsockname()!r}); print("open")
except OSError as error: print(error.errno)
"""
    with Sandbox(namespace=False).start(
        [sys.executable, "-c", code], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child._supervisor.close()
        child._supervisor.close()
        child.stdin.write(b"\n")
        child.stdin.close()

        assert child.stdout.read() == b"38\n38\n"
        assert child.wait(60) == 0
    with listener, pytest.raises(BlockingIOError):
        listener.accept()


def test_an_attempt_keeps_how_far_things_were_when_it_was_first_seen() -> None:
    progress = iter(range(10, 20))
    code = """
import socket, sys
sys.stdin.read()
for host in ("203.0.113.1", "203.0.113.2", "203.0.113.1"):
    socket.socket().connect_ex((host, 1))
"""
    with Sandbox().start([sys.executable, "-c", code], env=ENV, stdin=subprocess.PIPE) as child:
        child.follow(lambda: next(progress))
        child.stdin.close()
        assert child.wait(60) == 0
        found = {attempt.target: attempt for attempt in child.attempts}

    first, second = found["203.0.113.1:1"], found["203.0.113.2:1"]
    assert first.count == 2
    assert 10 <= first.at < second.at
    assert 0 < first.seen_ns < second.seen_ns
