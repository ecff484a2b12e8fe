"""The values of goldens: what a folder holds, what was expected, what a check of it came to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from runreel.replay.values import Divergence, Replayed
from runreel.values import Run, SplitBatch, Value

Verdict = Literal["passed", "failed", "stale", "not_comparable"]
EXIT_CODES: Mapping[Verdict, int] = {"passed": 0, "failed": 2, "stale": 125, "not_comparable": 125}


@dataclass(frozen=True, slots=True)
class Settings:
    """How a golden's agent is run again: `agent` and `args` are empty where the record says it."""

    agent: str = ""
    args: tuple[str, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)
    masks: tuple[str, ...] = ()
    timeout_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Golden:
    """A golden, read and checked: `run` is the recorded run, `expect` the lines of what is expected of its replay.

    `failure` says why the recorded run is one that must not come again; empty for a run that was good.
    """

    folder: Path
    run: Run
    batch: SplitBatch = field(repr=False)
    expect: tuple[str, ...] = ()
    settings: Settings = Settings()
    ticket: str = ""
    failure: str = ""

    @property
    def name(self) -> str:
        """Return the golden's name: that of its folder."""
        return self.folder.name


@dataclass(frozen=True, slots=True)
class Check:
    """What became of one expectation. `was` is what was expected, `now` what there was instead: live, not redacted, to
    be shown only as reports show live values; `why` holds no value of a run."""

    expectation: str
    passed: bool
    why: str = ""
    was: Value = field(default=None, repr=False)
    now: Value = field(default=None, repr=False)
    has_now: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What a golden's replay came to.

    `findings` are the divergences that no expectation covers, `notes` those that one does. `reason` says in a sentence
    why the verdict is what it is. `replayed` is None where the replay was refused.
    """

    golden: Golden
    verdict: Verdict
    reason: str = ""
    checks: tuple[Check, ...] = ()
    findings: tuple[Divergence, ...] = ()
    notes: tuple[Divergence, ...] = ()
    replayed: Replayed | None = field(default=None, repr=False)

    @property
    def exit_status(self) -> int:
        """Return what the command line ends with: 0 passed, 2 failed, 125 stale or not comparable."""
        return EXIT_CODES[self.verdict]
