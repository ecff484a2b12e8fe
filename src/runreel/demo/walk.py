"""The walk of the demonstration: collector, agent, run, token, three replays. Every step is a command one can type."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text

from runreel.errors import RunReelError
from runreel.runs import discovery
from runreel.runs.discovery import Collector
from runreel.runs.remote import RemoteRuns
from runreel.storage import RunQuery
from runreel.terminal import fold
from runreel.values import DEFAULT_TENANT, Run, Value

AGENT = Path(__file__).with_name("agent.py")
EMAIL = "dana.fields@example.com"
# What the agent's run holds that must be nowhere in the store: none of it belongs to anybody.
PLANTED = (EMAIL, "202-555-0143", "4242 4242 4242 4242", "203.0.113.7", "sk-test-51HxFAKE0000000000000000")
CONFIG = """\
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "127.0.0.1:0"}
      http: {endpoint: "127.0.0.1:0"}
processors: {schema: {}, redact: {}, split: {}}
exporters: {clickhouse: {}}
service:
  pipelines:
    traces: {receivers: [otlp], processors: [schema, redact, split], exporters: [clickhouse]}
    logs: {receivers: [otlp], processors: [schema, redact, split], exporters: [clickhouse]}
"""
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_PATIENCE_S = 60.0


class DemoError(RunReelError):
    """A step of the demonstration did not do what it shows."""


def walk(console: Console, home: Path | None) -> None:
    """Show everything once. `home` is kept; without it the store is in a temporary folder that goes at the end.

    Raises:
        DemoError: a step failed; its message names the step and the log.
    """
    started = time.monotonic()
    with ExitStack() as stack:
        folder = home or _temporary(stack)
        folder.mkdir(parents=True, exist_ok=True)
        _title(console, 1, "A collector on loopback, its store in a folder of its own")
        with console.status("starting the collector and a scripted model"):
            model = _model(stack, folder)
            collector = _collector(stack, folder)
        where = f"OTLP on {collector.otlp_grpc} (gRPC) and {collector.otlp_http}; everything is kept in {folder}"
        fold(console, Text(f"  {where}"))
        calls = folder / "calls"
        _title(console, 2, "A refund agent: OpenAI SDK, two tools (one pays money back), one retrieval")
        with console.status("the agent works"):
            answer = _agent(model, collector, calls)
        fold(console, Text(f"  it answered: {answer}"), 4)
        _title(console, 3, "Its run, as recorded")
        run = _recorded(collector)
        ran = calls.read_text(encoding="utf-8")
        _command(console, folder, ["runs", "show", run.run_id], expect=0)
        _title(console, 4, "What the store holds of the customer")
        _privacy(console, folder, run)
        replays: tuple[tuple[str, list[str], int], ...] = (
            ("Replay it, frozen: the agent's own code, answered from the record, no network", [], 0),
            ("Replay it with another prompt", ["--prompt", "v2"], 2),
            ("Replay it with other code: the agent keeps a fee of 100 cents", ["--fee", "100"], 2),
        )
        for number, (title, changed, expect) in enumerate(replays, 5):
            _title(console, number, title)
            asked = ["replay", run.run_id, "--agent", str(AGENT)]
            _command(console, folder, [*asked, *(["--", *changed] if changed else [])], expect=expect)
        if calls.read_text(encoding="utf-8") != ran:
            raise DemoError("a tool ran for real during a replay: this must never happen, please report it")
        console.print()
        fold(console, Text("The tools' own code ran once, for the recording: three replays called none of it."))
    _next(console, time.monotonic() - started)


def _title(console: Console, number: int, text: str) -> None:
    console.print(Text(f"\n{number}/7 {text}", "bold"))


def _temporary(stack: ExitStack) -> Path:
    """Make a folder that goes when the stack closes; after a failed step it stays: the message names a log in it."""

    def remove(kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, DemoError):
            shutil.rmtree(folder, ignore_errors=True)

    with _unbroken():
        folder = Path(tempfile.mkdtemp(prefix="runreel-demo-"))
        stack.push(remove)
    return folder


def _start(stack: ExitStack, argv: Sequence[str], **options: object) -> "subprocess.Popen[str]":
    """Start a program that is ended when the stack is, whatever happens from its first moment on."""
    with _unbroken():
        process: subprocess.Popen[str] = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
        stack.callback(_end, process)
    return process


def _end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    try:
        process.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in filter(None, (process.stdout, process.stderr)):
        pipe.close()


def _ran(argv: Sequence[str], environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    with ExitStack() as stack:
        process = _start(stack, argv, stderr=subprocess.PIPE, env=environment)
        said, complained = process.communicate()
        return subprocess.CompletedProcess(argv, process.returncode, said, complained)


@contextmanager
def _unbroken() -> Iterator[None]:
    """Hold signals that end the walk back until the block is through: what is made in it is then known to somebody.
    Does nothing outside of the main thread, where Python runs no handlers."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda got, _: came.append(got)) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
    for got in came[:1]:
        signal.raise_signal(got)


def _model(stack: ExitStack, folder: Path) -> str:
    log = folder / "model.log"
    with log.open("w", encoding="utf-8") as said:
        argv = [sys.executable, "-m", "runreel.demo.model_server", "--port", "0"]
        process = _start(stack, argv, stderr=said)
    port = process.stdout.readline().strip() if process.stdout else ""
    if not port:
        raise DemoError(f"the scripted model did not start: see {log}")
    return f"http://127.0.0.1:{port}/v1"


def _collector(stack: ExitStack, folder: Path) -> Collector:
    config, log = folder / "otel-config.yaml", folder / "collector.log"
    config.write_text(CONFIG, encoding="utf-8")
    with log.open("w", encoding="utf-8") as said:
        argv = [sys.executable, "-m", "runreel", "serve", "--config", str(config), "--home", str(folder)]
        process = _start(stack, argv, stderr=said)
    deadline = time.monotonic() + _PATIENCE_S
    while (found := discovery.find(folder, say=lambda _: None)) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            raise DemoError(f"the collector did not start: {_last_line(log)}")
        time.sleep(0.05)
    return found


def _agent(model: str, collector: Collector, calls: Path) -> str:
    """Run the agent as its owner would, with the standard OTLP exporter; return what it printed."""
    environment = {
        **os.environ,
        "OPENAI_BASE_URL": model,
        "OPENAI_API_KEY": "no-key-needed",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{collector.otlp_grpc}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
        "OTEL_SERVICE_NAME": "refund-desk",
        "RUNREEL_DEMO_CALLS": str(calls),
    }
    done = _ran([sys.executable, str(AGENT)], environment)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        raise DemoError(f"the agent failed: {lines[-1]}")
    return done.stdout.strip()


def _recorded(collector: Collector) -> Run:
    """Wait until the run has arrived, root and all, and load it."""
    store = RemoteRuns(collector.api, collector.token)
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        runs = store.runs(RunQuery(limit=1))
        if runs and not runs[0].open:
            return store.run(DEFAULT_TENANT, runs[0].run_id)
        time.sleep(0.1)
    raise DemoError("the agent's run did not arrive at the collector")


def _privacy(console: Console, folder: Path, run: Run) -> None:
    seen = _text(run.value(run.user_input))
    fold(console, Text(f"  the customer wrote:  … {EMAIL} …"))
    fold(console, Text(f"  the store says:      {seen}"), 4)
    files = [path for path in folder.rglob("*") if path.is_file()]
    if any(value in _text(payload) for payload in run.payloads.values() for value in PLANTED):
        raise DemoError("a planted personal value is in the recorded run: this must never happen, please report it")
    leaks = [path.name for path in files for value in PLANTED if value.encode() in path.read_bytes()]
    if leaks:
        raise DemoError(f"a planted personal value is in {leaks[0]}: this must never happen, please report it")
    where = f"looked for in the recorded run and in {len(files)} files: found 0 times"
    fold(console, Text(f"  {len(PLANTED)} planted values (address, phone, card, IP, key), {where}"), 4)


def _text(value: Value) -> str:
    return value if isinstance(value, str) else repr(value)


def _command(console: Console, home: Path, words: Sequence[str], *, expect: int) -> None:
    """Show a command and run it, as the reader would; its exit code is part of what is shown."""
    shown = " ".join(_short(word) for word in words)
    console.print(Text(f"$ runreel {shown}", "cyan"), soft_wrap=True)
    environment = {**os.environ, "RUNREEL_HOME": str(home), **_terminal(console)}
    done = _ran([sys.executable, "-m", "runreel", *words], environment)
    for line in done.stdout.rstrip().splitlines():
        console.print(Text.from_ansi("  " + line), soft_wrap=True)
    if done.returncode != expect:
        raise DemoError(f"`runreel {shown}` ended with {done.returncode}, not {expect}: {_tail(done.stderr)}")


def _terminal(console: Console) -> Mapping[str, str]:
    """Let the commands colour what they print where we print to a terminal: theirs is a pipe."""
    return {"FORCE_COLOR": "1", "COLUMNS": str(console.width - 2)} if console.is_terminal else {}


def _short(word: str) -> str:
    return AGENT.name if word == str(AGENT) else word


def _tail(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _last_line(log: Path) -> str:
    return f"{_tail(log.read_text(encoding='utf-8')).removeprefix('runreel: ')} (log: {log})"


def _next(console: Console, took_s: float) -> None:
    program = _program()
    console.print(Text(f"\nThat took {took_s:.0f} s. Now your own agent:", "bold"))
    for why, *commands in (
        ("the collector, on 127.0.0.1:4317 and :4318, keeping everything in ./.runreel", f"{program} serve"),
        (
            "in the agent's shell: where to, and with content (OpenInference: on already)",
            "export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317",
            "export OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY",
        ),
        ("what was recorded, and what a replay still lacks", f"{program} runs show last"),
        (
            "run it again, frozen, in the agent's own environment (see README, Replay it)",
            "runreel replay last --agent your_agent.py",
        ),
    ):
        console.print(Text(f"  # {why}", "dim"), soft_wrap=True)
        for command in commands:
            console.print(Text(f"  {command}", "cyan"), soft_wrap=True)


def _program() -> str:
    """Return what to type for `runreel`: it may be in an environment that is not on PATH."""
    if shutil.which("runreel"):
        return "runreel"
    here = Path(sys.executable).parent / "runreel"
    return str(here.relative_to(Path.cwd()) if here.is_relative_to(Path.cwd()) else here)
