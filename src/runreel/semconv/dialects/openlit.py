"""OpenLIT: standard attributes with fillers (`max_tokens` -1, `seed` ""), messages as lines of text in span events.

Older releases write `user: ...` lines into `gen_ai.content.prompt` events; newer ones the conventions' own attributes.
"""

import re
from collections.abc import Mapping
from typing import Final

from runreel.semconv import messages as shapes
from runreel.semconv.content import understand
from runreel.semconv.dialect import Dialect, Source, Switch
from runreel.semconv.view import ABSENT, Found, View
from runreel.values import Kind, Value

SCOPE: Final = "openlit"
_PROMPT: Final = ("gen_ai.content.prompt", "gen_ai.prompt")
_COMPLETION: Final = ("gen_ai.content.completion", "gen_ai.completion")
_LINE: Final = re.compile(r"^(system|developer|user|assistant|tool): ", re.MULTILINE)


def _claims(view: View) -> bool:
    if view.span.scope.name.startswith(SCOPE) or "gen_ai.endpoint" in view.span.attributes:
        return True
    return view.span.attributes.get("telemetry.sdk.name") == SCOPE


def _kind(view: View) -> tuple[Kind, str] | None:
    return ("retrieval", "db.operation") if view.text("gen_ai.operation.name") == "vectordb" else None


def _text(view: View, names: tuple[str, str]) -> Found:
    event_name, key = names
    for event in view.span.events:
        if event.name == event_name and (raw := event.attributes.get(key)) is not None:
            return Found(raw, "whole", "", "events", (key,))
    raw = view.span.attributes.get(key)
    return ABSENT if raw is None else Found(raw, "whole", "", "attributes", (key,))


def _input(view: View) -> Found:
    found = _text(view, _PROMPT)
    if not isinstance(found.value, str) or found.value.startswith(("[", "{")):
        return _understood(view, found, "user")
    made = _messages(found.value)
    return Found(made, "whole", "", found.source, found.keys) if made else _understood(view, found, "user")


def _messages(text: str) -> tuple[shapes.Message, ...]:
    """Split `user: ...` lines into messages; a line without a role belongs to the message before it."""
    starts = list(_LINE.finditer(text))
    if not starts or starts[0].start() != 0:
        return ()
    ends = [one.start() - 1 for one in starts[1:]] + [len(text)]
    return tuple(
        {"role": one[1], "parts": ({"type": "text", "content": text[one.end() : end]},)}
        for one, end in zip(starts, ends, strict=True)
    )


def _output(view: View) -> Found:
    return _understood(view, _text(view, _COMPLETION), "assistant")


def _understood(view: View, found: Found, role: str) -> Found:
    if found is ABSENT:
        return ABSENT
    made = understand("messages", found.value, role, view.memo)
    return Found(made.value, made.state, made.reason, found.source, found.keys)


def _extras(view: View, kind: Kind) -> Mapping[str, Value]:
    """-1 stands where no limit was set."""
    limit = view.get("gen_ai.request.max_tokens") if kind == "llm" else None
    return {"params.max_tokens": limit if isinstance(limit, int) and limit > 0 else None}


_ON = (
    "unset OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT at the sender (`false` switches content off), and leave "
    "capture_message_content=True, its default, in openlit.init"
)

DIALECT = Dialect(
    name="openlit",
    title="OpenLIT",
    claims=_claims,
    kind=_kind,
    scalars={"llm.stream": ("gen_ai.request.is_stream",), "run.env": ("gen_ai.environment",)},
    contents={
        "llm.input": Source(_PROMPT[1:], read=_input),
        "llm.output": Source(_COMPLETION[1:], read=_output),
    },
    extras=_extras,
    coded={"llm.params.max_tokens": ("gen_ai.request.max_tokens",)},
    switches=(Switch(SCOPE, _ON, _ON),),
    hides=frozenset({"llm.params.max_tokens"}),
)
