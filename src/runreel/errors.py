"""The error tree; nothing else.

RunReelError
├── UsageError
├── ConfigError
├── DecodeError
├── ConsumeError
│   ├── RetryableError
│   └── PermanentError
├── StoreError
│   ├── NotFoundError
│   ├── CorruptError
│   └── LockedError
└── ReplayError
    ├── RefusedError
    ├── EntryPointError
    ├── SandboxError
    └── DivergedError

A message names the value, the place and what to do. It never holds payload text: what is not redacted yet must not
reach a log. `exit_code` is what the command line ends with (DESIGN section 15).
"""

from collections.abc import Sequence
from typing import ClassVar


class RunReelError(Exception):
    """Anything that RunReel raises on purpose."""

    exit_code: ClassVar[int] = 1


class UsageError(RunReelError):
    """The command line asks for something that is not there or makes no sense."""

    exit_code = 64


class ConfigError(RunReelError):
    """A configuration with problems: all of them at once, each with its path and line."""

    exit_code = 64

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source = source
        self.problems = tuple(problems)
        listed = "\n".join(f"  - {problem}" for problem in self.problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__(f"{source}: {count}\n{listed}")


class DecodeError(RunReelError):
    """A request that is not OTLP, or too large.

    Attributes:
        code: `malformed`, `wrong_path`, `unsupported_media_type`, `unsupported_encoding` or `too_large`.
    """

    def __init__(self, message: str, code: str = "malformed") -> None:
        self.code = code
        super().__init__(message)


class ConsumeError(RunReelError):
    """The only kind that may leave an exporter."""


class RetryableError(ConsumeError):
    """The same batch may be sent again after `retry_after_s` seconds."""

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class PermanentError(ConsumeError):
    """The same batch would fail again."""


class StoreError(RunReelError):
    """A store cannot be read or opened."""


class NotFoundError(StoreError):
    """No run, part or object of that name."""


class CorruptError(StoreError):
    """Stored bytes do not have the hash they are stored under."""


class LockedError(StoreError):
    """Another process holds the embedded store."""


class ReplayError(RunReelError):
    """A replay cannot be done, or found what was not recorded."""


class RefusedError(ReplayError):
    """Not comparable: the replay was refused before the agent started."""

    exit_code = 125


class EntryPointError(ReplayError):
    """The agent's entry point does not import, or is no callable or script."""

    exit_code = 64


class SandboxError(RefusedError):
    """The kernel offers no wall strong enough to replay behind."""


class DivergedError(ReplayError):
    """Raised in the agent's code where it asks for what was not recorded."""

    exit_code = 2
