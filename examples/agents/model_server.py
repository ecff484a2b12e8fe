"""A scripted model server on loopback for the example agents: OpenAI, Anthropic and Gemini, streaming too.

    python model_server.py --port 0      prints the port that it took, then serves until it is killed

The chat API is the one of `runreel demo`; the others answer with the same scenarios.
"""

import argparse
import itertools
import json
from collections.abc import Iterator
from typing import Any

import anthropic_api
import gemini_api

from runreel.demo import model_server
from runreel.demo.model_server import CREATED, SNAPSHOTS, ModelServer, Scenarios, Turn
from runreel.demo.model_server import _id as made_id

_OSLO, _LISBON = ("get_weather", '{"city": "Oslo"}'), ("get_weather", '{"city": "Lisbon"}')
_POLL = ("poll_job", '{"job_id": "J-17"}')
_OVER = '{"agent_name": "weather_agent", "message": "How is Oslo?", "context": {"asked": "[scenario:oslo]"}}'
_TO_WORKER = '{"to_agent": "weather-agent", "reason": "It knows the weather."}'
_TO_AGENT = '{"agent_name": "weather_agent"}'
SCENARIOS: Scenarios = {
    "weather": (
        Turn(calls=(_LISBON, _OSLO)),
        Turn(calls=(("lookup_customer", '{"email": "dana.fields@example.com"}'),)),
        Turn("Lisbon is 21.5 C and sunny, Oslo is -3 C with snow ❄️. I will write to dana.fields@example.com."),
    ),
    "poll": (Turn(calls=(_POLL,)), Turn(calls=(_POLL,)), Turn(calls=(_POLL,)), Turn("Job J-17 is done.")),
    "badargs": (Turn(calls=(("get_weather", '{"city": "Lis'),)), Turn(calls=(_LISBON,)), Turn("Lisbon is 21.5 C.")),
    "toolerror": (Turn(calls=(("get_weather", '{"city": "Atlantis"}'),)), Turn("I could not find Atlantis.")),
    "handoff": (Turn(calls=(("transfer_to_weather_agent", "{}"),)), Turn(calls=(_OSLO,)), Turn("Oslo is -3 C.")),
    "team": (Turn(calls=(("weather_agent", '{"input": "[scenario:oslo] How is Oslo?"}'),)), Turn("Oslo is -3 C.")),
    "managed": (Turn(calls=(("weather_agent", '{"task": "[scenario:oslo] How is Oslo?"}'),)), Turn("Oslo is -3 C.")),
    "swarm": (Turn(calls=(("handoff_to_agent", _OVER),)), Turn("Handed over.")),
    "oslo": (Turn(calls=(_OSLO,)), Turn("It is -3 C in Oslo.")),
    "report": (Turn(calls=(_OSLO,)), Turn(calls=(("Report", '{"city": "Oslo", "temp_c": -3}'),)), Turn("Done.")),
    "code": (Turn('I ask.\n<code>\nfound = get_weather(city="Lisbon")\nfinal_answer(found)\n</code>'),),
    "handover": (Turn(calls=(("handoff", _TO_WORKER),)), Turn(calls=(_OSLO,)), Turn("Oslo is -3 C.")),
    "transfer": (Turn(calls=(("transfer_to_agent", _TO_AGENT),)), Turn(calls=(_OSLO,)), Turn("Oslo is -3 C.")),
    "expert": (Turn(calls=(("weather_agent", '{"request": "[scenario:plain] Oslo?"}'),)), Turn("It understood.")),
    "policies": (Turn(calls=(("policies", '{"input": "Refunds?"}'),)), Turn("They are paid within 14 days.")),
    "plain": (Turn("Understood."),),
}


class Handler(model_server._Handler):
    """Answers requests to `/responses`, `/messages` and `:generateContent` as well."""

    def do_POST(self) -> None:
        """Answer a request."""
        api = self.path.partition("?")[0].rpartition("/")[2]
        if api.endswith((gemini_api.PLAIN, gemini_api.STREAM)):
            self._gemini(*api.split(":"))
            return
        if api not in ("responses", "messages"):
            super().do_POST()
            return
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        with self.server.lock:
            self.server.bodies.append(body)
        if api == "messages":
            whole = anthropic_api.message(body, anthropic_api.turn_for(body, self.server.scenarios))
        else:
            whole = response(body, turn_for(body, self.server.scenarios))
        if not body.get("stream"):
            self._json(200, whole)
        elif api == "messages":
            self._stream([f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in anthropic_api.events(whole)])
        else:
            self._events(numbered(events(whole)), 0)

    def _gemini(self, model: str, method: str) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        with self.server.lock:
            self.server.bodies.append(body)
        whole = gemini_api.response(body, model, gemini_api.turn_for(body, self.server.scenarios))
        if f":{method}" == gemini_api.STREAM:
            self._stream([f"data: {json.dumps(one)}\r\n\r\n" for one in gemini_api.events(whole)])
        else:
            self._json(200, whole)

    def _turn(self, body: dict[str, Any]) -> Turn:
        """Pick the turn of a chat. smolagents tells the calls that were made as text, and ends with a call."""
        told = [{**one, "tool_calls": True} if _is_call(one) else one for one in body["messages"]]
        turn = super()._turn({**body, "messages": told})
        if turn.calls or not any(one["function"]["name"] == "final_answer" for one in body.get("tools", ())):
            return turn
        return Turn(calls=(("final_answer", json.dumps({"answer": turn.text}, ensure_ascii=False)),))


def _is_call(message: dict[str, Any]) -> bool:
    return message["role"] == "assistant" and "Calling tools:" in json.dumps(message.get("content"))


class Server(ModelServer):
    """The demo's server, with that route."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(SCENARIOS, port)
        self.RequestHandlerClass = Handler


def turn_for(body: dict[str, Any], scenarios: Scenarios) -> Turn:
    """Pick the turn that answers a request: calls of tools that follow each other are one turn."""
    items = body["input"] if isinstance(body["input"], list) else []
    kinds = ["", *(one.get("type") for one in items)]
    turn = sum(1 for before, now in itertools.pairwise(kinds) if now == "function_call" != before)
    turns = scenarios[model_server.scenario_of(json.dumps(body, ensure_ascii=False), scenarios)]
    found = turns[min(turn, len(turns) - 1)]
    return found if body.get("tools") or not found.calls else Turn("Done.")


def response(body: dict[str, Any], turn: Turn) -> dict[str, Any]:
    """Return the whole answer as one object."""
    output: list[dict[str, Any]] = []
    if turn.text:
        text = {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}
        said = {"type": "message", "role": "assistant", "status": "completed", "content": [text]}
        output.append({"id": made_id("msg_", body), **said})
    for place, (name, arguments) in enumerate(turn.calls):
        ids = {"id": made_id("fc_", body, place), "call_id": made_id("call_", body, place)}
        output.append({**ids, "type": "function_call", "name": name, "arguments": arguments, "status": "completed"})
    return {
        "id": made_id("resp_", body),
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "model": SNAPSHOTS.get(body["model"], body["model"]),
        "output": output,
        "instructions": body.get("instructions"),
        "error": None,
        "incomplete_details": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": body.get("temperature", 1.0),
        "top_p": body.get("top_p", 1.0),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "usage": {
            "input_tokens": 40,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 60,
        },
    }


def events(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream."""
    open_ = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": open_}
    for index, item in enumerate(whole["output"]):
        begun = {**item, "status": "in_progress"}
        at = {"output_index": index, "item_id": item["id"]}
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        if item["type"] == "message":
            part = item["content"][0]
            inside = {**at, "content_index": 0}
            yield {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}}
            for piece in pieces(part["text"]):
                yield {"type": "response.output_text.delta", **inside, "delta": piece, "logprobs": []}
            yield {"type": "response.output_text.done", **inside, "text": part["text"], "logprobs": []}
            yield {"type": "response.content_part.done", **inside, "part": part}
        else:
            for piece in pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **at, **done}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": whole}


def numbered(made: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Number events as the API does."""
    return [{**one, "sequence_number": number} for number, one in enumerate(made)]


def pieces(text: str) -> list[str]:
    """Cut a text into what a stream sends at a time."""
    return [text[place : place + 7] for place in range(0, len(text), 7)]


def main() -> None:
    """Serve until killed; the first line on stdout is the port."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    server = Server(parser.parse_args().port)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
