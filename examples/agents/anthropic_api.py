"""Anthropic's messages API for the scripted model server: an answer whole, and as the events of its stream."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from runreel.demo.model_server import Scenarios, Turn, scenario_of
from runreel.demo.model_server import _id as made_id

SNAPSHOTS = {"claude-sonnet-4-5": "claude-sonnet-4-5-20250929"}
_STARTS: Mapping[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
}


def turn_for(body: dict[str, Any], scenarios: Scenarios) -> Turn:
    """Pick the turn that answers a request."""
    asked = sum(1 for one in body["messages"] if one["role"] == "assistant" and '"tool_use"' in json.dumps(one))
    turns = scenarios[scenario_of(json.dumps(body, ensure_ascii=False), scenarios)]
    found = turns[min(asked, len(turns) - 1)]
    return found if body.get("tools") or not found.calls else Turn("Done.")


def message(body: dict[str, Any], turn: Turn) -> dict[str, Any]:
    """Return the whole answer as one object."""
    blocks: list[dict[str, Any]] = []
    if turn.reasoning:
        blocks.append({"type": "thinking", "thinking": turn.reasoning, "signature": "c2lnbmF0dXJl"})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    for place, (name, arguments) in enumerate(turn.calls):
        called = {"id": made_id("toolu_", body, place), "name": name, "input": json.loads(arguments)}
        blocks.append({"type": "tool_use", **called})
    return {
        "id": made_id("msg_", body),
        "type": "message",
        "role": "assistant",
        "model": SNAPSHOTS.get(body["model"], body["model"]),
        "content": blocks,
        "stop_reason": "tool_use" if turn.calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 40,
            "output_tokens": 20,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def events(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream."""
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(whole["content"]):
        start = {**block, **_STARTS[block["type"]]}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in _deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": whole["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        yield from ({"type": "text_delta", "text": piece} for piece in _pieces(block["text"]))
    elif block["type"] == "thinking":
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"]))
        yield {"type": "signature_delta", "signature": block["signature"]}
    else:
        told = _pieces(json.dumps(block["input"]))
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in told)


def _pieces(text: str) -> list[str]:
    return [text[place : place + 7] for place in range(0, len(text), 7)]
