"""How long a headless Chromium takes until the document of a page is ready."""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from runreel.demo.model_server import in_thread

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_LIMIT_S = 120.0

# Loads the pages in turn, each in a frame of its own, and writes the times down. A frame that is put in before the one
# before has told that it is there keeps the whole document loading, which is what `--dump-dom` waits for.
_WATCH = """<!doctype html><meta charset=utf-8><title>watch</title><body><script>
const names = NAMES, rounds = ROUNDS, times = [];
let number = 0;
function next() {
  if (number === names.length * rounds) { document.body.textContent = "TIMES" + JSON.stringify(times) + "END"; return; }
  const frame = document.createElement("iframe"), name = names[number % names.length];
  frame.style = "width:1200px;height:800px";
  frame.onload = () => {
    const told = frame.contentWindow.performance.getEntriesByType("navigation")[0];
    times.push([name, told.domContentLoadedEventEnd]);
    number += 1;
    next();
    frame.remove();
  };
  frame.src = "/" + name + "?" + number;
  document.body.append(frame);
}
next();
</script>"""


def chromium() -> str | None:
    """Return the path of a Chromium; None where there is none."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


def ready_ms(browser: str, pages: Mapping[str, str], rounds: int) -> Mapping[str, list[float]]:
    """Return, by page, the milliseconds from the start of its navigation to the end of its DOMContentLoaded, round by
    round. Raises RuntimeError where the browser tells none."""
    watch = _WATCH.replace("NAMES", json.dumps(list(pages)), 1).replace("ROUNDS", str(rounds), 1)
    with in_thread(_Pages({"watch": watch, **pages})) as server:
        dumped = _dump(browser, f"http://127.0.0.1:{server.server_address[1]}/watch")
    told = re.search(r"TIMES(\[.*\])END", dumped)
    if told is None:
        raise RuntimeError("the browser did not say how long its pages took")
    found: dict[str, list[float]] = {name: [] for name in pages}
    for name, time_ms in json.loads(told[1]):
        found[name].append(time_ms)
    return found


def _dump(browser: str, url: str) -> str:
    with tempfile.TemporaryDirectory(prefix="runreel-bench-") as profile:
        # In a container there is no sandbox for it to be had; the pages are our own.
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
        done = subprocess.run(
            [*command, "--no-first-run", "--disable-extensions", "--dump-dom", url],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    return done.stdout


class _Pages(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, pages: Mapping[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.pages = pages


class _Answer(BaseHTTPRequestHandler):
    server: _Pages

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        page = self.server.pages.get(self.path.strip("/").partition("?")[0])
        body = (page or "").encode()
        self.send_response(200 if page is not None else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
