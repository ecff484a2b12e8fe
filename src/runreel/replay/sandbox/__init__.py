"""The sandbox of a replay: the kernel, not a flag, keeps the agent off the network, and says what it tried.

`Sandbox().start(argv, env=scrub(os.environ))` runs a program; `merge(sandboxed.attempts, reports)` puts together what
the kernel and the child itself (`audit.install`) report. docs/sandbox.md says what it stops and what it does not.
"""

from runreel.replay.sandbox.environment import scrub
from runreel.replay.sandbox.findings import Attempt, Merged, NetworkAttempt, merge
from runreel.replay.sandbox.launch import Isolation, Sandbox, Sandboxed, probe

__all__ = ["Attempt", "Isolation", "Merged", "NetworkAttempt", "Sandbox", "Sandboxed", "merge", "probe", "scrub"]
