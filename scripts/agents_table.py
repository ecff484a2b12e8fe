"""Record and replay the agents of examples/agents, each in an environment of its own: `make agents` prints the table.

Every agent is run unmodified against a scripted model server, exports over the network to a collector, and is replayed
frozen where it ran. Nothing leaves this machine but the packages, which pip fetches once into the cache folder.

    python scripts/agents_table.py                           every row; docs/agents.md gets the table
    python scripts/agents_table.py --only pydantic-ai        some rows; the page keeps the others as they are
"""

import argparse
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents_cases import CASES, Case

ROOT = Path(__file__).resolve().parents[1]
AGENTS = ROOT / "examples" / "agents"
PAGE = ROOT / "docs" / "agents.md"
BEGIN, END = "<!-- table: python scripts/agents_table.py -->\n", "<!-- end of table -->"
_PATIENCE_S = 60.0

CONFIG = """\
receivers:
  otlp:
    protocols:
      grpc: {endpoint: "127.0.0.1:0"}
      http: {endpoint: "127.0.0.1:0"}
processors: {schema: , redact: , split: }
exporters: {files: , clickhouse: }
extensions: {read_api: , spool: }
service:
  extensions: [read_api, spool]
  pipelines:
    traces: {receivers: [otlp], processors: [schema, redact, split], exporters: [files, clickhouse]}
    logs: {receivers: [otlp], processors: [schema, redact, split], exporters: [files, clickhouse]}
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What came of one case."""

    case: Case
    recorded: str
    replayed: str
    divergences: int = 0
    live: int = 0
    reason: str = ""

    @property
    def cells(self) -> tuple[object, ...]:
        """Return what the table shows of it."""
        of = (self.case.agent, self.case.instrumentation)
        return *of, self.recorded, self.replayed, self.divergences, self.live, self.reason or "-"

    @property
    def good(self) -> bool:
        """Say whether it replayed the same, with nothing live."""
        return (self.replayed, self.divergences, self.live) == ("same", 0, 0)


def main() -> int:
    """Return 0 where every row replayed as the same, or says why it cannot be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="only rows so named")
    parser.add_argument("--agents", type=Path, default=AGENTS, metavar="DIR", help="where the agents are")
    parser.add_argument("--cache", type=Path, default=ROOT / ".venvs", metavar="DIR", help="keeps the environments")
    args = parser.parse_args()
    cases = [case for case in CASES if all(text in case.name for text in args.only)]
    rows = []
    with (
        tempfile.TemporaryDirectory(prefix="runreel-agents-") as folder,
        Bench(Path(folder), args.agents, args.cache).running() as bench,
    ):
        for case in cases:
            rows.append(row := bench.try_out(case))
            print(" | ".join(map(str, row.cells)), flush=True)
    write(rows)
    return 0 if all(row.good or row.reason for row in rows) else 1


@dataclass(slots=True)
class Bench:
    """A collector and a model server that run, and the environments of the agents."""

    folder: Path
    agents: Path
    cache: Path
    endpoint: str = ""
    model: str = ""
    address: str = ""

    @property
    def home(self) -> Path:
        """Return the collector's data folder."""
        return self.folder / "data"

    @contextlib.contextmanager
    def running(self) -> "Iterator[Bench]":
        """Start both, and end them by their process ids."""
        config = self.folder / "collector.yaml"
        config.write_text(CONFIG, encoding="utf-8")
        serve = [sys.executable, "-m", "runreel", "serve", "--config", str(config), "--home", str(self.home)]
        model = [sys.executable, "-u", str(self.agents / "model_server.py"), "--port", "0"]
        with started(serve, self.folder / "serve.log") as ready, started(model, self.folder / "model.log") as port:
            self.endpoint = f"http://{ready.split(' grpc ')[1].split()[0]}"
            self.model = f"http://127.0.0.1:{port}"
            yield self

    def try_out(self, case: Case) -> Row:
        """Record and replay one agent."""
        python = environment(self.cache, self.agents, case.packages)
        before = self.runs()
        script = [str(self.agents / case.script), *case.arguments]
        with self.server(python, case):
            done = self.run([str(python), *script], case)
        ids = self.new_runs(before)
        if not ids:
            return Row(case, "-", "-", reason=f"nothing of it reads as a run; it said {last_line(done.stderr)}")
        verdict = str(self.json("runs", "show", ids[-1])["replayable"])
        before_replay = self.live()
        command = ["-m", "runreel", "replay", ids[-1], "--home", str(self.home), "--json"]
        replay = self.run([str(python), *command, "--agent", script[0], "--", *script[1:]], case)
        return judged(case, verdict, replay, self.live() - before_replay)

    @contextlib.contextmanager
    def server(self, python: Path, case: Case) -> Iterator[None]:
        """Run the server that a case has beside it, if it has one."""
        if not case.server:
            yield
            return
        script, *words = case.server
        argv = [str(python), "-u", str(self.agents / script), *words]
        with started(argv, self.folder / "server.log", self.settings(case)) as self.address:
            yield

    def settings(self, case: Case) -> dict[str, str]:
        """Return the environment of an agent."""
        settings = {
            "OPENAI_BASE_URL": f"{self.model}/v1",
            "OPENAI_API_KEY": "no-key-needed",
            "ANTHROPIC_BASE_URL": self.model,
            "ANTHROPIC_API_KEY": "no-key-needed",
            "GOOGLE_GEMINI_BASE_URL": self.model,
            "GOOGLE_API_KEY": "no-key-needed",
            "TOOL_CALLS": str(self.tool_calls),
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint,
            "OTEL_EXPORTER_OTLP_INSECURE": "true",
            "LANGSMITH_TRACING": "false",
            "MCP_URL": self.address,
            **case.settings,
        }
        return {**os.environ, **settings}

    def run(self, argv: Sequence[str], case: Case) -> "subprocess.CompletedProcess[str]":
        """Run a command in an agent's environment to its end."""
        env = self.settings(case)
        return subprocess.run(argv, cwd=self.folder, env=env, capture_output=True, text=True, timeout=600, check=False)

    def json(self, *command: str) -> Any:
        """Return what a command says of the recorded runs."""
        argv = [sys.executable, "-m", "runreel", *command, "--home", str(self.home), "--json"]
        return json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)

    def runs(self) -> list[str]:
        """Return the ids of the recorded runs, oldest first."""
        return [one["run_id"] for one in reversed(self.json("runs", "ls"))]

    def new_runs(self, before: Sequence[str]) -> list[str]:
        """Wait for the runs that were not there before."""
        until = time.monotonic() + 10
        while True:
            new = [one for one in self.runs() if one not in before]
            if new or time.monotonic() > until:
                return new
            time.sleep(0.2)

    @property
    def tool_calls(self) -> Path:
        """Return the file in which each tool that runs notes it."""
        return self.folder / "tool-calls"

    def live(self) -> int:
        """Return how often a model was asked or a tool ran so far."""
        with urllib.request.urlopen(f"{self.model}/__log", timeout=10) as response:  # noqa: S310 - it is ours
            asked = len(json.load(response))
        ran = self.tool_calls.read_text(encoding="utf-8").split() if self.tool_calls.exists() else []
        return asked + len(ran)


def judged(case: Case, verdict: str, replay: "subprocess.CompletedProcess[str]", live: int) -> Row:
    """Make the row of a replay that has ended."""
    try:
        said = json.loads(replay.stdout)
    except ValueError:
        said = {}
    if "divergences" not in said:
        replayed = "refused" if replay.returncode == 125 else "failed"
        return Row(case, verdict, replayed, live=live, reason=reason(replay.stderr))
    found = said["divergences"]
    told = [" ".join(str(one[name] or "") for name in ("type", "kind", "name", "path", "reason")) for one in found[:2]]
    return Row(case, verdict, said["verdict"], len(found), live, "; ".join(told))


def reason(stderr: str) -> str:
    """Return what a refusal says, in one line."""
    lines = [line.strip() for line in stderr.splitlines()]
    listed = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    return " ".join(listed or lines[-3:])[:600]


def last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2][:300]


@contextlib.contextmanager
def started(argv: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """Start a program; yield the first line that it prints."""
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors, text=True, env=env)
    assert process.stdout is not None
    try:
        line = process.stdout.readline().strip()
        if not line:
            raise SystemExit(f"{argv[1:4]} did not start: {log.read_text(encoding='utf-8')[-2000:]}")
        yield line
    finally:
        process.terminate()
        process.wait(_PATIENCE_S)
        process.stdout.close()


def environment(cache: Path, agents: Path, name: str) -> Path:
    """Return the Python of an environment, made where its pins are not the ones it was made of."""
    pins = agents / "requirements" / f"{name}.txt"
    folder = cache / name
    mark, wanted = folder / "made-of", hashlib.sha256(pins.read_bytes()).hexdigest()
    python = folder / "bin" / "python"
    if python.exists() and mark.exists() and mark.read_text() == wanted:
        return python
    print(f"making {folder}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", str(pins)], check=True)
    subprocess.run([*pip, "-e", str(ROOT)], check=True)
    mark.write_text(wanted)
    return python


def write(rows: Sequence[Row]) -> None:
    """Put the rows into the table of the page, in the order of the cases; the others' rows stay."""
    names = ("agent", "instrumentation", "recorded", "replayed", "divergences", "live calls", "reason")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    table, _, after = rest.partition(END)
    known = {tuple(line.strip("| ").split(" | ")[:2]): line for line in table.splitlines()[2:]}
    known |= {(row.case.agent, row.case.instrumentation): _line(row.cells) for row in rows}
    ordered = dict.fromkeys([*((case.agent, case.instrumentation) for case in CASES), *known])
    lines = [_line(names), "|---" * len(names) + "|", *(known[one] for one in ordered if one in known)]
    PAGE.write_text(f"{before}{BEGIN}{chr(10).join(lines)}\n{END}{after}", encoding="utf-8")


def _line(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.exit(main())
