"""The pytest plugin: each folder in `goldens/` is a test; a marker and a fixture for tests written by hand.

It is loaded in every session of a project that has RunReel installed, so it imports nothing of RunReel until a golden
is run: not even to collect them.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from runreel.goldens.values import Result

_HEAD = "golden.json"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and the settings."""
    group = parser.getgroup("runreel", "goldens: recorded runs as tests")
    group.addoption(
        "--runreel-update",
        action="store_true",
        help="put replays that do what is expected in the place of their records; then look at git diff",
    )
    group.addoption(
        "--runreel-stale",
        choices=["skip", "fail"],
        help="what a golden is whose prompt, tools or model changed (default: skip, and said at the end)",
    )
    parser.addini("runreel_stale", "what a stale golden is: skip or fail", default="skip")
    parser.addini("runreel_goldens", "name of the folders whose folders are goldens", default="goldens")


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line("markers", "runreel_golden(name): the golden that the fixture runreel_golden replays")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "GoldenFile | None":
    """Collect `goldens/NAME/golden.json`."""
    if file_path.name != _HEAD or file_path.parent.parent.name != parent.config.getini("runreel_goldens"):
        return None
    return GoldenFile.from_parent(parent, path=file_path)


class GoldenFile(pytest.File):
    """A golden's folder."""

    def collect(self) -> Iterator["GoldenItem"]:
        """Yield its one test."""
        yield GoldenItem.from_parent(self, name=self.path.parent.name)


class GoldenItem(pytest.Item):
    """The replay of one golden, and what is expected of it."""

    def runtest(self) -> None:
        """Replay it. Raises GoldenFailed where it failed; stale ones are skipped, and listed at the end."""
        from runreel.goldens import running

        result = running.run(self.path.parent, **_streams(self.config))
        _settle(self, result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:  # noqa: ARG002
        """Say what a person needs. Frames and the text of an unexpected error may quote a run."""
        from runreel.errors import RunReelError
        from runreel.text import printable

        error = excinfo.value
        if isinstance(error, GoldenFailed | pytest.skip.Exception):
            return str(error)
        if isinstance(error, RunReelError):
            return printable(f"golden {self.name}: {error}")
        return (
            f"golden {self.name}: unexpected error, please report it: {excinfo.typename} at {excinfo.traceback[-1]!r}"
        )

    def reportinfo(self) -> tuple[Path, None, str]:
        """Name the test."""
        return self.path, None, f"golden {self.name}"


class GoldenFailed(Exception):  # noqa: N818  pytest shows the name
    """A golden did not do what is expected of it. The text is the report: no live value stands in it unredacted."""


@pytest.fixture
def runreel_golden(request: pytest.FixtureRequest) -> "Callable[..., Result]":
    """Replay a golden: call it with the golden's name, or without one under the marker `runreel_golden(name)`.

    It returns the result, whatever it is: `verdict` is passed, failed, stale or not_comparable, `replayed.run` the run
    as it recorded itself, `findings` what diverged.
    """

    def run(name: str = "") -> "Result":
        from runreel.errors import UsageError
        from runreel.goldens import folder, running

        marker = request.node.get_closest_marker("runreel_golden")
        wanted = name or (str(marker.args[0]) if marker is not None and marker.args else "")
        if not wanted:
            raise UsageError(
                "name the golden: runreel_golden('NAME'), or mark the test @pytest.mark.runreel_golden('NAME')"
            )
        result = running.run(folder.named(_root(request), wanted), **_streams(request.config))
        request.node.user_properties.extend(_properties(result))
        return result

    return run


def _root(request: pytest.FixtureRequest) -> Path:
    """Return the nearest folder of goldens, from the test's own folder up to that of the session."""
    name, top = str(request.config.getini("runreel_goldens")), request.config.rootpath
    for place in (request.path.parent, *request.path.parent.parents):
        if (place / name).is_dir() or place == top:
            return place / name
    return top / name


def _streams(config: pytest.Config) -> dict[str, Any]:
    """What the agent prints is not redacted, and pytest keeps what it captures: only with `-s` is it let through."""
    from runreel.goldens.running import QUIET

    return {} if config.getoption("capture") == "no" else {"stdout": QUIET, "stderr": QUIET}


def _settle(item: GoldenItem, result: "Result") -> None:
    """Make of a golden's verdict what pytest knows: passed, failed, skipped."""
    from runreel.goldens import report, running

    item.user_properties.extend(_properties(result))
    if result.verdict == "passed" and not result.notes:
        return
    text = "\n".join(report.lines(result, running.cleaner()))
    if item.config.getoption("runreel_update") and result.verdict in ("passed", "failed") and _updated(item, result):
        pytest.skip(f"updated: look at git diff {item.path.parent}")
    if result.verdict == "passed":
        return
    wanted = item.config.getoption("runreel_stale") or item.config.getini("runreel_stale")
    if result.verdict == "stale" and wanted == "skip":
        pytest.skip(f"stale: {result.reason}")
    raise GoldenFailed(text)


def _updated(item: GoldenItem, result: "Result") -> bool:
    """Put the replay in the place of the record. What does not do what is expected is not put there, and fails."""
    from runreel.goldens import folder, promote, running

    if any(not check.passed for check in result.checks):
        return False
    redact = running.redactor(Path(os.environ.get("RUNREEL_HOME") or item.config.rootpath / ".runreel"))
    folder.write(promote.renewed(result.golden, promote.replayed_reel(result, redact)))
    return True


def _properties(result: "Result") -> Iterator[tuple[str, object]]:
    """Yield what a JUnit file says of a golden beside its result."""
    yield "runreel.golden", result.golden.name
    yield "runreel.verdict", result.verdict
    yield "runreel.run_id", result.golden.run.run_id
    if result.golden.ticket:
        yield "runreel.ticket", result.golden.ticket
    if result.findings:
        yield "runreel.first_divergence", result.findings[0].type


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List stale goldens, and tell GitHub Actions, which reads its output, where each golden is that did not pass."""
    stale, annotations = [], []
    reports = (one for some in terminalreporter.stats.values() for one in some)
    for report in (one for one in reports if isinstance(one, pytest.TestReport)):
        if report.when != "call" or not report.location[0].endswith(_HEAD):
            continue
        properties = dict(report.user_properties)
        if properties.get("runreel.verdict") == "stale":
            stale.append(f"{properties['runreel.golden']}: {_reason(report)}")
            annotations.append(_annotation("warning", report))
        elif report.failed:
            annotations.append(_annotation("error", report))
    if stale:
        terminalreporter.section("stale goldens: neither passed nor failed", yellow=True)
    for line in [*sorted(stale), *(annotations if os.environ.get("GITHUB_ACTIONS") == "true" else ())]:
        terminalreporter.write_line(line)


def _annotation(level: str, report: Any) -> str:
    said = _reason(report).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    place, _, title = report.location
    return f"::{level} file={place},title={title}::{said}"


def _reason(report: Any) -> str:
    """Return what a golden's report says: why it was skipped, or what failed."""
    found = report.longrepr
    return str(found[2] if isinstance(found, tuple) else found).removeprefix("Skipped: stale: ")
