"""Gemini's generateContent for the scripted model server: an answer whole, and as the events of its stream."""

import json
from collections.abc import Iterator
from typing import Any

from runreel.demo.model_server import Scenarios, Turn, scenario_of
from runreel.demo.model_server import _id as made_id

PLAIN, STREAM = ":generateContent", ":streamGenerateContent"


def turn_for(body: dict[str, Any], scenarios: Scenarios) -> Turn:
    """Pick the turn that answers a request: a content with calls is a turn that was taken, of another agent, too."""
    asked = sum(1 for content in body["contents"] if any(map(_calls, content["parts"])))
    turns = scenarios[scenario_of(json.dumps(body, ensure_ascii=False), scenarios)]
    found = turns[min(asked, len(turns) - 1)]
    return found if body.get("tools") or not found.calls else Turn("Done.")


def _calls(part: dict[str, Any]) -> bool:
    return "functionCall" in part or "] called tool `" in part.get("text", "")


def response(body: dict[str, Any], model: str, turn: Turn) -> dict[str, Any]:
    """Return the whole answer as one object."""
    parts: list[dict[str, Any]] = [{"text": turn.text}] if turn.text else []
    for place, (name, arguments) in enumerate(turn.calls):
        called = {"id": made_id("", body, place), "name": name, "args": _object(arguments)}
        parts.append({"functionCall": called})
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 40, "candidatesTokenCount": 20, "totalTokenCount": 60},
        "modelVersion": f"{model}-001",
        "responseId": made_id("", body),
    }


def events(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream: texts in pieces, and how it ended with the last event."""
    candidate = whole["candidates"][0]
    pieces = [piece for part in candidate["content"]["parts"] for piece in _pieces(part)]
    about = {name: whole[name] for name in ("modelVersion", "responseId")}
    for piece in pieces[:-1]:
        yield {"candidates": [{"content": {"role": "model", "parts": [piece]}, "index": 0}], **about}
    last = {**candidate, "content": {"role": "model", "parts": pieces[-1:]}}
    yield {**whole, "candidates": [last]}


def _object(arguments: str) -> dict[str, Any]:
    """Read the arguments of a call: the API has objects only, so that what does not parse has none."""
    try:
        found: dict[str, Any] = json.loads(arguments)
    except ValueError:
        return {}
    return found


def _pieces(part: dict[str, Any]) -> list[dict[str, Any]]:
    text = part.get("text", "")
    return [{"text": text[place : place + 7]} for place in range(0, len(text), 7)] or [part]
