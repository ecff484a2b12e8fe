"""What every API's answer is written from: the recorded messages and the fields beside them, in one form."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from runreel.canonical import freeze
from runreel.replay.values import Answer, Raised
from runreel.replay.wire.values import HttpRequest
from runreel.values import Value

Part = Mapping[str, Value]
JSON: Final = ("content-type", "application/json")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the record counts them: cached ones are in `read`, reasoning is in `written`. None: not recorded."""

    read: int
    written: int
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """One recorded answer. `texts` are the arguments of its tool calls as the model wrote them, where they are known.

    `created` is in seconds, `started_ns` when the recorded call began: what an id is made of where none was recorded.
    """

    messages: tuple[Mapping[str, Value], ...] = field(repr=False)
    fields: Mapping[str, Value] = field(repr=False)
    model: str
    response_id: str
    created: Value
    started_ns: int
    usage: Usage | None
    texts: Iterator[Value] = field(repr=False)

    def reason(self, index: int) -> str:
        """Return how answer number `index` ended, in the word that was recorded; "" where it was not."""
        reasons = self.fields.get("finish_reasons")
        own = reasons[index] if isinstance(reasons, tuple) and index < len(reasons) else None
        if not isinstance(own, str) or own == "error":
            own = self.messages[index].get("finish_reason") if index < len(self.messages) else None
        return own if isinstance(own, str) and own != "error" else ""


def said(answer: Answer) -> Said:
    """Read a recorded answer; of one that failed, what had come before it broke."""
    value = answer.fields.get("partial") if isinstance(answer, Raised) else answer.value
    fields = answer.fields
    started = fields.get("created_ns")
    started_ns = started if isinstance(started, int) else 0
    texts = fields.get("tool_call_texts")
    return Said(
        messages=tuple(one for one in value if isinstance(one, Mapping)) if isinstance(value, tuple) else (),
        fields=fields,
        model=_text(fields.get("model")),
        response_id=_text(fields.get("response_id")),
        created=fields.get("created") or started_ns // 10**9,
        started_ns=started_ns,
        usage=_usage(fields.get("usage")),
        texts=iter(texts if isinstance(texts, tuple) else ()),
    )


def _text(value: Value) -> str:
    return value if isinstance(value, str) else ""


def _usage(usage: Value) -> Usage | None:
    if not isinstance(usage, Mapping):
        return None
    read, written = usage.get("input_tokens"), usage.get("output_tokens")
    if not isinstance(read, int) or not isinstance(written, int):
        return None
    rest = {name: value for name in _DETAILS if isinstance(value := usage.get(name), int)}
    return Usage(read, written, **rest)


_DETAILS: Final = ("cache_read", "cache_write", "reasoning")


# --- parts ------------------------------------------------------------------------------------------------------------


def parts_of(message: Mapping[str, Value]) -> list[Part]:
    """Return the parts of a message that are parts."""
    parts = message.get("parts")
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, tuple) else []


def joined(parts: Iterable[Part]) -> str:
    """Return the texts of parts, one after the other."""
    return "".join(text_of(part) for part in parts)


def text_of(part: Part) -> str:
    return _text(part.get("content"))


def arguments_text(part: Part, text: Value = None) -> str:
    """Return a call's arguments as text: as the model wrote them where that is known, else as models mostly do."""
    if isinstance(text, str):
        return text
    arguments = part.get("arguments")
    return arguments if isinstance(arguments, str) else "" if arguments is None else compact(arguments)


def arguments_object(part: Part) -> Value:
    """Return a call's arguments as the object that they are; a text that holds none stays text."""
    arguments = part.get("arguments")
    if isinstance(arguments, str):
        try:
            parsed = freeze(json.loads(arguments))
        except (ValueError, RecursionError):
            return arguments
        return parsed if isinstance(parsed, Mapping) else arguments
    return {} if arguments is None else arguments


# --- bodies -----------------------------------------------------------------------------------------------------------


def body_of(request: HttpRequest) -> Mapping[str, Value] | None:
    """Return a request's JSON object; None where its body is none."""
    try:
        body = freeze(json.loads(request.body))
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, Mapping) else None


def dump(value: Any) -> bytes:
    """Write JSON. Escapes instead of UTF-8: a lone surrogate that a model once sent must pass as it came."""
    return json.dumps(value, separators=(",", ":"), default=_plain).encode()


def compact(value: Value) -> str:
    """Write a value as models write arguments."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=_plain)


def _plain(value: object) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a recorded answer holds a {type(value).__name__}")
