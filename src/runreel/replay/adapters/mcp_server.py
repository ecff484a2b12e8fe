"""What stands in the place of an MCP server: the requests of a session are answered from what the record holds.

Calls of tools are on the tape. The list of tools is no step of a run; it is told by the tool definitions that the
model was given, which are made of it. What neither holds is said, never invented.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from runreel.canonical import loads
from runreel.record import sessions
from runreel.record.convert import thaw
from runreel.record.said import SESSIONS
from runreel.replay.adapters.answers import Answers
from runreel.replay.boundaries.functions import FailedError
from runreel.replay.values import Entry
from runreel.values import Value

METHOD_NOT_FOUND: Final = -32601
INTERNAL_ERROR: Final = -32603
_CLOSED: Final = -32000
_BLOCKS: Final = frozenset({"text", "image", "audio", "resource", "resource_link"})
# What an instrumentation calls an error of the protocol, in both generations of the library.
_OF_PROTOCOL: Final = ("McpError", "MCPError")
_RECORD_IT: Final = "call runreel.record.mcp() at the start of the agent and record it again"


@dataclass(frozen=True, slots=True)
class ProtocolError(Exception):
    """The answer to a request is an error of the protocol, with this code."""

    code: int
    message: str


def facts(entries: Iterable[Entry]) -> dict[str, Any]:
    """Return what a record holds for MCP sessions: the tools that models were told of, the methods that were recorded
    of sessions."""
    listed = tuple(entries)
    asked = {_method(one) for one in listed if (one.kind, one.name) == ("memory", SESSIONS)}
    return {"tools": definitions(listed), "requests": sorted(asked)}


def _method(entry: Entry) -> str:
    given = entry.request.get("arguments") if isinstance(entry.request, Mapping) else None
    return str(given.get("request")) if isinstance(given, Mapping) else ""


def definitions(entries: Iterable[Entry]) -> list[dict[str, Any]]:
    """Return the tools that the recorded model calls were given, as MCP lists them, each once, in order."""
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        tools = entry.request.get("tools") if entry.kind == "llm" and isinstance(entry.request, Mapping) else None
        for one in tools if isinstance(tools, tuple) else ():
            name = one.get("name") if isinstance(one, Mapping) else None
            if isinstance(one, Mapping) and isinstance(name, str) and name not in found:
                found[name] = _listed(one)
    return list(found.values())


def _listed(definition: Mapping[str, Value]) -> dict[str, Any]:
    schema = thaw(definition.get("parameters"))
    tool = {"name": definition["name"], "inputSchema": schema if isinstance(schema, dict) else {"type": "object"}}
    if isinstance(definition.get("description"), str):
        tool["description"] = definition["description"]
    return tool


@dataclass(slots=True)
class Listing:
    """The tools that the servers of a run have. `own` are functions of the agent's: no server listed them.

    Which server listed which tool is not recorded: the first one that is asked lists all of them, and the others none.
    An agent that gives its model all that it has sees the same tools in the same order.
    """

    answers: Answers
    first: str = ""
    _tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    _left_out: Sequence[str] = ()

    def __post_init__(self) -> None:
        own = set(self.answers.facts.get("own", ()))
        told = self.answers.facts.get("tools") or [
            {"name": name, "inputSchema": {"type": "object"}}
            for name, kind in self.answers.kinds.items()
            if kind == "tool"
        ]
        # Where nothing would be left, the functions that have the names are the server's, in a file that both import.
        listed = [one for one in told if one["name"] not in own] or told
        self._tools = {one["name"]: one for one in listed}
        self._left_out = [one["name"] for one in told if one["name"] not in self._tools]

    def of(self, server: str) -> list[Mapping[str, Any]]:
        """Return what a server is told to have; notes say where that comes from."""
        self.first = self.first or server
        self._note(server)
        return list(self._tools.values()) if server == self.first else []

    def defaults(self, name: str) -> dict[str, Any]:
        """Return the defaults that a tool's schema declares."""
        properties = self._tools.get(name, {}).get("inputSchema", {}).get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        return {key: one["default"] for key, one in known.items() if isinstance(one, Mapping) and "default" in one}

    def _note(self, server: str) -> None:
        tell = self.answers.tell
        if self._left_out:
            tell(
                f"functions of the agent's own were not listed as tools of an MCP server: {', '.join(self._left_out)}. "
                f"Where they are the server's, {_RECORD_IT}"
            )
        if server != self.first:
            tell(
                "which MCP server has which tool is not recorded: the first one that was asked listed all of them. "
                f"Where that makes a difference, {_RECORD_IT}"
            )
        elif not self.answers.facts.get("tools"):
            tell(
                "what the MCP server's tools are told to be is not recorded: the names of the recorded calls were "
                f"listed, without descriptions and parameters. Where that makes a difference, {_RECORD_IT}"
            )
        else:
            tell(
                "the tools of the MCP server were listed as the model was told of them: their titles, annotations and "
                "output schemas, and names without a prefix of the framework's, are not recorded. Where that makes a "
                f"difference, {_RECORD_IT}"
            )


@dataclass(slots=True)
class Server:
    """One server, as a session sees it. `name` tells it from the others: its command line, or its address."""

    name: str
    answers: Answers
    listing: Listing

    def reply(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a request. Raises ProtocolError for an error of the protocol, DivergedError for what was
        not recorded."""
        if method in self.answers.facts.get("requests", ()) and method != sessions.CALL and sessions.is_recorded():
            return self._held(method, params)
        if method == "initialize":
            return {
                "protocolVersion": params.get("protocolVersion"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "recorded", "version": "0"},
            }
        if method == "tools/list":
            return {"tools": self.listing.of(self.name)}
        if method == sessions.CALL:
            return self._call(str(params.get("name")), params.get("arguments") or {})
        if method in ("ping", "logging/setLevel"):
            return {}
        if method == sessions.DISCOVER:
            raise ProtocolError(METHOD_NOT_FOUND, "the record is answered in the older way")
        self.answers.tell(f"{method} of an MCP server is not in the record: {_RECORD_IT}")
        return self._held(method, params)

    def _held(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Ask for what the recorder recorded, or for what it would have."""
        asked = {"op": "search", "arguments": sessions.request_of(method, params)}
        try:
            result = thaw(self.answers.ask_plainly("memory", SESSIONS, asked))
        except FailedError as failed:
            raise _of_protocol(failed) from failed
        return result if isinstance(result, dict) else {}

    def _call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        recorded = recorded_name(name, self.answers.kinds)
        try:
            value = self.answers.ask_plainly("tool", recorded, arguments, defaults=self.listing.defaults(recorded))
        except FailedError as failed:
            if failed.type.rpartition(".")[2] in _OF_PROTOCOL:
                raise _of_protocol(failed) from failed
            return {"content": [_text(failed.message or failed.type)], "isError": True}
        return result_of(value)


def _of_protocol(failed: FailedError) -> ProtocolError:
    """Return the error again, with its code where the library's exception was recorded with what it was made of."""
    made_of = loads(failed.arguments) if failed.arguments else ()
    codes = (one for one in made_of if type(one) is int) if isinstance(made_of, tuple) else iter(())
    guess = _CLOSED if "closed" in failed.message.lower() else INTERNAL_ERROR
    return ProtocolError(next(codes, guess), failed.message)


def recorded_name(name: str, kinds: Mapping[str, str]) -> str:
    """Return what a tool is recorded as: by its name, or as the one tool that has it behind a prefix of its server's.

    Frameworks put `server_` or `server__` before names, for the model; the server hears its own.
    """
    if name in kinds:
        return name
    ends = re.compile(rf"[^A-Za-z0-9]{re.escape(name)}$")
    prefixed = [one for one, kind in kinds.items() if kind == "tool" and ends.search(one)]
    return prefixed[0] if len(prefixed) == 1 else name


def result_of(value: Value) -> dict[str, Any]:
    """Return a tool's recorded result as MCP has it: whole where it is one, else around its text or its value."""
    plain = thaw(value)
    if isinstance(plain, dict) and _are_blocks(plain.get("content")):
        return plain
    if isinstance(plain, (list, tuple)) and plain and _are_blocks(plain):
        return {"content": list(plain), "isError": False}
    if isinstance(plain, dict) and _are_blocks([plain]):
        return {"content": [plain], "isError": False}
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    result: dict[str, Any] = {"content": [_text(text)], "isError": False}
    structured = _object(text)
    if structured is not None:
        result["structuredContent"] = structured
    return result


def _are_blocks(content: object) -> bool:
    return isinstance(content, Sequence) and all(
        isinstance(one, dict) and one.get("type") in _BLOCKS for one in content
    )


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
