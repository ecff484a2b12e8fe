import os
import socket
import subprocess
import sys

import pytest

from runreel.collector import ports
from runreel.errors import UsageError


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_port_zero_takes_a_free_port(host):
    try:
        listener = ports.bind(f"{host}:0", "x")
    except UsageError:
        if host == "[::1]":
            pytest.skip("this machine has no IPv6")
        raise

    with listener:
        bound = ports.address(listener)
        host_, _, port = bound.rpartition(":")
        assert int(port) > 0
        assert host_ == ("[::1]" if host == "[::1]" else "127.0.0.1")


def test_a_taken_port_is_said_with_who_has_it_and_what_to_set():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(UsageError) as refused:
            ports.bind(f"127.0.0.1:{port}", "receivers::otlp::protocols::http::endpoint")

    said = str(refused.value)
    assert said.startswith(
        f"receivers::otlp::protocols::http::endpoint: 127.0.0.1:{port} is in use by process {os.getpid()} ("
    )
    assert said.endswith("set receivers::otlp::protocols::http::endpoint to another port, or to port 0 for a free one")


def test_another_process_that_listens_is_found():
    code = """if True:
        import socket, sys
        listener = socket.create_server(('127.0.0.1', 0))
        print(listener.getsockname()[1], flush=True)
        sys.stdin.read()
    """
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        port = int(other.stdout.readline())

        owner = ports.owner_of(port)

        other.stdin.close()
    assert owner is not None
    assert owner[0] == other.pid
    assert owner[1].startswith(sys.executable)


def test_a_secret_on_the_command_line_of_another_process_is_not_shown(tmp_path):
    lines = (
        "import socket, sys",
        "it = socket.create_server(('127.0.0.1', 0))",
        "print(it.getsockname()[1], flush=True)",
    )
    (tmp_path / "s.py").write_text("\n".join((*lines, "sys.stdin.read()\n")))
    words = ["--password=planted-7", "postgres://bob:planted-8@db/x", "two\nlines"]
    with subprocess.Popen(
        [sys.executable, "s.py", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    ) as other:
        port = int(other.stdout.readline())

        with pytest.raises(UsageError) as caught:
            ports.bind(f"127.0.0.1:{port}", "x")

        other.stdin.close()
    said = str(caught.value)
    assert f"is in use by process {other.pid} ({sys.executable} s.py --password=<SECRET:password> postgres://" in said
    assert "two lines" in said
    assert "planted" not in said


def test_a_port_that_nobody_has_has_no_owner():
    with socket.socket() as bound_only:
        bound_only.bind(("127.0.0.1", 0))

        assert ports.owner_of(bound_only.getsockname()[1]) is None


def test_an_address_of_another_machine_is_refused_in_words():
    with pytest.raises(UsageError, match=r"x: cannot listen on 192\.0\.2\.1:0: .*set x to an address of this machine"):
        ports.bind("192.0.2.1:0", "x")
