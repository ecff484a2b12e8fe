"""Reads messages that senders write one by one: an event for each message, on the span or as a log event.

Names and bodies are those of the conventions up to 1.36: `gen_ai.user.message` and its like for what was sent,
`gen_ai.choice` for what was answered. The body is a span event's attributes, or a log's body: a map, or the text of
one. An event without content still says that there was a message: its content is then withheld.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from runreel.semconv import messages as shapes
from runreel.semconv.view import ABSENT, Found, Memo, View, event_name
from runreel.values import LogEvent, Value

Body: TypeAlias = Mapping[str, Value]
ReadBody: TypeAlias = Callable[[Body, str, Memo], shapes.Message]

ROLES: Final[Mapping[str, str]] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
CHOICE: Final = "gen_ai.choice"
_INDEX: Final = "CHAT_MESSAGE_INDEX"


def message_events(view: View) -> Iterator[tuple[str, str, Body]]:
    """Yield (source, event name, body) of each message in order: from the span's events, else from its log events."""
    found = False
    for event in view.span.events:
        if event.name in ROLES or event.name == CHOICE:
            found = True
            yield "events", event.name, event.attributes
    if found:
        return
    for log in sorted(view.logs, key=_index):
        name = event_name(log)
        if name in ROLES or name == CHOICE:
            yield "logs", name, _body(log, view.memo)


def _index(log: LogEvent) -> int:
    """Return the sender's own number of a message; without one the order stays that of the log events."""
    value = log.attributes.get(_INDEX)
    return value if isinstance(value, int) else 1 << 40


def _body(log: LogEvent, memo: Memo) -> Body:
    body = log.body
    if isinstance(body, str):
        ok, parsed = memo.parse(body)
        body = parsed if ok else {"content": body}
    return body if isinstance(body, Mapping) else {}


def read_body(body: Body, role: str, memo: Memo) -> shapes.Message:
    """Return the message of a body in OpenAI's form; the id on a tool's message is that of the call."""
    made = dict(body)
    made.setdefault("role", role)
    if made["role"] == "tool":
        call_id = made.pop("id", None)
        made.setdefault("tool_call_id", call_id)
        if "content" not in made:
            return {"role": "tool", "parts": ({"type": "tool_call_response", "id": made["tool_call_id"] or ""},)}
    if not any(made.get(key) for key in ("content", "tool_calls", "parts", "refusal")) and "content" not in made:
        return {"role": made["role"], "parts": ({"type": "text"},)}
    return shapes.message(made, role, memo)


def sent(view: View, read: ReadBody = read_body) -> Found:
    """Return the messages that a model call was given."""
    return _found(view, [(source, read(body, ROLES[name], view.memo)) for source, name, body in _of(view, ROLES)])


def answered(view: View, read: ReadBody = read_body) -> Found:
    """Return the messages that a model call answered, each with its finish reason."""
    out: list[tuple[str, shapes.Message]] = []
    for source, _, body in _of(view, (CHOICE,)):
        inner = body.get("message", {key: one for key, one in body.items() if key not in ("index", "finish_reason")})
        made = dict(read(inner if isinstance(inner, Mapping) else {"content": inner}, "assistant", view.memo))
        reason = body.get("finish_reason")
        if isinstance(reason, str) and reason:
            made["finish_reason"] = shapes.finish(reason)
        out.append((source, made))
    return _found(view, out)


def finish_reasons(view: View) -> tuple[str, ...]:
    """Return the finish reasons in the provider's words, one an answer."""
    found = [body.get("finish_reason") for _, _, body in _of(view, (CHOICE,))]
    return tuple(one for one in found if isinstance(one, str) and one)


def _of(view: View, names: Mapping[str, str] | tuple[str, ...]) -> list[tuple[str, str, Body]]:
    return [one for one in message_events(view) if one[1] in names]


def _found(view: View, listed: list[tuple[str, shapes.Message]]) -> Found:
    if not listed:
        return ABSENT
    made = tuple(message for _, message in listed)
    reason = shapes.holes(made)
    keys = tuple(dict.fromkeys(name for _, name, _ in message_events(view)))
    return Found(made, "withheld" if reason else "whole", reason, listed[0][0], keys)
