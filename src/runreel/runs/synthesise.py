"""Makes tool steps for agents that have no tool spans, from what their model calls say.

A plain loop around a provider's SDK emits model spans only: turn k asks for a call, turn k+1 is told its result.
"""

from collections.abc import Sequence

from runreel.runs.draft import Call, Draft
from runreel.runs.pairing import Conversation
from runreel.semconv.reading import Reading
from runreel.semconv.view import Found
from runreel.values import Value


def synthesise(talk: Conversation) -> list[Draft]:
    """Return a tool step for each tool call that no span carried out and whose result a later model call was told.

    Its time is what lies between the two model calls; its place in the tree is beside the call that asked.
    """
    return [
        _tool_step(call, *told)
        for call in talk.calls
        if call.taken_by is None and call.has_arguments and (told := talk.answer(call)) is not None
    ]


def _tool_step(call: Call, next_turn: Draft, response: Value) -> Draft:
    start = call.turn.end_ns
    end = max(start, next_turn.start_ns)
    trace_id, span_id = call.turn.order[3:5]
    reading = Reading("tool", "synthesised", call.turn.reading.dialect, call.name, call.id)
    step = Draft(
        reading,
        start,
        end,
        (start, -end, call.position, trace_id, span_id, call.position + 1),
        parent=call.turn.parent,
        call_id=call.id,
        fields={
            "pairing": "call_id",
            "input_source": "model_call",
            "output_source": "next_model_call",
            "instrumentation": call.turn.fields.get("instrumentation"),
        },
        input=Found(call.arguments, "whole"),
        output=Found(response, "whole"),
        asked_by=call.turn,
        synthesised=True,
    )
    call.taken_by = step
    return step


def tool_call_texts(talk: Conversation) -> None:
    """Give each model call the arguments of its tool calls exactly as the model wrote them, where a tool span has them.

    Instrumentations parse the arguments before they write them down, so `1e2` has become `100.0` on the model span.
    """
    texts: dict[int, list[Value]] = {}
    for call in talk.calls:
        kept = texts.setdefault(call.index, [])
        own = call.turn.fields.get("tool_call_texts")
        text = own[call.position] if isinstance(own, tuple) and call.position < len(own) else None
        text = call.arguments if text is None and isinstance(call.arguments, str) else text
        if text is None and call.taken_by is not None:
            text = call.taken_by.fields.get("arguments_text")
        kept.append(text)
    for index, turn in enumerate(talk.turns):
        found: Sequence[Value] = texts.get(index, ())
        if any(text is not None for text in found):
            turn.fields["tool_call_texts"] = tuple(found)
