"""Run goldens: replay each in its project's folder, and judge it."""

import importlib.util
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import IO

from runreel.errors import NotFoundError, ReplayError, RunReelError, UsageError
from runreel.goldens import expect, folder, judges, verdict
from runreel.goldens.values import Golden, Result
from runreel.replay.cleaning import Clean
from runreel.replay.engine import replay
from runreel.replay.outcome import Redact
from runreel.values import DEFAULT_TENANT

Stream = int | IO[bytes] | None
QUIET: Stream = subprocess.DEVNULL


def run(place: Path, *, stdout: Stream = None, stderr: Stream = None, redact: Redact | None = None) -> Result:
    """Replay the golden in a folder and judge it. What the agent prints is stored nowhere.

    Raises:
        NotFoundError, CorruptError, StoreError: the golden cannot be read.
        UsageError: an expectation is none.
        RefusedError, EntryPointError, SandboxError, ReplayError: the agent or a judge cannot be run.
    """
    return run_golden(folder.read(place), stdout=stdout, stderr=stderr, redact=redact)


def run_golden(golden: Golden, *, stdout: Stream = None, stderr: Stream = None, redact: Redact | None = None) -> Result:
    """Replay a golden that has been read; see `run`."""
    expectations = [expect.parse(line) for line in golden.expect]
    project = project_of(golden.folder)
    settings = golden.settings
    replayed = replay(
        golden.run,
        settings.agent or None,
        args=settings.args,
        tools=settings.tools,
        # A changed call that an expectation speaks of goes on with the answer that it can have meant.
        on_divergence="continue",
        masks=settings.masks,
        cwd=project,
        timeout_s=settings.timeout_s,
        stdout=stdout,
        stderr=stderr,
        redact=redact,
    )
    return verdict.judge(golden, replayed, expectations, judges.judge_in(project))


def project_of(place: Path) -> Path:
    """Return the folder that a golden's agent is run in: the one that holds the folder of goldens."""
    return place.absolute().parent.parent


def trouble(error: RunReelError) -> str:
    """Return in a word what an error of a golden is: it is broken, missing, or its replay is refused."""
    if is_not_comparable(error):
        return "not comparable"
    return "missing" if isinstance(error, NotFoundError) else "broken"


def is_not_comparable(error: RunReelError) -> bool:
    """Say whether an error of a golden's is its agent's: it was refused, does not import, or broke down at once. The
    golden itself is whole: for `git bisect` such a commit is none to judge by."""
    return isinstance(error, ReplayError)


def cleaner() -> Clean | None:
    """Return what redacts live texts for a report, where detectors are installed; else they are told by their length.

    Its tokens are nobody's: they only stand where something was.
    """
    if importlib.util.find_spec("presidio_analyzer") is None:
        return None

    @cache
    def redactor() -> Callable[[str], str]:
        import secrets

        from runreel.processors.redact import Redactor, TenantKey

        return Redactor(TenantKey("shown", secrets.token_bytes(32))).text  # takes seconds: only for what is shown

    def clean(text: str) -> str:
        try:
            return redactor()(text)
        except Exception:  # noqa: BLE001 - a detector may raise anything; what it could not redact is not shown
            return "(withheld: it could not be redacted)"

    return clean


def redactor(home: Path) -> Redact:
    """Return what redacts what a replay records of itself, with the tenant's key: only so may it be shown, or kept.

    Raises UsageError where the detectors are not installed.
    """
    if importlib.util.find_spec("presidio_analyzer") is None:
        raise UsageError("what an agent did in a replay must be redacted first: pip install 'runreel[collector]'")
    from runreel.processors.redact import Redactor, load_key
    from runreel.processors.schema import Schema

    made = Redactor(load_key(home, DEFAULT_TENANT))
    return lambda batch: made.process(Schema().process(batch))
