"""The five files of docs/architecture.md are the way of a request: each calls the next, seen while one is stored."""

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = ROOT / "tests/data/captures/otel-genai-openai/content-span/001-traces.bin"
# Runs `serve` under a profiler that notes which file of ours calls which, posts one request, and stops it by signal.
SCRIPT = """
import json, os, signal, sys, threading, time, urllib.request
from pathlib import Path

import runreel
from runreel.runs import discovery

home, capture, root = Path(sys.argv[1]), Path(sys.argv[2]), str(Path(runreel.__file__).parent) + os.sep
edges = set()


def note(frame, event, _):
    if event != "call" or not frame.f_code.co_filename.startswith(root):
        return
    caller = frame.f_back
    while caller is not None and not caller.f_code.co_filename.startswith(root):
        caller = caller.f_back
    if caller is not None:
        edges.add((caller.f_code.co_filename[len(root):], frame.f_code.co_filename[len(root):]))


def post():
    deadline = time.monotonic() + 60
    while (found := discovery.find(home, say=lambda _: None)) is None and time.monotonic() < deadline:
        time.sleep(0.05)
    kind = {"Content-Type": "application/x-protobuf"}
    urllib.request.urlopen(urllib.request.Request(found.otlp_http + "/v1/traces", capture.read_bytes(), kind)).read()
    os.kill(os.getpid(), signal.SIGTERM)


from runreel.cli import main
from runreel.demo.walk import CONFIG

home.mkdir()
(home / "config.yaml").write_text(CONFIG)
threading.Thread(target=post, daemon=True).start()
threading.setprofile(note)
sys.setprofile(note)
code = main(["serve", "--config", str(home / "config.yaml"), "--home", str(home)])
sys.setprofile(None)
print(json.dumps(sorted(edges)))
sys.exit(code)
"""


def test_the_five_files_exist_and_call_each_other_in_the_order_of_the_page(tmp_path: Path) -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    files = re.findall(r"^\d\. `src/runreel/([\w/]+\.py)`", page, re.MULTILINE)
    assert len(files) == 5
    assert all((ROOT / "src/runreel" / file).is_file() for file in files)

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "home"), str(CAPTURE)],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    edges = {tuple(edge) for edge in json.loads(done.stdout.splitlines()[-1])}
    assert [pair for pair in pairwise(files) if pair not in edges] == []
