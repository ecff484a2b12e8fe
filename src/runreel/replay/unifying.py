"""Compare a live call with a recorded one, by unification: what both say must be equal, tokens aside.

Only what the record holds can be compared. What its instrumentation is known to record, but did not, counts as not
given; what else a live request has more than its record is listed as not compared.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from runreel.canonical import TOKEN_RE, Bindings, Mismatch, canonical, surely_equal, unify
from runreel.canonical.match import Keys
from runreel.replay import params
from runreel.replay.drawn import Trial
from runreel.replay.masks import Mask
from runreel.replay.values import Entry
from runreel.replay.wire import forms, openai_chat
from runreel.values import Kind, Value

_QUERY_NAMES = ("query", "question", "text", "q")
_TOP_K_NAMES = ("top_k", "k", "limit")


@dataclass(frozen=True, slots=True)
class Call:
    """A live call. `request` has the form of `Entry.request`; `defaults` are the tool's declared defaults, `api` the
    protocol that a model was asked over; `via` names the boundary that was asked."""

    kind: Kind
    name: str
    request: Value
    call_id: str = ""
    defaults: Mapping[str, Value] | None = None
    api: str = ""
    via: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """How values unify: the tenant's key (None: tokens are bound unproved), and what a secret's rule matches."""

    key: Keys
    secret: Callable[[str, str], bool]
    served: frozenset[str] = frozenset()

    def unify(
        self, recorded: Value, live: Value, bindings: Bindings, lenient: "Lenient | None" = None
    ) -> Bindings | Mismatch:
        return unify(recorded, live, bindings, key=self.key, served=self.served, secret=self.secret, tolerance=lenient)


@dataclass(slots=True)
class Lenient:
    """What one comparison of a call let pass: fields that masks hide, and what the replay drew anew.

    `below` is where in the request the values that are being compared stand.
    """

    trial: Trial
    masks: tuple[Mask, ...] = ()
    below: str = ""
    hidden: list[Mask] = field(default_factory=list)

    def hides(self, path: str) -> bool:
        covering = next((mask for mask in self.masks if mask.covers(self.below + path)), None)
        if covering is not None:
            self.hidden.append(covering)
        return covering is not None

    def as_recorded(self, path: str, was: Value, now: Value) -> Value:
        return self.trial.as_recorded(self.below + path, was, now)


def turns(request: Value, api: str) -> int:
    """Return how many messages a model request has: in a long run nearly all of them differ in that alone."""
    messages = request.get("messages") if isinstance(request, Mapping) else None
    if api in _ONE_TO_ONE:
        return forms.count(messages)
    messages = forms.in_turns(api, messages)
    return len(messages) if isinstance(messages, tuple) else 0


_ONE_TO_ONE = ("", openai_chat.API)
"""The protocols whose messages are those of the record, one for one."""


def _messages(recorded: Value, live: Value, api: str) -> forms.Paired:
    """Pair the messages of two requests. What both begin with is simply the same, in a history nearly all of it."""
    if api not in _ONE_TO_ONE or not isinstance(recorded, tuple) or not isinstance(live, tuple):
        return forms.messages(api, recorded, live)
    same = 0
    while same < min(len(recorded), len(live)) and surely_equal(recorded[same], live[same]):
        same += 1
    rest = forms.messages(api, recorded[same:], live[same:])
    if not isinstance(rest.recorded, tuple) or not isinstance(rest.live, tuple):
        return forms.messages(api, recorded, live)
    return forms.Paired((*recorded[:same], *rest.recorded), (*recorded[:same], *rest.live), rest.skipped)


def compare(
    entry: Entry, call: Call, bindings: Bindings, rules: Rules, lenient: Lenient | None = None
) -> Bindings | Mismatch:
    """Return the bindings under which the recorded and the live call are the same, or their first difference."""
    if call.kind == "llm":
        return _compare_fields(_model_fields(entry, call.request, call.api), bindings, rules, lenient)
    if call.kind == "retrieval":
        return _compare_fields(_retrieval_fields(entry, call), bindings, rules, lenient)
    if call.kind == "memory":
        return _compare_fields(_memory_fields(entry, call), bindings, rules, lenient)
    recorded, live = without_defaults(entry.request, call.request, call.defaults or {})
    return rules.unify(recorded, live, bindings, lenient)


def not_compared(entry: Entry, call: Call) -> tuple[str, ...]:
    """Name what a live model request says and its record does not: neither equal nor different."""
    if call.kind != "llm" or not isinstance(call.request, Mapping) or not isinstance(entry.request, Mapping):
        return ()
    names = params.pair(entry.request.get("params"), call.request.get("params"), entry.instrumentation).skipped
    tools = ["tools"] if entry.request.get("tools") is None and call.request.get("tools") else []
    said = _messages(entry.request.get("messages"), call.request.get("messages"), call.api).skipped
    defined = forms.definitions(
        call.api, entry.request.get("tools"), call.request.get("tools"), entry.instrumentation
    ).skipped
    inside = [*(f"{name} in messages" for name in sorted(said)), *(f"{name} of tools" for name in sorted(defined))]
    return (*tools, *names, *inside)


def _compare_fields(
    fields: Mapping[str, tuple[Value, Value]], bindings: Bindings, rules: Rules, lenient: Lenient | None
) -> Bindings | Mismatch:
    found: Bindings | Mismatch = bindings
    for name, (recorded, live) in fields.items():
        assert isinstance(found, Bindings)
        if lenient is not None:
            lenient.below = f"/{name}"
        found = rules.unify(recorded, live, found, lenient)
        if isinstance(found, Mismatch):
            return replace(found, path=f"/{name}{found.path}")
    return found


def _model_fields(entry: Entry, live: Value, api: str) -> dict[str, tuple[Value, Value]]:
    """Pair the fields of two model requests, the weightiest first: what differs first is what is reported first."""
    recorded = entry.request
    assert isinstance(recorded, Mapping)
    assert isinstance(live, Mapping)
    pairs: dict[str, tuple[Value, Value]] = {}
    if recorded.get("model"):
        served = recorded.get("model_is_served") is True
        pairs["model"] = forms.model(api, recorded["model"], served), forms.model(api, live.get("model"), served)
    said = _messages(recorded.get("messages"), live.get("messages"), api)
    pairs["messages"] = said.recorded, said.live
    if recorded.get("tools") is not None:
        defined = forms.definitions(api, recorded["tools"], live.get("tools") or (), entry.instrumentation)
        pairs["tools"] = defined.recorded, defined.live
    given = params.pair(recorded.get("params"), live.get("params"), entry.instrumentation)
    pairs["params"] = given.recorded, given.live
    return pairs


def _retrieval_fields(entry: Entry, call: Call) -> dict[str, tuple[Value, Value]]:
    """Pair the fields of two retrievals. What their record lacks was not passed, where the recorder made it."""
    defaults = call.defaults or {}
    live = _retrieval(call.request)
    recorded = entry.request if isinstance(entry.request, Mapping) else {"query": entry.request}
    pairs: dict[str, tuple[Value, Value]] = {"query": (recorded.get("query"), live.get("query"))}
    default = next((defaults[name] for name in _TOP_K_NAMES if name in defaults), None)
    limit = next((live[name] for name in _TOP_K_NAMES if name in live), default)
    whole = entry.instrumentation.startswith("runreel.record")
    if limit is not None and ("top_k" in recorded or (whole and isinstance(limit, int))):
        pairs["top_k"] = recorded.get("top_k", default), limit
    if whole or ("filters" in recorded and "filters" in live):
        pairs["filters"] = without_defaults(recorded.get("filters", {}), live.get("filters", {}), defaults)
    return pairs


def _memory_fields(entry: Entry, call: Call) -> dict[str, tuple[Value, Value]]:
    recorded = entry.request if isinstance(entry.request, Mapping) else {}
    live = call.request if isinstance(call.request, Mapping) else {}
    arguments = without_defaults(recorded.get("arguments"), live.get("arguments"), call.defaults or {})
    return {"op": (recorded.get("op"), live.get("op")), "arguments": arguments}


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
