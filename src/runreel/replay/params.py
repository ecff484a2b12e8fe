"""Pair the parameters of two model requests: what the record lacks was not given, or was never recorded.

Which of the two depends on the instrumentation. Those that are known to record a parameter whenever it is given make
its absence a fact; of the others it says nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from runreel.canonical import canonical
from runreel.values import Value

SAMPLING: Final = frozenset(
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
"""Parameters that an unknown instrumentation which records any of them is taken to record when they are given."""

_CONVENTIONS: Final = SAMPLING - {"top_k"} | {"output_type", "service_tier"}
_EVERYTHING: Final = frozenset({"*"})
_RECORDED: Final[Mapping[str, frozenset[str]]] = {
    "opentelemetry.instrumentation.genai.openai": _CONVENTIONS,
    "opentelemetry.instrumentation.openai_v2": _CONVENTIONS,
    "opentelemetry.util.genai.handler": _CONVENTIONS - {"service_tier"},
    "opentelemetry.instrumentation.genai.anthropic": frozenset({"temperature", "top_p", "top_k", "max_tokens", "stop"}),
    "opentelemetry.instrumentation.openai.v1": frozenset(
        {"temperature", "top_p", "max_tokens", "frequency_penalty", "presence_penalty"}
    ),
    "opentelemetry.instrumentation.langchain": frozenset({"temperature", "top_p", "max_tokens"}),
    "openinference.instrumentation.openai": _EVERYTHING,
    # What the model was made with. An agent adds where to stop and that a tool has to be called.
    "openinference.instrumentation.smolagents": SAMPLING - {"stop"},
    "pydantic-ai": SAMPLING - {"top_k", "stop", "n"},
}
"""What instrumentations record of a request whenever it says so, by their name."""

_NO_PARAMS: Final = frozenset(
    {"stream", "streaming", "stream_options", "extra_body", "extra_headers", "extra_query", "timeout", "max_retries"}
)
"""How a request and its answer travel, not what is asked; some instrumentations list it among the parameters."""

_NAMES: Final = {
    "max_completion_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "reasoning_effort": "reasoning_level",
    "stop_sequences": "stop",
    "choice_count": "n",
}
# What an API does anyway: said or not, the same is asked.
_USUAL: Final[Mapping[str, tuple[Value, ...]]] = {
    "n": (1,),
    "service_tier": ("auto", "default"),
    "output_type": ("text",),
    "response_format": ({"type": "text"},),
    "tool_choice": ("auto",),
    "parallel_tool_calls": (True,),
}
# What responses say of themselves where nothing was asked for. Of names without a value here that depends on the model.
_ANSWERED: Final[Mapping[str, tuple[Value, ...]]] = {
    "temperature": (1,),
    "top_p": (1, 0.98),
    "max_tokens": (),
    "tool_choice": ("auto",),
    "parallel_tool_calls": (True,),
}
_FROM_THE_ANSWER: Final = frozenset({"openinference.instrumentation.openai_agents"})
"""Instrumentations that take a request's parameters from its answer, which names those that were not given as well."""


@dataclass(frozen=True, slots=True)
class Paired:
    """The parameters that can be compared, of both requests, and the names of live ones that cannot."""

    recorded: Mapping[str, Value]
    live: Mapping[str, Value]
    skipped: tuple[str, ...] = ()


def pair(recorded: Value, live: Value, instrumentation: str = "") -> Paired:
    """Pair the parameters of a recorded and a live request. `instrumentation` is what recorded the first one."""
    before, now = _named(recorded), _named(live)
    if instrumentation.partition(" ")[0] in _FROM_THE_ANSWER:
        before = {name: value for name, value in before.items() if name in now or _was_given(name, value)}
    now = _one_form(now, before, instrumentation)
    before, now = _without_usual(before, now), _without_usual(now, before)
    kept = {name: value for name, value in now.items() if name in before or _says(name, before, instrumentation)}
    return Paired(before, kept, tuple(sorted(now.keys() - kept.keys())))


def _was_given(name: str, value: Value) -> bool:
    usual = _ANSWERED.get(name)
    return usual is not None and all(canonical(value) != canonical(one) for one in usual)


def _named(params: Value) -> dict[str, Value]:
    """Return parameters under the record's names and in its forms."""
    given = params if isinstance(params, Mapping) else {}
    if isinstance(more := given.get("extra_body"), Mapping):  # how an SDK is given what it has no argument for
        given = {**more, **given}
    out = {_NAMES.get(name, name): value for name, value in given.items() if name not in _NO_PARAMS}
    if isinstance(out.get("stop"), str):
        out["stop"] = (out["stop"],)
    return {name: value for name, value in out.items() if value is not None}


def _one_form(live: Mapping[str, Value], recorded: Mapping[str, Value], instrumentation: str) -> dict[str, Value]:
    """The form of an answer is given as a whole (`response_format`), and as the conventions' word for it as well: keep
    the one that the record would hold. A schema that only the whole has stays, to be told as not compared."""
    whole = "response_format" in recorded or _known(instrumentation) is _EVERYTHING
    gone = "output_type" if whole and "output_type" not in recorded else None
    if not whole and recorded.get("output_type", live.get("output_type")) != "json":
        gone = "response_format"
    form = live.get("response_format")
    if not whole and isinstance(form, Mapping) and form.get("type") in ("json_object", "text"):
        gone = "response_format"  # the word says all of it
    kept = {name: value for name, value in live.items() if name != gone}
    for name, word in _WORDS.items():
        if name in recorded and word not in recorded:
            kept.pop(word, None)
        elif name in kept and name not in recorded and _says_no_more(name, kept[name]):
            del kept[name]
    return kept


# What an API takes as a whole, and the conventions' word for it.
_WORDS: Final = {"text": "output_type", "response_mime_type": "output_type", "reasoning": "reasoning_level"}


def _says_no_more(name: str, value: Value) -> bool:
    """Say whether the conventions' word says all of a whole one."""
    if name == "response_mime_type":
        return True
    if not isinstance(value, Mapping):
        return False
    if name == "reasoning":
        return value.keys() <= {"effort"}
    form = value.get("format")
    return value.keys() <= {"format"} and isinstance(form, Mapping) and form.get("type") in ("text", "json_object")


def _without_usual(here: Mapping[str, Value], there: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in here.items() if name in there or not _is_usual(name, value)}


def _is_usual(name: str, value: Value) -> bool:
    return any(canonical(value) == canonical(usual) for usual in _USUAL.get(name, ()))


def _known(instrumentation: str) -> frozenset[str] | None:
    return _RECORDED.get(instrumentation.partition(" ")[0])


def _says(name: str, recorded: Mapping[str, Value], instrumentation: str) -> bool:
    """Say whether a parameter would be in the record if it had been given."""
    known = _known(instrumentation)
    if known is None:
        return name in SAMPLING and not SAMPLING.isdisjoint(recorded)
    return known is _EVERYTHING or name in known
