"""A scripted model server on loopback: the OpenAI chat API, plain and streaming, with the same answers every time.

    POST /v1/chat/completions    GET /v1/models    GET /__log (bodies seen)    POST /__reset

The answer depends on the request alone: on the scenario (the last "[scenario:NAME]" in it, else the first there is) and
on how many assistant turns of its history asked for tools. No clock and no randomness, so equal requests get equal
bytes. Only a scenario called "flaky" is different: it refuses each request once.

As a program: `python -m runreel.demo.model_server --port 0` prints the port that it took, then serves until it is
killed.
"""

import argparse
import hashlib
import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from typing import Any, TypeVar

Server = TypeVar("Server", bound=BaseServer)
CREATED = 1767225600  # 2026-01-01T00:00:00Z
SNAPSHOTS = {"gpt-4o-mini": "gpt-4o-mini-2024-07-18"}
CHUNK = 7  # characters a streamed fragment holds


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of the model: text, reasoning and tool calls (name, arguments as text, which need not be JSON).

    `status` is another HTTP status than 200; `cut_after` ends a stream after so many events without closing it well.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    reasoning: str = ""
    status: int = 200
    cut_after: int = 0


Scenarios = Mapping[str, tuple[Turn, ...]]
DEMO: Scenarios = {
    "refund": (
        Turn("Let me look that order up.", calls=(("lookup_order", '{"order_id": "A-1042"}'),)),
        Turn(calls=(("refund", '{"order_id": "A-1042", "cents": 4900}'),)),
        Turn(
            "Your refund of $49.00 for order A-1042 is on its way to the card you used. I have written the receipt to "
            "dana.fields@example.com."
        ),
    ),
}
_ERROR_TYPES = {404: "invalid_request_error", 429: "rate_limit_error", 500: "server_error"}


def scenario_of(text: str, scenarios: Scenarios) -> str:
    """Return the last scenario named in a text, the first there is where none is named."""
    named = [name for name in re.findall(r"\[scenario:([a-z]+)\]", text) if name in scenarios]
    return named[-1] if named else next(iter(scenarios))


def turn_for(body: dict[str, Any], scenarios: Scenarios) -> Turn:
    """Pick the turn that answers a request."""
    turns = scenarios[scenario_of(json.dumps(body, ensure_ascii=False), scenarios)]
    asked = sum(1 for m in body["messages"] if m.get("role") == "assistant" and m.get("tool_calls"))
    turn = turns[min(asked, len(turns) - 1)]
    return turn if body.get("tools") or not turn.calls else Turn("Done.")


def _id(prefix: str, body: dict[str, Any], n: int = 0) -> str:
    return prefix + hashlib.sha256(json.dumps([body, n], sort_keys=True).encode()).hexdigest()[:24]


def _tokens(value: Any) -> int:
    return max(1, len(json.dumps(value)) // 4)


def _message(turn: Turn, body: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": _id("call_", body, i), "type": "function", "function": {"name": name, "arguments": arguments}}
        for i, (name, arguments) in enumerate(turn.calls)
    ]
    content = turn.text if turn.text or not calls else None
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
    if calls:
        message["tool_calls"] = calls
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    return message


def _usage(body: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    prompt, completion = _tokens(body["messages"]), _tokens(message)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _base(body: dict[str, Any], kind: str) -> dict[str, Any]:
    model = body["model"]
    return {
        "id": _id("chatcmpl-", body),
        "created": CREATED,
        "model": SNAPSHOTS.get(model, model),
        "system_fingerprint": "fp_fake0001",
        "service_tier": "default",
        "object": kind,
    }


def completion(body: dict[str, Any], turn: Turn) -> dict[str, Any]:
    """Return the whole answer as one object."""
    message = _message(turn, body)
    finish = "tool_calls" if turn.calls else "stop"
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
    return {**_base(body, "chat.completion"), "usage": _usage(body, message), "choices": [choice]}


def _fragments(text: str) -> list[str]:
    return [text[i : i + CHUNK] for i in range(0, len(text), CHUNK)]


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in _fragments(message.get("reasoning_content", "")):
        yield {"reasoning_content": piece}
    for piece in _fragments(message["content"] or ""):
        yield {"content": piece}
    for i, call in enumerate(message.get("tool_calls", ())):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        opening = {"index": i, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        yield {"tool_calls": [opening]}
        for piece in _fragments(arguments):
            yield {"tool_calls": [{"index": i, "function": {"arguments": piece}}]}


def chunks(body: dict[str, Any], turn: Turn) -> list[dict[str, Any]]:
    """Return the answer as the objects of a stream."""
    message, base = _message(turn, body), _base(body, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]}

    out = [chunk(delta) for delta in _deltas(message)]
    out.append(chunk({}, "tool_calls" if turn.calls else "stop"))
    if (body.get("stream_options") or {}).get("include_usage"):
        out.append({**base, "choices": [], "usage": _usage(body, message)})
    return out


class ModelServer(ThreadingHTTPServer):
    """The server and what it has been asked; `bodies` holds each request in order of arrival."""

    daemon_threads = True

    def __init__(self, scenarios: Scenarios, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.scenarios = scenarios
        self.lock = threading.Lock()
        self.bodies: list[dict[str, Any]] = []
        self.refused: set[bytes] = set()

    @property
    def url(self) -> str:
        """Base URL, as `OPENAI_BASE_URL` wants it."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away; show anything else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def reset(self) -> None:
        """Forget what has been asked."""
        with self.lock:
            self.bodies.clear()
            self.refused.clear()


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Say nothing: tests read `bodies`."""

    def do_GET(self) -> None:
        if self.path == "/__log":
            self._json(200, self.server.bodies)
        elif self.path == "/v1/models":
            models = [{"id": m, "object": "model", "created": CREATED, "owned_by": "test"} for m in SNAPSHOTS]
            self._json(200, {"object": "list", "data": models})
        else:
            self._error(404, f"no such route {self.path}")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/__reset":
            self.server.reset()
            self._json(200, {"ok": True})
        elif self.path.partition("?")[0].endswith("/chat/completions"):
            self._chat(raw)
        else:
            self._error(404, f"no such route {self.path}")

    def _chat(self, raw: bytes) -> None:
        body = json.loads(raw)
        with self.server.lock:
            self.server.bodies.append(body)
            first = raw not in self.server.refused
            self.server.refused.add(raw)
        if first and scenario_of(raw.decode(), self.server.scenarios) == "flaky":
            self._error(429, "Rate limit reached", ("retry-after", "0"))
            return
        turn = self._turn(body)
        if turn.status != 200:
            self._error(turn.status, turn.text)
        elif body.get("stream"):
            self._events(chunks(body, turn), turn.cut_after)
        else:
            self._json(200, completion(body, turn))

    def _turn(self, body: dict[str, Any]) -> Turn:
        return turn_for(body, self.server.scenarios)

    def _error(self, status: int, message: str, *headers: tuple[str, str]) -> None:
        error = {"message": message, "type": _ERROR_TYPES[status], "param": None, "code": None}
        self._json(status, {"error": error}, *headers)

    def _json(self, status: int, value: Any, *headers: tuple[str, str]) -> None:
        data = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        sizes = (("content-type", "application/json"), ("content-length", str(len(data))), ("x-request-id", "req_test"))
        for name, text in (*sizes, *headers):
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(data)

    def _events(self, events: Sequence[dict[str, Any]], cut_after: int) -> None:
        texts = [json.dumps(event, ensure_ascii=False) for event in events] + ["[DONE]"]
        self._stream([f"data: {text}\n\n" for text in texts], cut_after)

    def _stream(self, texts: Sequence[str], cut_after: int = 0) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            for text in texts[: cut_after or None]:
                data = text.encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
                self.wfile.flush()
            if cut_after:
                self.close_connection = True
            else:
                self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            # The client walked away from the stream, as some scenarios want it.
            self.close_connection = True


@contextmanager
def serving(scenarios: Scenarios, port: int = 0) -> Iterator[ModelServer]:
    """Serve in a thread of this process until the block ends."""
    with in_thread(ModelServer(scenarios, port)) as server:
        yield server


@contextmanager
def in_thread(server: Server) -> Iterator[Server]:
    """Serve with any server in a thread of this process until the block ends."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main(scenarios: Scenarios = DEMO) -> None:
    """Serve until killed; the first line on stdout is the port."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    server = ModelServer(scenarios, options.parse_args().port)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
