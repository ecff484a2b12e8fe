"""Says of tokens that broke a parser in the agent's code where they came from, and what to do."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from runreel.canonical import SECRET_RE, TOKEN_RE, dumps
from runreel.replay.cleaning import mask
from runreel.replay.tape import Tape
from runreel.replay.values import Divergence, Entry, Raised
from runreel.semconv.secrets import strip_secrets
from runreel.values import Run

_PLACE = re.compile(r'File "([^"\n]+)", line (\d+), in (\S+)\n(.*)')
_MAY_BE_PERSONAL = re.compile(r"\w@\w|[0-9]{6}")  # in code: an address or number that somebody has written into it
ADVICE = (
    "the value was redacted when it was recorded. Record it as it is, with class `keep` for that tool, attribute or "
    "pointer (processors::redact::classes), or parse it in the tool, before the boundary, and return what was read"
)


def giver(tape: Tape, token: str, answered: Sequence[int]) -> Entry | None:
    """Return the entry whose answer gave the agent a token: of several the one that was answered last."""
    order = {seq: place for place, seq in enumerate(answered)}
    gave = [
        entry
        for entry in tape.entries
        if entry.seq in order and not isinstance(entry.answer, Raised) and token in dumps(entry.answer.value)
    ]
    return max(gave, key=lambda entry: order[entry.seq], default=None)


def sentence(facts: Mapping[str, Any], gave: Entry | None) -> str:
    """Say which token broke which parser, and where."""
    source = str(facts["expression"])
    expression = mask(source) if _MAY_BE_PERSONAL.search(source) else strip_secrets(source)
    where = f"{Path(str(facts['file'])).name}:{facts['line']}, in {facts['function']}"
    came = f"; {gave.title()} gave it" if gave else ""
    return f"`{expression}` ({where}) raised {facts['error_type']}: it was given {facts['token']}, a token{came}"


def divergence(tape: Tape, facts: Mapping[str, Any], answered: Sequence[int]) -> Divergence:
    """Return what an agent that ended on a token diverged by: at the step that gave it."""
    gave = giver(tape, str(facts["token"]), answered)
    return Divergence(
        "output_mismatch",
        kind=gave.kind if gave else "other",
        name=gave.name if gave else "",
        recorded=gave.seq if gave else None,
        reason=sentence(facts, gave),
        advice=ADVICE,
    )


def recorded_errors(run: Run | None) -> Iterator[Mapping[str, Any]]:
    """Yield what the replay's own spans say of exceptions about tokens: those that the agent's libraries caught and
    recorded are seen so under every Python."""
    for step in run.steps if run is not None else ():
        if step.error is None:
            continue
        found = TOKEN_RE.search(step.error.message) or SECRET_RE.search(step.error.message)
        places = _PLACE.findall(step.error.stack)
        if found and places:
            file, line, function, source = places[-1]
            yield {
                "token": found[0],
                "expression": source.strip(),
                "file": file,
                "line": int(line),
                "function": function,
                "error_type": step.error.type,
            }


def notes(tape: Tape, told: Sequence[Mapping[str, Any]], answered: Sequence[int]) -> list[str]:
    """Return a note for each token that broke a parser whose exception the agent caught."""
    return [
        f"{sentence(facts, giver(tape, str(facts['token']), answered))}. The agent caught it; {ADVICE}"
        for facts in told
    ]
