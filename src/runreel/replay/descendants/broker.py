"""In the agent's process: what it starts gets a way to the replay, through this process.

A started program inherits one end of a stream pair, the meeting place. A Python program sends an end of another pair
through it, and is answered over that one: any number of programs at any depth, each with a conversation of its own.
"""

import hashlib
import inspect
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from runreel.errors import RefusedError
from runreel.replay.clock import Clock
from runreel.replay.descendants.command import read
from runreel.replay.imports import when_imported
from runreel.replay.protocol import Channel, Frame, Link, LostError

LINK = "RUNREEL_REPLAY_LINK"
"""The variable that names the descriptor of the meeting place."""

_PATH = str(Path(__file__).with_name("path"))
_SPAWNING = ("system", "posix_spawn", "posix_spawnp", "spawnv", "spawnve", "spawnvp", "spawnvpe", "execv", "execve")
_OF_ITS_OWN = frozenset({"started", "ended"})  # of the agent itself only


class Broker:
    """Owns the meeting place. Nothing is opened and no thread runs before the agent starts its first program."""

    def __init__(self, link: Link, clock: Clock, plan: Mapping[str, Any]) -> None:
        self._link, self._clock, self._plan = link, clock, plan
        self._lock = threading.Lock()
        self._started: Counter[str] = Counter()
        self._descriptor = int(os.environ.get(LINK, "-1"))

    def install(self) -> None:
        """Have whatever starts programs hand the meeting place on."""
        when_imported("subprocess", self._patch_subprocess)
        when_imported("multiprocessing.util", self._patch_multiprocessing)
        for name in _SPAWNING:
            if hasattr(os, name):
                setattr(os, name, self._before(getattr(os, name)))
        self._link.reconnect = self._reconnect
        os.register_at_fork(before=self.ready)

    def _reconnect(self) -> Channel:
        """In a forked process: start a conversation of its own."""
        channel = connect(("fork",), self._descriptor)
        channel.receive()  # the plan is the one we have
        channel.send(Frame("note", {"text": "a process that the agent forked was answered too"}))
        return channel

    def ready(self) -> int:
        """Open the meeting place, once; return its descriptor."""
        with self._lock:
            if self._descriptor < 0:
                ours, theirs = socket.socketpair()
                theirs.set_inheritable(True)
                self._descriptor = theirs.detach()
                threading.Thread(target=self._listen, args=(ours,), name="runreel-programs", daemon=True).start()
            return self._descriptor

    # --- what starts programs -----------------------------------------------------------------------------------------

    def _patch_subprocess(self, module: ModuleType) -> None:
        original = module.Popen.__init__
        signature = inspect.signature(original)

        def init(popen: Any, *args: Any, **kwargs: Any) -> None:
            bound = signature.bind(popen, *args, **kwargs)
            given, descriptor = bound.arguments, self.ready()
            self._require_answerable(given.get("args"))
            given["env"] = self._environment(os.environ if given.get("env") is None else given["env"])
            if given.get("close_fds", True):
                given["pass_fds"] = (*given.get("pass_fds", ()), descriptor)
            original(*bound.args, **bound.kwargs)

        module.Popen.__init__ = init

    def _require_answerable(self, args: object) -> None:
        """A Python program that takes no part in the environment would run its tools for real."""
        words = [os.fsdecode(word) for word in args] if isinstance(args, (list, tuple)) else []
        if not words or not Path(words[0]).name.startswith("python"):
            return
        command = read(words)
        if command.shuts_out and command.how in ("script", "-m"):
            what = " ".join(words[: command.place + 1 + (command.how == "-m")][1:])
            self._link.tell(Frame("unanswered", {"name": f"python {what}"}))
            raise RefusedError(f"runreel replay: python {what} cannot be answered (-E, -I, -S), and does not run")

    def _patch_multiprocessing(self, module: ModuleType) -> None:
        original = module.spawnv_passfds

        def spawnv_passfds(path: Any, args: Any, passfds: Any) -> int:
            descriptor = self._inherited()
            return original(path, args, sorted({*passfds, descriptor}))  # type: ignore[no-any-return]

        module.spawnv_passfds = spawnv_passfds  # type: ignore[attr-defined]

    def _before(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def spawn(*args: Any, **kwargs: Any) -> Any:
            self._inherited()
            given = [self._environment(one) if isinstance(one, Mapping) else one for one in args]
            return original(*given, **kwargs)

        return spawn

    def _inherited(self) -> int:
        """Put the way into this process's own environment, for what takes no other."""
        descriptor = self.ready()
        os.environ.update(self._environment(os.environ))
        return descriptor

    def _environment(self, env: Mapping[Any, Any]) -> dict[Any, Any]:
        before = env.get("PYTHONPATH", "")
        path = before if _PATH in before.split(os.pathsep) else os.pathsep.join(filter(None, (_PATH, before)))
        return {**env, LINK: str(self._descriptor), "PYTHONPATH": path}

    # --- the conversations --------------------------------------------------------------------------------------------

    def _listen(self, meeting: socket.socket) -> None:
        while True:
            said, received, _, _ = socket.recv_fds(meeting, 1, 1, socket.MSG_CMSG_CLOEXEC)
            if not said:
                return
            for descriptor in received:
                threading.Thread(target=self._serve, args=(Channel(descriptor),), daemon=True).start()

    def _serve(self, channel: Channel) -> None:
        try:
            hello = channel.receive()
            if hello is None:
                return
            channel.send(Frame("plan", {**self._plan, **self._own(hello.get("command", ()))}))
            while (frame := channel.receive()) is not None:
                self._pass_on(channel, frame)
        except (LostError, BrokenPipeError):
            return  # either end is gone
        finally:
            channel.close()

    def _own(self, command: Sequence[str]) -> dict[str, Any]:
        """Say what is a program's own: the time it starts at, and a seed that depends on what was started how often."""
        with self._lock:
            words = "\0".join(map(str, command))
            self._started[words] += 1
            seed = hashlib.sha256(f"{self._plan['seed']}\0{words}\0{self._started[words]}".encode()).hexdigest()
        return {"start_ns": self._clock.now_ns, "seed": seed}

    def _pass_on(self, channel: Channel, frame: Frame) -> None:
        if "id" in frame.head:
            reply = self._link.ask(Frame(frame.type, {k: v for k, v in frame.head.items() if k != "id"}, frame.body))
            if "clock_ns" in reply.head:
                self._clock.reach(reply.get("clock_ns"))
            channel.send(Frame("reply", {**reply.head, "id": frame.get("id")}, reply.body))
        elif frame.type in ("refused", "no_entry"):
            text = frame.get("message") or f"unstubbed: {', '.join(frame.get('missing', ()))}"
            self._link.tell(Frame("note", {"text": f"a program that the agent started did not run: {text}"}))
        elif frame.type not in _OF_ITS_OWN:
            self._link.tell(frame)


def connect(command: Sequence[str], meeting_place: int | None = None) -> Channel:
    """In a started program: meet the broker; return the channel of this program's own.

    Raises OSError where the process that started it is gone, or closed the descriptor.
    """
    ours, theirs = socket.socketpair()
    # The meeting place is shared by all programs: one message, one byte, cannot be torn apart.
    place = int(os.environ[LINK]) if meeting_place is None else meeting_place
    with socket.socket(fileno=os.dup(place)) as meeting, theirs:
        socket.send_fds(meeting, [b"+"], [theirs.fileno()])
    channel = Channel(ours.detach())
    channel.send(Frame("hello", {"command": list(command)}))
    return channel
