"""Start a program behind the walls: `Sandbox`, what became of it (`Sandboxed`), and `probe` for what the kernel has.

The program runs in a fresh process, started through shim.py: walls can only be built by a process with one thread, and
are inherited by all that it starts. Threat model: accident, not malice (docs/sandbox.md).
"""

import contextlib
import errno
import os
import platform
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

from runreel.errors import SandboxError
from runreel.replay.sandbox import bpf, procfs
from runreel.replay.sandbox.environment import scrub
from runreel.replay.sandbox.findings import Attempt
from runreel.replay.sandbox.supervisor import Supervisor

Stream: TypeAlias = "int | IO[bytes] | IO[str] | None"
"""As in subprocess: a descriptor or file, PIPE, DEVNULL, STDOUT (stderr only), or None to inherit."""

_START_TIMEOUT_S = 30.0
_PUMP_TIMEOUT_S = 5.0
_INSTEAD = (
    "Replay keeps an agent off the network with the Linux kernel. Run it on Linux (x86_64 or aarch64), on macOS and "
    "Windows in a Linux container or virtual machine; in a container whose seccomp profile refuses the call, allow it "
    "(docker run --security-opt seccomp=unconfined)."
)


@dataclass(frozen=True, slots=True)
class Isolation:
    """Which walls stand. `landlock_abi` is 0 where there is none; `reason` says why something is missing."""

    namespace: bool
    seccomp: bool
    notify: bool
    landlock_abi: int
    reason: str = ""

    def __str__(self) -> str:
        walls = ["seccomp filter" + (" with reports" if self.notify else "")] if self.seccomp else []
        walls += ["network namespace"] if self.namespace else []
        walls += [f"Landlock {self.landlock_abi}"] if self.landlock_abi else []
        return ", ".join(walls) + (f" ({self.reason})" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The walls that are wanted. The filter always stands; `start` raises where it cannot.

    The others are used where the kernel allows them, unless switched off here (tests of the fall-backs do).
    """

    namespace: bool = True
    landlock: bool = True
    notify: bool = True

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        pass_fds: Collection[int] = (),
        stdin: Stream = None,
        stdout: Stream = None,
        stderr: Stream = None,
    ) -> "Sandboxed":
        """Start a program; return once it runs behind the walls.

        Args:
            argv: Program and arguments; a name without a slash is looked up on the PATH of `env`.
            env: The whole environment, used as it is; None means ours, scrubbed (environment.scrub).
            pass_fds: The only descriptors beside the standard streams that stay open: pipes, files, stream pairs.
            stdin, stdout, stderr: A socket is refused; one that would be inherited is replaced by a pipe (stdin: by
                nothing), since a connected socket passes every wall.

        Raises SandboxError where the filter is refused, the program cannot be run, or a descriptor is a way out.
        """
        machine = _machine()
        environment = scrub(os.environ) if env is None else dict(env)
        command = _program(argv, environment)
        for descriptor in pass_fds:
            _require_no_way_out(descriptor)
        streams = _Streams(stdin, stdout, stderr)
        try:
            process, isolation, listener = self._start(command, environment, cwd, pass_fds, streams)
        finally:
            streams.started()
        supervisor = None if listener is None else Supervisor(listener, bpf.NUMBERS[machine])
        return Sandboxed(process, isolation, supervisor, streams.pumps)

    def _start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        cwd: str | Path | None,
        pass_fds: Collection[int],
        streams: "_Streams",
        lost: int = 0,
    ) -> "_Started":
        """`lost` is the errno with which an earlier try came out of a namespace without rights."""
        machine = _machine()
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = subprocess.Popen(
                [*self._shim(machine, theirs.fileno(), "LC_CTYPE" in environment), *command],
                env=environment,
                cwd=cwd,
                close_fds=True,
                pass_fds=(*pass_fds, theirs.fileno()),
                stdin=streams.stdin,
                stdout=streams.stdout,
                stderr=streams.stderr,
            )
            theirs.close()
            try:
                report, listener = _hear(ours)
            except OSError as error:
                _end(process)
                raise SandboxError(f"the sandbox did not start: {error}") from error
        if report.get("seccomp") == 1 and "exec" not in report:
            return _Started(process, _isolation(report, lost), listener)
        if listener is not None:
            os.close(listener)
        _end(process)
        if "retry" in report:
            # A policy let us leave for a namespace and then took its rights away: once more, without one.
            again = Sandbox(namespace=False, landlock=self.landlock, notify=self.notify)
            return again._start(command, environment, cwd, pass_fds, streams, lost=-report["retry"])
        raise _refusal(report, command, process.returncode)

    def _shim(self, machine: str, control: int, locale: bool) -> list[str]:
        plan = (control, bpf.NUMBERS[machine]["seccomp"], self.namespace, self.landlock, self.notify, locale)
        programs = (bpf.pack(bpf.program(machine, ask=ask)).hex() for ask in (True, False))
        numbers = ",".join(str(int(number)) for number in plan)
        return [sys.executable, "-S", "-E", str(Path(__file__).with_name("shim.py")), numbers, *programs]


class _Started(NamedTuple):
    process: "subprocess.Popen[bytes]"
    isolation: Isolation
    listener: int | None


class Sandboxed:
    """A running program behind the walls. Owned by whoever started it; end it with `wait` or `kill`, then `close`
    (or use it as a context manager)."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        isolation: Isolation,
        supervisor: Supervisor | None,
        pumps: Sequence[threading.Thread],
    ) -> None:
        self._process = process
        self._supervisor = supervisor
        self._pumps = pumps
        self.isolation = isolation
        self.pid = process.pid
        self.stdin, self.stdout, self.stderr = process.stdin, process.stdout, process.stderr

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """What the walls stopped so far; complete for the program itself once `wait` has returned. Always empty where
        `isolation.notify` is false."""
        return self._supervisor.attempts if self._supervisor else ()

    def follow(self, progress: Callable[[], int]) -> None:
        """Have each attempt note from now on how far things were when it was first seen (`Attempt.at`)."""
        if self._supervisor:
            self._supervisor.progress = progress

    def wait(self, timeout_s: float | None = None) -> int:
        """Return the exit status (a signal's number, negative). Raises TimeoutError; the program then still runs."""
        try:
            status = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"the agent (pid {self.pid}) still runs after {timeout_s} s") from error
        for pump in self._pumps:
            pump.join(_PUMP_TIMEOUT_S)
        return status

    def kill(self) -> None:
        """End the program and its descendants at once. Safe after the end, and twice."""
        if self._process.poll() is not None:
            return
        # Stopped first: what does not run starts nothing new while its descendants are listed.
        self._process.send_signal(signal.SIGSTOP)
        ended: set[int] = set()
        while left := {*procfs.descendants(self.pid)} - ended:
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            ended |= left
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Kill what runs, stop answering. What may have outlived the program (a daemon) stays behind the walls: each
        call is refused by the kernel itself."""
        self.kill()
        if self._supervisor:
            self._supervisor.close()
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def __enter__(self) -> "Sandboxed":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def probe() -> Isolation:
    """Build the walls once around a process that does nothing, and say which of them stand.

    Raises SandboxError, saying what to do, where there is no seccomp: other systems than Linux, other machines than
    x86_64 and aarch64, or a container that refuses it.
    """
    quiet = _Streams(subprocess.DEVNULL, subprocess.DEVNULL, subprocess.DEVNULL)
    process, isolation, listener = Sandbox()._start((), os.environ, None, (), quiet)
    if listener is not None:
        os.close(listener)
    _end(process)
    return isolation


class _Streams:
    """The three standard streams, none of them a socket."""

    def __init__(self, stdin: Stream, stdout: Stream, stderr: Stream) -> None:
        self.pumps: list[threading.Thread] = []
        self._to_close: list[int] = []
        self.stdin = self._checked(0, "stdin", stdin)
        self.stdout = self._checked(1, "stdout", stdout)
        self.stderr = self._checked(2, "stderr", stderr)

    def _checked(self, number: int, name: str, stream: Stream) -> Stream:
        if isinstance(stream, int) and stream < 0:
            return stream
        descriptor = number if stream is None else stream if isinstance(stream, int) else stream.fileno()
        if not _is_socket(descriptor):
            return stream
        if stream is not None:
            raise SandboxError(f"{name} is a socket, a way out of the sandbox: give a pipe or a file")
        if number == 0:
            return subprocess.DEVNULL
        reader, writer = os.pipe()
        self._to_close.append(writer)
        self.pumps.append(
            threading.Thread(target=_pump, args=(reader, descriptor), name=f"runreel-{name}", daemon=True)
        )
        return writer

    def started(self) -> None:
        """The program has its own copies now (or never started): let ours go, so that the pumps see the end."""
        for descriptor in self._to_close:
            os.close(descriptor)
        for pump in self.pumps:
            pump.start()


def _pump(reader: int, target: int) -> None:
    with contextlib.closing(os.fdopen(reader, "rb", buffering=0)) as source:
        while data := source.read(65536):
            view = memoryview(data)
            while view:
                try:
                    view = view[os.write(target, view) :]
                except BlockingIOError:
                    select.select([], [target], [])
                except ConnectionError:
                    return  # nobody reads any more: the program gets its own broken pipe


def _machine() -> str:
    if not sys.platform.startswith("linux"):
        raise SandboxError(f"no sandbox on {platform.system()}. {_INSTEAD}")
    machine = os.uname().machine
    if machine not in bpf.NUMBERS or sys.maxsize < 2**32:
        raise SandboxError(f"no sandbox for {machine} with a {sys.maxsize.bit_length() + 1}-bit Python. {_INSTEAD}")
    return machine


def _program(argv: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    if not argv:
        raise SandboxError("nothing to start: argv is empty")
    if os.sep in argv[0]:
        return tuple(argv)
    found = shutil.which(argv[0], path=environment.get("PATH", os.defpath))
    if found is None:
        raise SandboxError(f"cannot start {argv[0]!r}: not found on PATH")
    return (found, *argv[1:])


def _is_socket(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False  # closed: subprocess says so, or the child finds it closed, too


def _require_no_way_out(descriptor: int) -> None:
    """Of sockets only anonymous Unix stream pairs may be passed: any other may have, or get, a peer outside."""
    if not _is_socket(descriptor):
        return
    with socket.socket(fileno=os.dup(descriptor)) as passed:
        pair = passed.family == socket.AF_UNIX and passed.type == socket.SOCK_STREAM
        if not pair or passed.getsockname() or _peer(passed) != "":
            raise SandboxError(f"descriptor {descriptor} is a socket with a way out: pass a socketpair or a pipe")


def _peer(passed: socket.socket) -> object:
    try:
        return passed.getpeername()
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise
        return None


def _hear(ours: socket.socket) -> tuple[dict[str, int], int | None]:
    """Read what the shim says until it becomes the agent. Returns its words, and the listener if one was sent.

    Raises OSError (a timeout, too).
    """
    ours.settimeout(_START_TIMEOUT_S)
    data, listener = b"", None
    while True:
        more, received, _, _ = socket.recv_fds(ours, 4096, 1, socket.MSG_CMSG_CLOEXEC)
        listener = received[0] if received else listener
        if not more:
            break
        data += more
    words = (line.split() for line in data.decode().splitlines())
    return {name: int(number) for name, number in words}, listener


def _isolation(report: Mapping[str, int], lost: int) -> Isolation:
    missing = [
        f"no {name}: {os.strerror(-report[key]).lower()}"
        for key, name in (("namespace", "namespace"), ("landlock", "Landlock"), ("notify", "reports"))
        if report.get(key, 0) < 0
    ]
    if lost:
        missing.insert(0, f"no namespace: a policy leaves it without rights ({os.strerror(lost).lower()})")
    return Isolation(
        namespace=report.get("namespace") == 1,
        seccomp=True,
        notify=report.get("notify") == 1,
        landlock_abi=max(0, report.get("landlock", 0)),
        reason="; ".join(missing),
    )


def _refusal(report: Mapping[str, int], command: Sequence[str], status: int) -> SandboxError:
    if "exec" in report:
        number = -report["exec"]
        hint = ""
        if number == errno.EACCES and os.geteuid() == 0:
            hint = "; inside, root has no capabilities and reads only what its files' modes allow"
        return SandboxError(f"cannot start {command[0]!r} inside the sandbox: {os.strerror(number).lower()}{hint}")
    if report.get("seccomp", 0) < 0:
        return SandboxError(f"the kernel refuses a seccomp filter: {os.strerror(-report['seccomp'])}. {_INSTEAD}")
    return SandboxError(f"the sandbox did not start: its first process ended with status {status}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """The shim ends by itself after its last word; kill covers one that hangs."""
    try:
        process.wait(1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
