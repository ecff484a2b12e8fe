"""Goldens judged without a process: the calls that an agent makes are given to the tape by hand."""

from runreel.goldens import verdict
from runreel.goldens.expect import parse
from runreel.replay import tape
from runreel.replay.matching import Matcher
from runreel.replay.unifying import Call, Rules
from runreel.replay.values import Replayed
from runreel.semconv.secrets import is_secret


def asked(entry, **changes):
    """Return the call of an agent that does what it did, but for changes of a model's request."""
    request = entry.request
    if entry.kind == "llm":
        request = {name: held for name, held in request.items() if name != "model_is_served"} | changes
        return Call("llm", str(request["model"]), request, api="openai.chat", via="wire openai.chat")
    return Call(entry.kind, entry.name, request, entry.call_id, via="recorder")


def judged(golden, entries, calls, *lines):
    """Judge a golden whose record holds these entries, with an agent that makes these calls."""
    matcher = Matcher(tape.Tape(golden.run, tuple(entries)), Rules(None, is_secret), "continue")
    for call in calls:
        matcher.ask(call)
    divergences, _ = matcher.finish(stopped=False)
    what = "diverged" if any(one.fails for one in divergences) else "same"
    replayed = Replayed("r", "frozen", what, divergences, coverage=dict(matcher.coverage), run=golden.run)
    return verdict.judge(golden, replayed, [parse(line) for line in lines], lambda *_: "")
