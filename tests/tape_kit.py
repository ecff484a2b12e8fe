"""Tapes made by hand: entries, calls, and a matcher over them."""

from runreel.canonical import make_token
from runreel.replay.matching import Matcher
from runreel.replay.tape import Tape
from runreel.replay.unifying import Call, Rules
from runreel.replay.values import Divergence, Entry, Raised, Returned
from runreel.semconv.secrets import is_secret
from runreel.values import Run

RUN = Run("default", "r" * 32, "", (), "agent")
KEY = b"k" * 32
EMAIL = "dana.fields@example.com"
TOKEN = make_token(KEY, "EMAIL", EMAIL)


def tool(seq, name, request, answer, after=(), call_id="", **rest):
    given = answer if isinstance(answer, (Returned, Raised)) else Returned(answer)
    return Entry(seq, "tool", name, request, given, after=frozenset(after), call_id=call_id, **rest)


def model(seq, messages, answer=(), after=(), **request):
    asked = {"model": "m", "messages": messages, "tools": None, "params": {}, **request}
    return Entry(seq, "llm", "m", asked, Returned(answer), after=frozenset(after))


def text(role, content):
    return {"role": role, "parts": ({"type": "text", "content": content},)}


def ask_model(messages, **request):
    return Call("llm", "m", {"model": "m", "messages": messages, "tools": (), "params": {}, **request})


def matcher(*entries, key=None, **rest):
    return Matcher(Tape(RUN, entries), Rules(key, is_secret), **rest)


def with_result(call_id, response):
    parts = ({"type": "tool_call_response", "id": call_id, "response": response},)
    return ({"role": "tool", "parts": parts},)


def types(found: tuple[tuple[Divergence, ...], int]) -> list[str]:
    """Return the kinds of the divergences that a matcher ended with."""
    return [one.type for one in found[0]]
