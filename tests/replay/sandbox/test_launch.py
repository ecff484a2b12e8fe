"""Starting, waiting, killing; what an agent may do inside; what is refused before the start."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from runreel.errors import SandboxError
from runreel.replay.sandbox import Isolation, Sandbox, launch, merge, probe

TESTS = Path(__file__).parents[2]
ENV = dict(os.environ)


def output(*argv: str, **options: Any) -> tuple[int, str]:
    with Sandbox().start(argv, env=options.pop("env", ENV), stdout=subprocess.PIPE, **options) as child:
        text = child.stdout.read().decode()
        return child.wait(60), text


def python(code: str, **options: Any) -> tuple[int, str]:
    return output(sys.executable, "-c", code, **options)


def on_an_old_kernel(*refused: str) -> dict[str, Any]:
    command = [sys.executable, str(TESTS / "sandbox_old_kernel.py"), *refused]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_program_runs_with_its_arguments_environment_and_folder(tmp_path: Path) -> None:
    code = "import os, sys; print(sys.argv[1:], os.environ['A'], os.getcwd())"
    status, text = output(sys.executable, "-c", code, "x", "y z", env={"A": "1"}, cwd=tmp_path)

    assert status == 0
    assert text.split("\n")[0] == f"['x', 'y z'] 1 {tmp_path}"


def test_a_module_runs_as_a_program(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("import sys; print(__name__, sys.executable)")

    assert output(sys.executable, "-m", "agent", cwd=tmp_path) == (0, f"__main__ {sys.executable}\n")


def test_a_name_without_a_slash_is_found_on_the_path_of_the_environment() -> None:
    assert output("echo", "hello", env={"PATH": "/usr/bin:/bin"}) == (0, "hello\n")
    with pytest.raises(SandboxError, match="'echo': not found on PATH"):
        Sandbox().start(["echo"], env={"PATH": "/nowhere"})


def test_the_exit_status_is_the_programs_own() -> None:
    assert python("raise SystemExit(7)")[0] == 7
    assert python("import os; os.kill(os.getpid(), 15)")[0] == -signal.SIGTERM


def test_standard_input_and_passed_descriptors_reach_the_program() -> None:
    reader, writer = os.pipe()
    code = f"import os, sys; os.write({writer}, b'passed'); print(sys.stdin.read())"
    with Sandbox().start(
        [sys.executable, "-c", code], env=ENV, pass_fds=[writer], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        os.close(writer)
        child.stdin.write(b"typed")
        child.stdin.close()

        assert child.stdout.read() == b"typed\n"
        assert child.wait(60) == 0
    with os.fdopen(reader, "rb") as read:
        assert read.read() == b"passed"


def test_a_stream_pair_can_be_passed_and_talked_over() -> None:
    ours, theirs = socket.socketpair()
    code = f"import socket; s = socket.socket(fileno={theirs.fileno()}); s.sendall(s.recv(9).upper())"
    with ours, Sandbox().start([sys.executable, "-c", code], env=ENV, pass_fds=[theirs.fileno()]) as child:
        theirs.close()
        ours.settimeout(60)
        ours.sendall(b"frame")

        assert ours.recv(9) == b"FRAME"
        assert child.wait(60) == 0
        assert child.attempts == ()


def test_without_an_environment_the_program_gets_ours_without_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRIPE_API_KEY", "planted-credential")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    _, text = python("import os; print(dict(os.environ))", env=None)

    assert "planted-credential" not in text
    assert "HTTPS_PROXY" not in text
    assert "OPENAI_API_KEY" in text


WORKS = """
import asyncio, json, logging, multiprocessing, os, pwd, sqlite3, ssl, subprocess, sys, tempfile, threading

def double(n): return 2 * n

async def loops():
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(input())",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, _ = await process.communicate(b"asyncio")
    return [out.decode().strip(), await asyncio.to_thread(double, 3), await asyncio.wait_for(asyncio.sleep(0, 1), 5)]

if __name__ == "__main__":
    found = {"asyncio": asyncio.run(loops())}
    thread = threading.Thread(target=lambda: found.update(thread=True)); thread.start(); thread.join()
    found["subprocess"] = subprocess.run(["cat"], input="x", capture_output=True, text=True).stdout
    with tempfile.NamedTemporaryFile("w+") as it:
        it.write("y"); it.seek(0); found["tempfile"] = it.read()
    found["sqlite"] = sqlite3.connect(":memory:").execute("select 1 + 1").fetchone()[0]
    found["ssl"] = bool(ssl.create_default_context().get_ca_certs() is not None)
    with multiprocessing.Pool(2) as pool: found["pool"] = pool.map(double, [1, 2])
    spawn = multiprocessing.get_context("spawn"); queue = spawn.Queue()
    process = spawn.Process(target=queue.put, args=("spawned",)); process.start()
    found["spawn"] = queue.get(timeout=30); process.join()
    found["user"] = pwd.getpwuid(0).pw_name
    print(json.dumps(found))
"""


@pytest.mark.parametrize("sandbox", [Sandbox(), Sandbox(namespace=False), Sandbox(notify=False)], ids=str)
def test_what_agents_do_beside_the_network_works_inside(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(WORKS)
    with sandbox.start([sys.executable, str(tmp_path / "agent.py")], env=ENV, stdout=subprocess.PIPE) as child:
        found = json.loads(child.stdout.read())
        child.wait(60)

    assert found == {
        "asyncio": ["asyncio", 6, 1],
        "thread": True,
        "subprocess": "x",
        "tempfile": "y",
        "sqlite": 2,
        "ssl": True,
        "pool": [2, 4],
        "spawn": "spawned",
        "user": "root",
    }
    assert merge(child.attempts, []).findings == ()


@pytest.mark.parametrize("number", [425, 426, 427])
def test_io_uring_looks_as_if_the_kernel_had_none(number: int) -> None:
    code = (
        f"import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall({number}, 8, None), ctypes.get_errno())"
    )

    assert python(code)[1] == "-1 38\n"


def test_a_sandbox_inside_a_sandbox_stands_too() -> None:
    code = """
import subprocess, sys
from runreel.replay.sandbox import Sandbox
inner = "import socket\\ntry: socket.socket().connect(('203.0.113.1', 1))\\nexcept OSError as e: print(e.errno)"
with Sandbox().start([sys.executable, "-c", inner]) as child:
    child.wait(30)
"""
    assert python(code) == (0, "13\n")


def test_a_program_that_runs_too_long_is_waited_for_no_longer_and_can_be_killed() -> None:
    code = "import subprocess, sys; print('up', flush=True); subprocess.run([sys.executable, '-c', 'input()'])"
    with Sandbox().start([sys.executable, "-c", code], env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        with pytest.raises(TimeoutError, match=f"pid {child.pid}"):
            child.wait(0.01)
        child.kill()
        child.kill()

        assert child.wait(0) == -signal.SIGKILL
        # End of file comes only once the grandchild, which holds the same pipe, has gone as well.
        assert child.stdout.read() == b""


def test_threads_of_the_caller_are_in_no_way() -> None:
    gate = threading.Event()
    threads = [threading.Thread(target=gate.wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        results = [None] * 3

        def one(place: int) -> None:
            results[place] = python("print(1)")

        starters = [threading.Thread(target=one, args=(place,)) for place in range(3)]
        for starter in starters:
            starter.start()
        for starter in starters:
            starter.join()
    finally:
        gate.set()

    assert results == [(0, "1\n")] * 3


def test_a_program_ends_with_the_process_that_started_it() -> None:
    source = (
        "import sys\n"
        "from runreel.replay.sandbox import Sandbox\n"
        "waits = 'import os, threading; print(os.getpid(), flush=True); threading.Event().wait()'\n"
        "with Sandbox().start([sys.executable, '-c', waits]) as inside:\n"
        "    inside.wait()\n"
    )
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout
        inside = int(starter.stdout.readline())
        starter.kill()
        starter.wait()

    deadline = time.monotonic() + 30
    while Path(f"/proc/{inside}").exists() and _state(inside) != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_a_socket_as_a_standard_stream_is_refused(name: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(SandboxError, match=f"{name} is a socket"):
        Sandbox().start(["/bin/true"], env=ENV, **{name: theirs.fileno()})


def test_inherited_sockets_as_standard_streams_are_replaced_by_pipes() -> None:
    code = """
import subprocess, sys
from runreel.replay.sandbox import Sandbox
inner = "import os, stat, sys; print([stat.S_ISSOCK(os.fstat(n).st_mode) for n in range(3)], repr(sys.stdin.read()))"
with Sandbox().start([sys.executable, "-c", inner]) as child:
    sys.exit(child.wait(30))
"""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = subprocess.Popen([sys.executable, "-c", code], stdin=theirs, stdout=theirs, stderr=theirs)
        ours.settimeout(60)
        data = b""
        while more := ours.recv(4096):
            data += more

        assert process.wait(60) == 0
        assert data == b"[False, False, False] ''\n"


def passed_sockets(folder: Path) -> dict[str, socket.socket]:
    listener = socket.create_server(("127.0.0.1", 0))
    named = socket.socket(socket.AF_UNIX)
    named.bind(str(folder / "s"))
    named.listen()
    to_named = socket.socket(socket.AF_UNIX)
    to_named.connect(str(folder / "s"))
    return {
        "a connection": socket.create_connection(listener.getsockname()),
        "a listener": listener,
        "UDP": socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "a datagram pair": socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0],
        "a Unix listener": named,
        "a Unix connection": to_named,
        "an unconnected Unix socket": socket.socket(socket.AF_UNIX),
    }


def test_of_sockets_only_stream_pairs_may_be_passed(tmp_path: Path) -> None:
    sockets = passed_sockets(tmp_path)
    for name, it in sockets.items():
        with pytest.raises(SandboxError, match="a way out"):
            pytest.fail(f"{name} was passed: {Sandbox().start(['/bin/true'], env=ENV, pass_fds=[it.fileno()])}")
    for it in sockets.values():
        it.close()


def test_a_program_that_cannot_be_run_is_an_error_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot start '/nowhere/agent' inside the sandbox: no such file"):
        Sandbox().start(["/nowhere/agent"], env=ENV)
    (tmp_path / "script").write_text("no program")
    with pytest.raises(SandboxError, match="permission denied"):
        Sandbox().start([str(tmp_path / "script")], env=ENV)
    with pytest.raises(SandboxError, match="argv is empty"):
        Sandbox().start([], env=ENV)


def test_probe_says_which_walls_stand() -> None:
    isolation = probe()

    assert isolation.seccomp
    assert isolation.reason or (isolation.namespace and isolation.notify and isolation.landlock_abi)
    assert str(isolation).startswith("seccomp filter")


def test_an_isolation_reads_as_a_list_of_walls() -> None:
    full = Isolation(namespace=True, seccomp=True, notify=True, landlock_abi=7)
    poor = Isolation(namespace=False, seccomp=True, notify=False, landlock_abi=0, reason="no namespace: why")

    assert str(full) == "seccomp filter with reports, network namespace, Landlock 7"
    assert str(poor) == "seccomp filter (no namespace: why)"


@pytest.mark.parametrize(
    ("refused", "missing", "reason"),
    [
        (["namespace"], {"namespace": False}, "no namespace: operation not permitted"),
        (["rights"], {"namespace": False}, "no namespace: a policy leaves it without rights (permission denied)"),
        (["landlock"], {"landlock_abi": 0}, "no Landlock: function not implemented"),
        (["listener"], {"notify": False}, "no reports: invalid argument"),
    ],
)
def test_a_wall_that_the_kernel_refuses_is_done_without_and_named(
    refused: list[str], missing: dict[str, object], reason: str
) -> None:
    result = on_an_old_kernel(*refused)

    assert result["probed"] == result["ran"]
    assert reason in result["probed"]["reason"]
    assert {**result["probed"], **missing} == result["probed"]
    assert result["out"] == "PermissionError\n"


def test_without_stand_ins_the_socket_itself_is_refused_and_reported() -> None:
    result = on_an_old_kernel("stand-in")

    assert result["out"] == "PermissionError\n"
    assert result["findings"] == ([["socket", "AF_INET", "", True]] if result["ran"]["notify"] else [])


def test_without_seccomp_there_is_no_sandbox_and_the_error_says_what_to_do() -> None:
    result = on_an_old_kernel("seccomp")

    assert result["exit_code"] == 125
    assert "refuses a seccomp filter" in result["refused"]
    assert "seccomp=unconfined" in result["refused"]


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_another_system_is_refused_with_what_to_do(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch.sys, "platform", system)

    with pytest.raises(SandboxError, match="Run it on Linux"):
        probe()
    with pytest.raises(SandboxError, match="Run it on Linux"):
        Sandbox().start(["/bin/true"], env=ENV)


def test_another_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    uname = os.uname_result(("Linux", "here", "6", "1", "riscv64"))
    monkeypatch.setattr(launch.os, "uname", lambda: uname)

    with pytest.raises(SandboxError, match="no sandbox for riscv64"):
        probe()


def test_a_start_program_that_fails_is_an_error_with_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch.sys, "executable", shutil.which("false"))

    with pytest.raises(SandboxError, match="did not start: its first process ended with status 1"):
        Sandbox().start(["/bin/true"], env=ENV, stderr=subprocess.DEVNULL)
