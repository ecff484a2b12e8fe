"""What a replay puts under the recorder: the boundary that answers in place of tools, models, indexes and memories."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from runreel.values import Value

CallKind = Literal["tool", "retrieval", "memory", "llm"]


class Boundary(Protocol):
    """Answers calls from the record. Thread-safe; must not block on other calls."""

    def call(
        self,
        kind: CallKind,
        name: str,
        arguments: Mapping[str, Value],
        call_id: str,
        *,
        contract: str = "",
        known: Mapping[str, Value] | None = None,
    ) -> Value:
        """Return what the recorded call returned (`convert.rebuild` of the step), or raise the recorded exception.

        `arguments` are those that were passed, by the parameter's name; of a retrieval `query`, and `top_k` and
        `filters` where they were passed; of a memory `op` and `arguments`; of a model `model`, `messages`, `tools` and
        `params`. They are live and not redacted. `call_id` is "" where it is not known,
        `contract` what a tool's contract says of the call now (admit, coerce, reject), "" where it has none; `known`
        what the code itself says of the answer now: of a prompt `text` and `version`, as far as it does.
        """
        ...


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a replayed run is: an id of its own, the run that it replays, and that run's seed where it had one."""

    run_id: str
    of_run: str
    seed: int | None = None


# Set in the agent's process before the agent starts, and never unset.
current: Boundary | None = None
identity: Identity | None = None
