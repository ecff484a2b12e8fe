"""Bring a recorded and a live model request to one form, so that only what was asked is compared, not how it is spelt.

Instrumentations leave out what the conventions have no word for (caching marks, signatures, `strict`...), and put what
an API says in several items into several messages or into one. What the live request says more than its record is
left out here, and named: it can neither be equal nor different.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from runreel.replay.wire import anthropic_messages, gemini, openai_responses
from runreel.semconv import messages as normal
from runreel.semconv.view import Memo
from runreel.values import Value

# Without these a part is not the same part: where the record lacks one, that is a difference.
_SAID: Final = frozenset({"type", "content", "id", "name", "arguments", "response", "uri", "file_id", "data"})
# Made by the sender of the record, or by the provider for its own use: only compared where both have it.
_MADE: Final = frozenset({"mime_type", "modality", "signature", "status", "thoughtSignature", "thought_signature"})
_NO_JSON: Final = "INVALID_JSON"
"""The key under which Pydantic AI hands arguments back that are no JSON; its record has them bare."""
_TEXTS: Final = {"refusal": "text"}


@dataclass(frozen=True, slots=True)
class Paired:
    """A recorded value and a live one in one form. `skipped` names what of the live one the record does not hold."""

    recorded: Value
    live: Value
    skipped: frozenset[str] = field(default=frozenset())


def model(api: str, name: Value, served: bool = False) -> Value:
    """Return a model's name as its API knows it: Gemini's may stand in a path. Of the model that was `served`, and of
    the one asked for beside it, the snapshot is left out."""
    if not isinstance(name, str):
        return name
    known = name.rpartition("/")[2] if api == gemini.API else name
    return _SNAPSHOT.sub("", known) if served else known


_SNAPSHOT: Final = re.compile(r"-(?:\d{3}|\d{8}|\d{4}-\d\d-\d\d)$")


def messages(api: str, recorded: Value, live: Value) -> Paired:
    """Pair the messages of two requests to an API ("": none in particular)."""
    before, now = in_turns(api, recorded), in_turns(api, live)
    if not isinstance(before, tuple) or not isinstance(now, tuple) or len(before) != len(now):
        return Paired(before, now)
    return _all(before, now, lambda one, other: _message(api, one, other))


def in_turns(api: str, found: Value) -> Value:
    """Return messages without empty parts, each result of a tool as a message of its own where an API or a framework
    puts several into one, and each answer as one message where an API tells it in items."""
    if not isinstance(found, tuple):
        return found
    out: list[Value] = []
    for message in (one for item in found for one in _with_single_results(api, _without_empty(item))):
        last = out[-1] if out else None
        if api == openai_responses.API and _is_answer(message) and _is_answer(last):
            assert isinstance(last, Mapping)
            assert isinstance(message, Mapping)
            out[-1] = {**last, "parts": (*_parts(last), *_parts(message))}
        else:
            out.append(message)
    return tuple(out)


def _parts(message: Mapping[str, Value]) -> tuple[Value, ...]:
    parts = message.get("parts")
    return parts if isinstance(parts, tuple) else ()


def _without_empty(message: Value) -> Value:
    if not isinstance(message, Mapping):
        return message
    parts = message.get("parts")
    kept = tuple(part for part in parts if not _is_empty(part)) if isinstance(parts, tuple) else parts
    return {**message, "parts": kept}


def _is_empty(part: Value) -> bool:
    if not isinstance(part, Mapping):
        return False
    # Some senders leave the mark of a call behind that stands in another part.
    return (part.get("type") == "text" and part.get("content") in ("", None)) or part == {"type": "tool_use"}


def _with_single_results(api: str, message: Value) -> Iterator[Value]:
    whole = api in (anthropic_messages.API, gemini.API)
    if not isinstance(message, Mapping) or not (whole or _has_results(message)):
        yield message
        return
    if whole and message.get("role") == "model":  # which is what Gemini calls an assistant
        message = {**message, "role": "assistant"}
    if message.get("role") not in _TELLING:
        yield message
        return
    rest: list[Value] = []
    # A sender that tells results as messages, some of them as bare text.
    told = whole and message.get("role") == "tool"
    for part in _parts(message):
        if isinstance(part, Mapping) and (part.get("type") == _RESULT or (told and part.get("type") == "text")):
            yield {"role": "tool", "parts": (_result(api, part),)}
        else:
            rest.append(part)
    if rest or not _parts(message):
        yield {**message, "parts": tuple(rest)}


def _has_results(message: Mapping[str, Value]) -> bool:
    """Say whether a message tells results of tools in a form of its framework's: several, or as the user's."""
    if message.get("role") not in _TELLING:
        return False
    parts = _parts(message)
    return (len(parts) > 1 or message.get("role") != "tool") and any(map(_is_result, parts))


def _is_result(part: Value) -> bool:
    return isinstance(part, Mapping) and part.get("type") == _RESULT


def count(messages: Value) -> int:
    """Return how many messages there are once each result of a tool is one, without making them."""
    if not isinstance(messages, tuple):
        return 0
    total = 0
    for message in messages:
        parts = _parts(message) if isinstance(message, Mapping) and message.get("role") in _TELLING else ()
        results = sum(map(_is_result, parts))
        total += results + (len(parts) > results) if results else 1
    return total


_TELLING: Final = frozenset({"user", "tool", "function"})


def _result(api: str, part: Mapping[str, Value]) -> Value:
    made: dict[str, Value] = {"type": _RESULT, "response": part.get("content")} if part["type"] == "text" else {**part}
    if api == gemini.API:  # whose results are objects, whatever text a sender makes of them
        made["response"] = normal.arguments(made.get("response"), Memo())
    return made


_RESULT: Final = "tool_call_response"


def _is_answer(message: Value) -> bool:
    return (
        isinstance(message, Mapping) and message.get("role") == "assistant" and isinstance(message.get("parts"), tuple)
    )


def _all(before: Sequence[Value], now: Sequence[Value], pair: Callable[[Value, Value], Paired]) -> Paired:
    pairs = [pair(one, other) for one, other in zip(before, now, strict=True)]
    skipped = frozenset[str]().union(*(one.skipped for one in pairs))
    return Paired(tuple(one.recorded for one in pairs), tuple(one.live for one in pairs), skipped)


def _message(api: str, recorded: Value, live: Value) -> Paired:
    if not isinstance(recorded, Mapping) or not isinstance(live, Mapping):
        return Paired(recorded, live)
    before, now = recorded.get("parts"), live.get("parts")
    if not isinstance(before, tuple) or not isinstance(now, tuple):
        return Paired(recorded, live)
    skipped: frozenset[str] = frozenset()
    # What a framework says of a message and no API is told: the name of a tool's, how an answer in the history ended.
    untold = {"finish_reason", "name"} if live.get("role") == "tool" else {"finish_reason"}
    recorded = {name: one for name, one in recorded.items() if name in live or name not in untold}
    if _is_answer(live) and "name" in live and "name" not in recorded:  # which agent answered: a framework's, too
        live = {name: one for name, one in live.items() if name != "name"}
        skipped = frozenset({"name"})
    # An answer whose reasoning was not recorded cannot be handed back with it. In responses the record of the next
    # request has it although the record of the answer has not.
    told, given = _has_reasoning(before), _has_reasoning(now)
    if _is_answer(live) and told != given and (given or api == openai_responses.API):
        before, now = _without_reasoning(before), _without_reasoning(now)
        skipped |= {"reasoning"}
    if len(before) != len(now):
        return Paired({**recorded, "parts": before}, {**live, "parts": now}, skipped)
    parts = _all(before, now, _part)
    if api == gemini.API:
        parts = _without_ids_not_given(parts)
    return Paired({**recorded, "parts": parts.recorded}, {**live, "parts": parts.live}, skipped | parts.skipped)


def _has_reasoning(parts: tuple[Value, ...]) -> bool:
    return any(isinstance(part, Mapping) and part.get("type") == "reasoning" for part in parts)


def _without_reasoning(parts: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(part for part in parts if not (isinstance(part, Mapping) and part.get("type") == "reasoning"))


def _part(recorded: Value, live: Value) -> Paired:
    if not isinstance(recorded, Mapping) or not isinstance(live, Mapping):
        return Paired(recorded, live)
    before = {name: one for name, one in recorded.items() if name in live or name not in _MADE}
    said = _SAID
    if live.get("type") == _RESULT:
        said = said - {"name"} if "id" in recorded else said - {"name", "id"}
        if "name" not in live:  # most APIs are told a result by the id of its call alone
            before.pop("name", None)
        if "response" in before:
            before["response"], live = _results(before["response"], live)
    now = {name: one for name, one in live.items() if name in recorded or name in said}
    given = now.get("arguments")
    if isinstance(before.get("arguments"), str) and isinstance(given, Mapping) and given.keys() == {_NO_JSON}:
        now["arguments"] = given[_NO_JSON]
    for one in (before, now):
        if isinstance(kind := one.get("type"), str):
            one["type"] = _TEXTS.get(kind, kind)
    skipped = {name for name in live if name not in now and name not in _MADE}
    return Paired(before, now, frozenset(skipped))


def _results(recorded: Value, live: Mapping[str, Value]) -> tuple[Value, Mapping[str, Value]]:
    """Bring two results of a tool to one form: APIs are told a text, or blocks of text, of what may be recorded as
    either, or as the value that the text says."""
    told, texts = live.get("response"), _texts(recorded)
    if isinstance(told, str):
        value = _parsed(told)
        if texts is not None and not isinstance(value, tuple):
            return texts, live
        return recorded, live if isinstance(recorded, str) else {**live, "response": value}
    value = _parsed(recorded)
    if isinstance(recorded, str) and isinstance(value, tuple):  # the record has the blocks, as JSON
        return value, live
    if (joined := _texts(told)) is not None and (texts is not None or isinstance(recorded, str)):
        return recorded if texts is None else texts, {**live, "response": joined}
    return value, live


def _texts(blocks: Value) -> str | None:
    """Return the text that blocks of text are, each on lines of its own; None for anything else."""
    if not isinstance(blocks, tuple) or not blocks:
        return None
    said = [one.get("text") if isinstance(one, Mapping) and _is_text(one) else None for one in blocks]
    return "\n".join(str(text) for text in said) if all(isinstance(text, str) for text in said) else None


def _is_text(block: Mapping[str, Value]) -> bool:
    return block.keys() == {"text"} or (block.keys() == {"type", "text"} and block["type"] == "text")


def _parsed(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    ok, parsed = Memo().parse(value)
    return parsed if ok else value


def _without_ids_not_given(parts: Paired) -> Paired:
    """Leave out ids where the request has none: this API knows calls by name and order; some ids are made up."""
    assert isinstance(parts.recorded, tuple)
    assert isinstance(parts.live, tuple)
    before, now = list(parts.recorded), list(parts.live)
    for place, (one, other) in enumerate(zip(before, now, strict=True)):
        if isinstance(one, Mapping) and isinstance(other, Mapping) and not other.get("id"):
            before[place] = {name: value for name, value in one.items() if name != "id"}
            now[place] = {name: value for name, value in other.items() if name != "id"}
    return Paired(tuple(before), tuple(now), parts.skipped)


# --- tools ------------------------------------------------------------------------------------------------------------

_DEFINED: Final = frozenset({"type", "name", "description", "parameters"})


_AGENTS_UNTOLD: Final = "openinference.instrumentation.smolagents"
"""Its record of what a model may call leaves out the agents that stand among the tools."""


def definitions(api: str, recorded: Value, live: Value, instrumentation: str = "") -> Paired:
    """Pair the tool definitions of two requests. `instrumentation` is what recorded the first one."""
    if not isinstance(recorded, tuple) or not isinstance(live, tuple):
        return Paired(recorded, live)
    skipped: frozenset[str] = frozenset()
    if instrumentation.startswith(_AGENTS_UNTOLD):
        tools = tuple(one for one in live if not _is_agent(one))
        if len(tools) == len(recorded) < len(live):
            live, skipped = tools, frozenset({"managed agents"})
    if len(recorded) != len(live):
        return Paired(recorded, live)
    schemas = any(isinstance(one, Mapping) and "parameters" in one for one in recorded)
    made = _all(recorded, live, lambda one, other: _definition(api, one, other, schemas=schemas))
    return Paired(made.recorded, made.live, made.skipped | skipped)


def _is_agent(definition: Value) -> bool:
    """Say whether what a model may call is one of smolagents' agents: all of them are given the same two things."""
    schema = definition.get("parameters") if isinstance(definition, Mapping) else None
    given = schema.get("properties") if isinstance(schema, Mapping) else None
    return isinstance(given, Mapping) and given.keys() == {"task", "additional_args"}


def _definition(api: str, recorded: Value, live: Value, *, schemas: bool) -> Paired:
    if not isinstance(recorded, Mapping) or not isinstance(live, Mapping):
        return Paired(recorded, live)
    known = _DEFINED if schemas else _DEFINED - {"parameters"}
    if recorded.get("type") != "function":
        known = _DEFINED - {"parameters", "description"}
    now = {name: one for name, one in live.items() if name in recorded or name in known}
    skipped = frozenset(name for name in live if name not in now)
    before = dict(recorded)
    if api == gemini.API:
        for one in (before, now):
            if "parameters" in one:
                one["parameters"] = _schema(one["parameters"])
    return Paired(before, now, skipped)


def _schema(value: Value) -> Value:
    """Return a schema with its own keywords in one spelling: the API's, where the record has Python's."""
    if isinstance(value, tuple):
        return tuple(_schema(one) for one in value)
    if not isinstance(value, Mapping):
        return value
    out: dict[str, Value] = {}
    for key, one in value.items():
        word = gemini.snake(key)
        if word in ("properties", "defs") and isinstance(one, Mapping):
            out[word] = {name: _schema(inner) for name, inner in one.items()}
        else:
            out[word] = one if word in ("default", "example", "enum", "required", "property_ordering") else _schema(one)
    return out
