"""Compare a live call with a recorded one, by unification: what both say must be equal, tokens aside.

Only what the record holds can be compared. Parameters that instrumentations are known to record, but did not, count as
not given; what else a live request has more than its record is listed as not compared.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from runreel.canonical import TOKEN_RE, Bindings, Mismatch, canonical, unify
from runreel.replay.values import Entry
from runreel.replay.wire import forms
from runreel.values import Kind, Value

_QUERY_NAMES = ("query", "question", "text", "q")

RECORDED_PARAMS = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "max_tokens",
        "seed",
        "stop",
        "frequency_penalty",
        "presence_penalty",
        "n",
    }
)
"""Parameters that every instrumentation which records any of them records when they are given."""


_NO_PARAMS = frozenset({"stream", "stream_options"})
"""How an answer travels, not what is asked; some instrumentations list it among the parameters."""


@dataclass(frozen=True, slots=True)
class Call:
    """A live call. `request` has the form of `Entry.request`; `defaults` are the tool's declared defaults, `api` the
    protocol that a model was asked over."""

    kind: Kind
    name: str
    request: Value
    call_id: str = ""
    defaults: Mapping[str, Value] | None = None
    api: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """How values unify: the tenant's key (None: tokens are bound unproved), and what a secret's rule matches."""

    key: bytes | None
    secret: Callable[[str, str], bool]
    served: frozenset[str] = frozenset()

    def unify(self, recorded: Value, live: Value, bindings: Bindings) -> Bindings | Mismatch:
        return unify(recorded, live, bindings, key=self.key, served=self.served, secret=self.secret)


def possible(entry: Entry, call: Call) -> bool:
    """Say cheaply whether a comparison can succeed: in a long run nearly all model calls differ in length alone."""
    return call.kind != "llm" or _turns(entry.request, call.api) == _turns(call.request, call.api)


def _turns(request: Value, api: str) -> int:
    messages = forms.in_turns(api, request.get("messages")) if isinstance(request, Mapping) else None
    return len(messages) if isinstance(messages, tuple) else 0


def compare(entry: Entry, call: Call, bindings: Bindings, rules: Rules) -> Bindings | Mismatch:
    """Return the bindings under which the recorded and the live call are the same, or their first difference."""
    if call.kind == "llm":
        return _compare_fields(_model_fields(entry.request, call.request, call.api), bindings, rules)
    if call.kind == "retrieval":
        live = _retrieval(call.request)
        recorded = entry.request if isinstance(entry.request, Mapping) else {"query": entry.request}
        shared = [
            name for name in ("query", "top_k", "filters") if name == "query" or (name in recorded and name in live)
        ]
        return _compare_fields({name: (recorded.get(name), live.get(name)) for name in shared}, bindings, rules)
    return rules.unify(*without_defaults(entry.request, call.request, call.defaults or {}), bindings)


def not_compared(entry: Entry, call: Call) -> tuple[str, ...]:
    """Name what a live model request says and its record does not: neither equal nor different."""
    if call.kind != "llm" or not isinstance(call.request, Mapping) or not isinstance(entry.request, Mapping):
        return ()
    recorded, live = _params(entry.request), _params(call.request)
    names = [name for name in live if name not in recorded and not _is_recorded(name, recorded)]
    tools = ["tools"] if entry.request.get("tools") is None and call.request.get("tools") else []
    said = forms.messages(call.api, entry.request.get("messages"), call.request.get("messages")).skipped
    defined = forms.definitions(call.api, entry.request.get("tools"), call.request.get("tools")).skipped
    inside = [*(f"{name} in messages" for name in sorted(said)), *(f"{name} of tools" for name in sorted(defined))]
    return (*tools, *sorted(names), *inside)


def _compare_fields(fields: Mapping[str, tuple[Value, Value]], bindings: Bindings, rules: Rules) -> Bindings | Mismatch:
    found: Bindings | Mismatch = bindings
    for name, (recorded, live) in fields.items():
        assert isinstance(found, Bindings)
        found = rules.unify(recorded, live, found)
        if isinstance(found, Mismatch):
            return replace(found, path=f"/{name}{found.path}")
    return found


def _model_fields(recorded: Value, live: Value, api: str) -> dict[str, tuple[Value, Value]]:
    """Pair the fields of two model requests, the weightiest first: what differs first is what is reported first."""
    assert isinstance(recorded, Mapping)
    assert isinstance(live, Mapping)
    pairs: dict[str, tuple[Value, Value]] = {}
    if recorded.get("model"):
        pairs["model"] = forms.model(api, recorded["model"]), forms.model(api, live.get("model"))
    said = forms.messages(api, recorded.get("messages"), live.get("messages"))
    pairs["messages"] = said.recorded, said.live
    if recorded.get("tools") is not None:
        defined = forms.definitions(api, recorded["tools"], live.get("tools") or ())
        pairs["tools"] = defined.recorded, defined.live
    before, now = _params(recorded), _params(live)
    now = {name: value for name, value in now.items() if name in before or _is_recorded(name, before)}
    pairs["params"] = before, now
    return pairs


def _params(request: Mapping[str, Value]) -> Mapping[str, Value]:
    params = request.get("params")
    given = params if isinstance(params, Mapping) else {}
    return {name: value for name, value in given.items() if name not in _NO_PARAMS and (name, value) != ("n", 1)}


def _is_recorded(name: str, recorded: Mapping[str, Value]) -> bool:
    """Say whether a parameter would be in the record if it had been given."""
    return name in RECORDED_PARAMS and not RECORDED_PARAMS.isdisjoint(recorded)


def comparable(messages: Value) -> Value:
    """Return messages without what instrumentations differ in: empty text parts, and who answers with no name."""
    return forms.in_turns("", messages)


def without_defaults(recorded: Value, live: Value, defaults: Mapping[str, Value]) -> tuple[Value, Value]:
    """Leave out arguments that stand at their declared default on one side and are absent on the other."""
    if not isinstance(recorded, Mapping) or not isinstance(live, Mapping):
        return recorded, live

    def kept(here: Mapping[str, Value], there: Mapping[str, Value]) -> dict[str, Value]:
        return {
            name: value
            for name, value in here.items()
            if name in there or name not in defaults or canonical(value) != canonical(defaults[name])
        }

    return kept(recorded, live), kept(live, recorded)


def _retrieval(arguments: Value) -> Mapping[str, Value]:
    """Return a live retrieval's arguments by the record's names, from whatever the function calls its query."""
    if not isinstance(arguments, Mapping):
        return {"query": arguments}
    name = next((name for name in _QUERY_NAMES if name in arguments), next(iter(arguments), "query"))
    return {**arguments, "query": arguments.get(name)}


def tokens_in(value: Value) -> frozenset[str]:
    """Return the tokens in every string of a value, in names as well."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found |= {match.group() for match in TOKEN_RE.finditer(item)}
        elif isinstance(item, Mapping):
            waiting += [*item, *item.values()]
        elif isinstance(item, tuple):
            waiting += item
    return frozenset(found)
