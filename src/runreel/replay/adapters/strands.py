"""Strands Agents: tools are answered below their validation, hooks, middleware and the agent's own retries.

A function under `@tool` keeps everything but the function: its arguments are validated, and its result is made, as
always. Other tools (classes, modules, tools of MCP servers, agents as tools) are answered in the place of what they
would have done, with a result of the library's own. Tools by which the library steers itself (a structured output, a
hand-over in a swarm) are compared with the record, and run: the agent needs what they do to it.
"""

import copy
import functools
import importlib
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from types import ModuleType
from typing import Any

from runreel.record.convert import thaw
from runreel.replay.adapters.answers import Answers, calling, defaults_of, is_boundary, of_user
from runreel.replay.adapters.guarding import guard_classes
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.errors import revive_chain
from runreel.replay.imports import when_imported
from runreel.values import Value

_STEERING = ("strands.multiagent.", "strands.tools.structured_output.", "strands.vended_tools.stop.")
"""Where the tools stand that do nothing but steer the agent that calls them."""
_BLOCKS = frozenset({"text", "json", "image", "document", "video"})
_STATUS_ONLY = "Error"
"""What the record names a failure whose tool raised nothing: it returned a result that says so."""


def install(answers: Answers) -> None:
    """Guard the tools' classes as they are made, once the agent imports the library."""
    when_imported("strands.types.tools", lambda module: _guard(answers, module))


def _guard(answers: Answers, module: ModuleType) -> None:
    def guard(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def stream(self: Any, tool_use: Mapping[str, Any], *rest: Any, **more: Any) -> AsyncIterator[Any]:
            call_id = str(tool_use.get("toolUseId") or "")
            name, function = tool_use.get("name"), _function(self)
            tool = self
            if answers.wants("tool", name) and not is_boundary(function):
                asking = functools.partial(_ask, answers, str(name), tool_use.get("input"), call_id, function)
                if _steers(self, function):
                    _compare(asking)
                elif function is None:
                    await functions.checkpoint()
                    yield _event(call_id, _answer(asking, {}))
                    return
                else:
                    tool = copy.copy(self)  # a call of its own: others may be going on
                    tool._tool_func = _stand_in(function, asking)
            async for event in _named(call_id, method(tool, tool_use, *rest, **more)):
                yield event

        return stream

    guard_classes(module.AgentTool, {"stream": guard})


async def _named(call_id: str, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Pass events on; what happens on the way to each knows the model's id of the call."""
    while True:
        with calling(call_id):
            try:
                event = await anext(events)
            except StopAsyncIteration:
                return
        yield event


def _function(tool: Any) -> Callable[..., Any] | None:
    """Return the function below `@tool`; None for tools that are given the whole request."""
    return tool._tool_func if hasattr(tool, "_metadata") and callable(getattr(tool, "_tool_func", None)) else None


def _steers(tool: Any, function: Callable[..., Any] | None) -> bool:
    module = type(tool).__module__ if function is None else str(getattr(function, "__module__", ""))
    return f"{module}.".startswith(_STEERING)


def _compare(asking: Callable[[], Any]) -> None:
    """Have a call compared with the record, which says as well how it ended: it ends so again by itself."""
    try:
        asking()
    except functions.FailedError:
        return


def _ask(answers: Answers, name: str, given: object, call_id: str, function: Callable[..., Any] | None) -> Value:
    """Ask with what the model gave, before it is validated: that is what the library records."""
    defaults = defaults_of(function) if function is not None else {}
    return answers.ask_plainly("tool", name, given, call_id=call_id, defaults=defaults)


def _stand_in(function: Callable[..., Any], asking: Callable[[], Value]) -> Callable[..., Any]:
    """Make a function that answers, of the kind that the tool's own is of."""
    names = of_user(function)
    if inspect.isasyncgenfunction(function):

        @functools.wraps(function)
        async def last(*_: Any, **__: Any) -> AsyncIterator[Any]:
            await functions.checkpoint()
            yield _answer(asking, names)

        return last
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def later(*_: Any, **__: Any) -> Any:
            await functions.checkpoint()
            return _answer(asking, names)

        return later

    @functools.wraps(function)
    def now(*_: Any, **__: Any) -> Any:
        return _answer(asking, names)

    return now


def _answer(asking: Callable[[], Value], names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the recorded result, which may say that the tool failed; raise what it raised, if it did."""
    try:
        return _result("success", asking())
    except functions.FailedError as failed:
        if failed.type == _STATUS_ONLY:
            return _result("error", failed.message)
        error = revive_chain(failed.type, failed.message, failed.causes, names)
    raise error


def _result(status: str, value: Value) -> dict[str, Any]:
    """Return a result in the library's form: the blocks that were recorded, or one that holds the value."""
    if isinstance(value, tuple) and all(isinstance(one, Mapping) and one and one.keys() <= _BLOCKS for one in value):
        return {"status": status, "content": thaw(value)}
    return {"status": status, "content": [{"text": value} if isinstance(value, str) else {"json": thaw(value)}]}


def _event(call_id: str, result: Mapping[str, Any]) -> Any:
    return importlib.import_module("strands.types._events").ToolResultEvent({"toolUseId": call_id, **result})
