"""Google ADK: function tools are answered below their validation, confirmation and callbacks, other tools as a whole.

A tool that is a function (long-running ones, too) is answered where the library calls it. What the library makes of
something else (an agent, an OpenAPI operation, a tool of a toolset or of an MCP server) is answered in the place of its
`run_async`. A transfer to another agent is the agent's own code, and is made again.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from runreel.replay.adapters.answers import Answers, calling, defaults_of, is_boundary, of_user
from runreel.replay.adapters.guarding import guard_classes
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.results import revive
from runreel.replay.imports import when_imported
from runreel.values import Value

_FUNCTION_TOOL = "google.adk.tools.function_tool"
_STEERING = frozenset(
    f"google.adk.tools.{name}" for name in ("transfer_to_agent_tool", "exit_loop_tool", "set_model_response_tool")
)
"""Where tools steer the agent itself, and run again."""
_NO_OBJECTS = (str, int, float, bool, list, tuple)


def install(answers: Answers) -> None:
    """Guard the tools of every class, once the agent imports them."""
    when_imported("google.adk.tools.base_tool", lambda module: _guard_tools(answers, module))
    when_imported(_FUNCTION_TOOL, lambda module: _guard_function_tools(answers, module))


_asked: ContextVar[list[str] | None] = ContextVar("runreel_adk_asked", default=None)
"""What the tool that is being called has asked for so far."""


def _guard_tools(answers: Answers, module: ModuleType) -> None:
    def guard(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def run_async(self: Any, *, args: dict[str, Any], tool_context: Any) -> Any:
            with calling(getattr(tool_context, "function_call_id", None)):
                if method.__module__ in _STEERING or not answers.wants("tool", self.name, method):
                    return await method(self, args=args, tool_context=tool_context)
                if method.__module__ == _FUNCTION_TOOL:
                    return await _validated(answers, self, args, method(self, args=args, tool_context=tool_context))
                await functions.checkpoint()
                return revive(answers.ask("tool", self.name, args, errors=vars(module)))

        return run_async

    guard_classes(module.BaseTool, {"run_async": guard})


async def _validated(answers: Answers, tool: Any, arguments: Mapping[str, Any], running: Awaitable[Any]) -> Any:
    """Run a function tool; what the library says itself, of arguments that do not fit or a call that needs to be
    confirmed, was recorded as the tool's result."""
    asked: list[str] = []
    token = _asked.set(asked)
    try:
        result = await running
    finally:
        _asked.reset(token)
    if not asked and _is_answered_here(answers, tool):
        answers.ask("tool", tool.name, arguments, defaults=defaults_of(tool.func))
    return result


def _is_answered_here(answers: Answers, tool: Any) -> bool:
    # A swapped function is answered here as well: it would be asked with the context that the library gives it, and
    # its results are recorded as the library puts them.
    steers = getattr(tool.func, "__module__", "") in _STEERING
    return answers.wants("tool", tool.name) and not steers and not is_boundary(tool.func)


def _guard_function_tools(answers: Answers, module: ModuleType) -> None:
    kind: Any = module.FunctionTool
    invoke, run_generator = kind._invoke_callable, kind._run_generator_as_node

    @functools.wraps(invoke)
    async def _invoke_callable(self: Any, target: Callable[..., Any], args_to_call: dict[str, Any]) -> Any:
        if target is not self.func or not _is_answered_here(
            answers, self
        ):  # who is asked whether a call needs to be confirmed
            return await invoke(self, target, args_to_call)
        return await _answer(answers, self, args_to_call)

    @functools.wraps(run_generator)
    async def _run_generator_as_node(self: Any, *, args_to_call: dict[str, Any], tool_context: Any) -> Any:
        if not _is_answered_here(answers, self):
            return await run_generator(self, args_to_call=args_to_call, tool_context=tool_context)
        return await _answer(answers, self, args_to_call)

    kind._invoke_callable, kind._run_generator_as_node = _invoke_callable, _run_generator_as_node


async def _answer(answers: Answers, tool: Any, arguments: Mapping[str, Any]) -> Any:
    await functions.checkpoint()
    if (asked := _asked.get()) is not None:
        asked.append(tool.name)
    given = {key: value for key, value in arguments.items() if key not in tool._ignore_params}
    value = answers.ask("tool", tool.name, given, defaults=defaults_of(tool.func), errors=of_user(tool.func))
    return _returned(value, tool.func)


def _returned(value: Value, function: Callable[..., Any]) -> Any:
    """Return what the function did: the library puts what is no object under `result`, which it does again."""
    annotation = getattr(inspect.unwrap(function), "__annotations__", {}).get("return")
    found = revive(value)
    if annotation in _NO_OBJECTS and isinstance(found, dict) and set(found) == {"result"}:
        return found["result"]
    return revive(value, None if isinstance(annotation, str) else annotation)
