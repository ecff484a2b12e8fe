"""Replay a recorded run: start the agent behind the walls, answer it from the tape, judge what it did."""

import hashlib
import os
import socket
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from runreel.canonical import Bindings, dumps, freeze
from runreel.canonical.match import Keys
from runreel.errors import EntryPointError, RefusedError, ReplayError, UsageError
from runreel.replay import adapters, outcome, tape
from runreel.replay.drawn import Drawn
from runreel.replay.host import Host
from runreel.replay.masks import parse as parse_mask
from runreel.replay.matching import Matcher
from runreel.replay.protocol import Channel, Frame
from runreel.replay.sandbox import Sandbox, Sandboxed, scrub
from runreel.replay.tape import Tape
from runreel.replay.unifying import Rules
from runreel.replay.values import Mode, OnDivergence, Replayed
from runreel.semconv import keys
from runreel.semconv.secrets import is_secret
from runreel.values import Run, Value

NOT_GIVEN: Any = object()
"""Tells an input of None from none at all."""

_OF_TELEMETRY = ("OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_LOGS_EXPORTER", "OTEL_METRICS_EXPORTER")


@dataclass(frozen=True, slots=True)
class Entry:
    """An agent's entry: a script's path, or a module and a callable in it."""

    script: str = ""
    module: str = ""
    callable: str = ""

    def plan(self) -> dict[str, str]:
        return {"script": self.script} if self.script else {"module": self.module, "callable": self.callable}


def replay(
    run: Run,
    agent: str | None = None,
    *,
    args: Sequence[str] = (),
    mode: Mode = "frozen",
    tools: Mapping[str, str] | None = None,
    input: Value = NOT_GIVEN,  # noqa: A002 - the agent's input, and no other name says it
    key: Keys = None,
    on_divergence: OnDivergence = "stop",
    masks: Sequence[str] = (),
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 600.0,
    break_at: int | None = None,
    hash_seed: int = 0,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    redact: outcome.Redact | None = None,
) -> Replayed:
    """Run the agent again with every outside call answered from the record, and compare what it asks for.

    Args:
        run: The recorded run, whole.
        agent: `path/to/script.py`, run as a script with `args`, or `module:callable`, called with the recorded user
            input. None: the recorded entry, with the recorded arguments unless `args` are given.
        mode: Only `frozen` for now: nothing is live.
        tools: Recorded tool name to `module:function`, where the function is not found by its name.
        input: What a callable is given instead of the recorded user input.
        key: The tenant's key, or all that the tenant had: proves which live values the recorded tokens stand for.
        on_divergence: `stop` raises DivergedError in the agent's code; `continue` serves the only recorded call that it
            can have meant, and goes on. The verdict is the same.
        masks: Fields of calls in which a difference is none, as `KIND:NAME/pointer`; `*` for any name, or any one place
            in the pointer. What they hid is counted in the result. None can hide a whole request.
        env: The agent's environment, before credentials are scrubbed from it; None is ours.
        timeout_s: How long the agent may run; then it is killed and the replay is not comparable.
        break_at: The step of the record at which pdb opens in the agent's code, on our own terminal. The agent then has
            all the time there is.
        hash_seed: What orders the agent's sets (PYTHONHASHSEED).
        stdout, stderr: Where the agent's output goes; None is our own. It is stored nowhere.
        redact: The redactor's `process`, for what the replay records of itself; without it that holds live values, and
            must stay in memory.

    Raises RefusedError before the agent starts where the run or the agent cannot be replayed so, EntryPointError where
    the entry does not import, UsageError where it is not known, ReplayError where the agent's process broke down.
    """
    if mode != "frozen":
        raise UsageError(f"replay mode {mode!r} is not known: this version knows frozen")
    if not timeout_s > 0:  # nan is not, either
        raise UsageError(f"a replay's timeout is a number of seconds above 0, not {timeout_s:g}")
    arranged = tape.build(run)
    if break_at is not None:
        _require_asked_for(break_at, arranged)
    entry, arguments = entry_of(run, agent, args)
    targets = {name: _target(name, where, arranged) for name, where in (tools or {}).items()}
    given = _recorded_input(run) if input is NOT_GIVEN else freeze(input)
    matcher = Matcher(
        arranged,
        Rules(key, is_secret),
        on_divergence,
        Bindings(),
        masks=tuple(map(parse_mask, masks)),
        drawn=Drawn(run.started_ns, run.ended_ns),
    )
    matcher.serve((given if input is NOT_GIVEN else None, *(() if args else arguments)))
    plan = _plan(run, arranged, entry, arguments, targets, given)
    started = time.monotonic()
    environment = environment_of(os.environ if env is None else env, hash_seed)
    with _child(environment, cwd, stdout, stderr) as (sandboxed, channel):
        host = Host(matcher, channel, break_at=break_at)
        matcher.drawn.pids.add(sandboxed.pid)
        sandboxed.follow(lambda: len(matcher.divergences))
        channel.send(plan)
        exit_code, timed_out = _serve(host, sandboxed, channel, timeout_s if break_at is None else None)
        _require_started(run, host, exit_code, timeout_s if timed_out else None)
        seen = outcome.Seen(host, exit_code, timed_out, sandboxed.attempts, sandboxed.isolation, plan.get("run_id"))
    return outcome.judge(arranged, seen, redact=redact, duration_s=time.monotonic() - started)


def entry_of(run: Run, agent: str | None, args: Sequence[str] = ()) -> tuple[Entry, tuple[str, ...]]:
    """Read an entry; without one, take the recorded entry and, where none are given, its recorded arguments.

    Raises UsageError where there is none, or it is no entry, EntryPointError where it is a folder.
    """
    text, recorded = (agent, ()) if agent else _recorded_entry(run)
    arguments = tuple(args) or recorded
    if not text:
        raise UsageError(
            f"run {run.run_id} does not say what to run: give --agent script.py or --agent module:callable"
        )
    return entry_of_text(text), arguments


def entry_of_text(text: str) -> Entry:
    """Read an entry as it is written. Raises UsageError where it is none, EntryPointError where it is a folder."""
    if text.endswith(".py"):
        return Entry(script=text)
    module, _, name = text.partition(":")
    if not name and Path(text).is_dir():
        raise EntryPointError(f"{text} is a folder: name the script in it, or give module:callable")
    if not module or not name or "/" in module:
        raise UsageError(f"{text!r} is no entry: give path/to/script.py or module:callable")
    return Entry(module=module, callable=name)


def _recorded_entry(run: Run) -> tuple[str, tuple[str, ...]]:
    """Return how the run was started: what its recorder says, else its process; and the arguments it had then."""
    command = run.service.get("process.command_args")
    words = [word for word in command if isinstance(word, str)] if isinstance(command, tuple) else []
    script = next((place for place, word in enumerate(words) if word.endswith(".py")), None)
    arguments = () if script is None else tuple(words[script + 1 :])
    said = run.service.get(keys.AGENT_ENTRY)
    if isinstance(said, str) and said:
        return said, arguments
    return ("", ()) if script is None else (words[script], arguments)


def _recorded_input(run: Run) -> Value:
    return run.value(run.user_input)


def _target(name: str, where: str, arranged: Tape) -> list[str]:
    names = {*arranged.named(), *arranged.asked_for()}
    if name not in names:
        known = ", ".join(sorted(names)) or "none"
        raise UsageError(f"the run records no tool or retrieval named {name!r}; it records: {known}")
    module, _, path = where.partition(":")
    if not module or not path:
        raise UsageError(f"--tool {name}={where}: give it as NAME=module:function")
    return [module, path]


def _require_asked_for(step: int, arranged: Tape) -> None:
    steps = [entry.seq for entry in arranged.entries]
    if step not in steps:
        listed = ", ".join(map(str, sorted(steps))) or "none"
        raise UsageError(f"nothing is asked for at step {step} of the record: stop at one of these: {listed}")


def _plan(
    run: Run, arranged: Tape, entry: Entry, args: Sequence[str], targets: Mapping[str, list[str]], given: Value
) -> Frame:
    head = {
        "entry": entry.plan(),
        "args": list(args),
        "names": dict(arranged.named()),
        "asked_for": sorted(arranged.asked_for()),
        "frameworks": adapters.frameworks(
            (one.name, one.instrumentation) for one in arranged.entries if one.kind in ("tool", "retrieval")
        ),
        "targets": dict(targets),
        "mcp": adapters.mcp_facts(arranged.entries),
        "start_ns": run.started_ns,
        "seed": hashlib.sha256(run.run_id.encode()).hexdigest(),
        "run_id": str(uuid.uuid4()),
        "of": run.run_id,
        "run_seed": run.service.get(keys.RUN_SEED),
    }
    return Frame("plan", head, b"" if given is None else dumps(given).encode())


# --- the child --------------------------------------------------------------------------------------------------------


@contextmanager
def _child(
    environment: Mapping[str, str],
    cwd: str | Path | None,
    stdout: int | IO[bytes] | None,
    stderr: int | IO[bytes] | None = None,
) -> Iterator[tuple[Sandboxed, Channel]]:
    """Start the child behind the walls; whatever happens, it is gone afterwards."""
    ours, theirs = socket.socketpair()
    channel = Channel(ours.detach())
    try:
        with theirs:
            argv = [sys.executable, "-P", "-m", "runreel.replay.child", str(theirs.fileno())]
            sandboxed = Sandbox().start(
                argv, env=environment, cwd=cwd, pass_fds=[theirs.fileno()], stdout=stdout, stderr=stderr
            )
        with sandboxed:
            yield sandboxed, channel
    finally:
        channel.close()


def environment_of(env: Mapping[str, str], hash_seed: int = 0) -> dict[str, str]:
    """Return the agent's environment: as given, without credentials, with what a replay needs set."""
    kept = {name: value for name, value in scrub(env).items() if name not in _OF_TELEMETRY}
    # Content is off by default: without it the replay's own record would be empty.
    content = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    return {**kept, "PYTHONHASHSEED": str(hash_seed), content: kept.get(content) or "SPAN_ONLY"}


def _serve(host: Host, sandboxed: Sandboxed, channel: Channel, timeout_s: float | None) -> tuple[int, bool]:
    """Answer the child until it ends; return its exit status, and whether it had to be killed for its time."""
    ended: list[int] = []
    late = threading.Event()

    def wait() -> None:
        try:
            ended.append(sandboxed.wait(timeout_s))
        except TimeoutError:
            late.set()
            sandboxed.kill()
            ended.append(sandboxed.wait())
        # What the agent started and left behind may hold the stream open.
        channel.finish()

    waiter = threading.Thread(target=wait, name="runreel-replay-wait")
    waiter.start()
    try:
        if not host.serve():
            sandboxed.kill()
    except BaseException:
        sandboxed.kill()
        raise
    finally:
        waiter.join()
    return ended[0], late.is_set()


def _require_started(run: Run, host: Host, exit_code: int, timeout_s: float | None) -> None:
    """`timeout_s` is the time that was up, if it was."""
    if "no_entry" in host.told:
        raise EntryPointError(host.told["no_entry"]["message"])
    if "refused" in host.told:
        raise RefusedError(_refusal(run, host.told["refused"]))
    if "started" not in host.told and timeout_s is not None:
        raise ReplayError(f"the agent had not started when its time of {timeout_s:g} s was up: allow it more")
    if "started" not in host.told:
        raise ReplayError(
            f"the agent's process ended before the agent started (exit status {exit_code}); what it printed says why"
        )


def _refusal(run: Run, said: Mapping[str, Any]) -> str:
    missing: Mapping[str, str] = said["missing"]
    if not missing:
        return str(said["message"])
    listed = "\n".join(f"  - {name}: {reason}" for name, reason in sorted(missing.items()))
    return (
        f"run {run.run_id} cannot be replayed frozen, unstubbed: {', '.join(sorted(missing))}\n{listed}\n"
        "A recorded tool must not run for real. Name its function with --tool NAME=module:function (also "
        "module:Class.method, module:outer.<locals>.inner), or decorate it with runreel.record.tool or "
        "runreel.record.retriever."
    )
