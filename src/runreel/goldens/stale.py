"""Tell what changed in what a model is asked: where it is prompt, tools, model or parameters, a golden is stale.

The recorded answers then no longer belong to what is asked: a replay can neither pass nor fail.
"""

from collections.abc import Mapping
from typing import Final

from runreel.replay.values import Divergence, Replayed
from runreel.replay.wire import forms
from runreel.values import Run, Value

_FIELDS: Final[Mapping[str, str]] = {"model": "model", "tools": "tools", "params": "parameters"}
_PROMPT_ROLES: Final = ("system", "developer")


def changed(found: Divergence, recorded: Run, replayed: Replayed) -> str:
    """Name what of a model's request changed: `prompt`, `tools`, `model`, `parameters`; empty for anything else."""
    if found.kind != "llm" or found.type not in ("input_mismatch", "unrecorded_call"):
        return ""
    seq, path = found.recorded, found.path
    if found.type == "unrecorded_call":
        # One that was answered later was not changed: this call came beside it.
        near = next((one for one in found.nearest if not one.answered and one.seq not in replayed.coverage), None)
        seq, path = (near.seq, near.path) if near is not None else (None, "")
    _, _, rest = path.partition("/")
    field, _, below = rest.partition("/")
    if field in _FIELDS:
        return _FIELDS[field]
    if field != "messages" or seq is None:
        return ""
    return "prompt" if _is_prompt(below, found, _messages(recorded, seq, replayed)) else ""


def may_be_prompt(found: Divergence, recorded: Run, replayed: Replayed) -> bool:
    """Say whether a message of the user's is what differs: a template that was edited looks as data that went wrong do.

    So it fails: a bug that puts a wrong value into a message must not pass for an edited prompt.
    """
    if found.kind != "llm" or found.type != "input_mismatch" or found.recorded is None:
        return False
    _, field, index, *_ = [*found.path.split("/"), "", ""]
    messages = _messages(recorded, found.recorded, replayed)
    if field != "messages" or not index.isdecimal() or not isinstance(messages, tuple) or int(index) >= len(messages):
        return False
    message = messages[int(index)]
    return isinstance(message, Mapping) and message.get("role") == "user"


def _is_prompt(below: str, found: Divergence, messages: Value) -> bool:
    """Say whether a difference in messages is one of what the system says to the model."""
    index, _, inner = below.partition("/")
    if index.isdecimal() and isinstance(messages, tuple) and int(index) < len(messages):
        message = messages[int(index)]
        if isinstance(message, Mapping) and message.get("role") in _PROMPT_ROLES:
            return True
    if inner == "role":
        return found.was in _PROMPT_ROLES or found.now in _PROMPT_ROLES
    # A message of the system more, or less: the whole of it, or of the list, is what differs.
    return _system(found.was) != _system(found.now)


def _messages(recorded: Run, seq: int, replayed: Replayed) -> Value:
    """Return the recorded messages in the turns that the live request was compared in."""
    step = next((step for step in recorded.steps if step.seq == seq), None)
    if step is None:
        return ()
    via = replayed.coverage.get(seq, "")
    said = recorded.value(step.input)
    return forms.in_turns(via.removeprefix("wire "), said) if via.startswith("wire ") else said


def _system(value: Value) -> list[Value]:
    listed = value if isinstance(value, tuple) else (value,)
    return [one for one in listed if isinstance(one, Mapping) and one.get("role") in _PROMPT_ROLES]
