"""The events that stream one of OpenAI's responses: every item opened, told in pieces, closed, in the API's words."""

from collections.abc import Iterator, Mapping
from typing import Any

from runreel.replay.wire import sse
from runreel.replay.wire.answers import dump

Event = dict[str, Any]


def events(whole: Mapping[str, Any], ended: bool) -> Iterator[bytes]:
    """Yield the events of a whole response; without the last ones where its reader walked away before the end."""
    for number, event in enumerate(_told(whole, ended)):
        yield sse.event(dump({**event, "sequence_number": number}), event["type"])


def _told(whole: Mapping[str, Any], ended: bool) -> Iterator[Event]:
    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "error": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(whole["output"]):
        last = index == len(whole["output"]) - 1
        yield from _item(index, item, closed=ended or not last)
    if ended:
        yield {"type": f"response.{whole['status']}", "response": whole}


def _item(index: int, item: Mapping[str, Any], *, closed: bool) -> Iterator[Event]:
    at = {"item_id": item["id"], "output_index": index}
    kind = item["type"]
    opened = dict(item)
    if "status" in item:
        opened["status"] = "in_progress"
    inside: Iterator[Event] = iter(())
    if kind == "message":
        opened["content"], inside = [], _contents(at, item["content"])
    elif kind == "reasoning":
        opened["summary"], inside = [], _summaries(at, item["summary"])
    elif kind == "function_call":
        opened["arguments"], inside = "", _arguments(at, item)
    elif kind == "custom_tool_call":
        opened["input"], inside = "", _input(at, item)
    yield {"type": "response.output_item.added", "output_index": index, "item": opened}
    yield from inside
    if closed:
        yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _contents(at: Event, contents: list[Event]) -> Iterator[Event]:
    for place, part in enumerate(contents):
        here = {**at, "content_index": place}
        name = "refusal" if part["type"] == "refusal" else "text"
        begun = "response.refusal" if name == "refusal" else "response.output_text"
        extra: Event = {} if name == "refusal" else {"logprobs": []}
        yield {"type": "response.content_part.added", **here, "part": {**part, name: ""}}
        for piece in sse.pieces(part[name]):
            yield {"type": f"{begun}.delta", **here, "delta": piece, **extra}
        yield {"type": f"{begun}.done", **here, name: part[name], **extra}
        yield {"type": "response.content_part.done", **here, "part": part}


def _summaries(at: Event, summaries: list[Event]) -> Iterator[Event]:
    for place, part in enumerate(summaries):
        here = {**at, "summary_index": place}
        yield {"type": "response.reasoning_summary_part.added", **here, "part": {**part, "text": ""}}
        for piece in sse.pieces(part["text"]):
            yield {"type": "response.reasoning_summary_text.delta", **here, "delta": piece}
        yield {"type": "response.reasoning_summary_text.done", **here, "text": part["text"]}
        yield {"type": "response.reasoning_summary_part.done", **here, "part": part}


def _arguments(at: Event, item: Mapping[str, Any]) -> Iterator[Event]:
    for piece in sse.pieces(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
    yield {
        "type": "response.function_call_arguments.done",
        **at,
        "name": item["name"],
        "arguments": item["arguments"],
    }


def _input(at: Event, item: Mapping[str, Any]) -> Iterator[Event]:
    for piece in sse.pieces(item["input"]):
        yield {"type": "response.custom_tool_call_input.delta", **at, "delta": piece}
    yield {"type": "response.custom_tool_call_input.done", **at, "input": item["input"]}
