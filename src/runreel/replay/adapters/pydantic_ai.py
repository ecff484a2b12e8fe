"""Pydantic AI: function tools are answered below their validation, retries, timeouts and hooks.

Arguments are validated, and approval is asked for, as always; in the place of the function the record answers.
"""

import dataclasses
import functools
from types import ModuleType
from typing import Any

from runreel.replay.adapters.answers import Answers, calling, defaults_of, of_user
from runreel.replay.boundaries import functions
from runreel.replay.boundaries.results import revive
from runreel.replay.imports import when_imported


def install(answers: Answers) -> None:
    """Have the tools of function toolsets answered, once the agent imports the library."""
    when_imported("pydantic_ai.toolsets.function", lambda module: _guard(answers, module))


def _guard(answers: Answers, module: ModuleType) -> None:
    toolset: Any = module.FunctionToolset
    original = toolset.call_tool

    @functools.wraps(original)
    async def call_tool(self: Any, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        call_id = str(getattr(ctx, "tool_call_id", None) or "")
        function = getattr(getattr(tool.call_func, "__self__", None), "function", None)
        # Toolsets may put a prefix to names, or rename: the model's name for the tool is the one that is recorded.
        names = (getattr(ctx, "_dispatched_tool_name", None), name, getattr(tool, "original_name", None))
        recorded = next((one for one in names if answers.wants("tool", one, function)), None)
        if recorded is not None:
            tool = dataclasses.replace(tool, call_func=_answering(answers, str(recorded), call_id, function))
        with calling(call_id):
            return await original(self, name, tool_args, ctx, tool)

    toolset.call_tool = call_tool


def _answering(answers: Answers, name: str, call_id: str, function: Any) -> Any:
    async def call_func(arguments: dict[str, Any], _context: Any) -> Any:
        await functions.checkpoint()
        value = answers.ask(
            "tool",
            name,
            arguments,
            call_id=call_id,
            defaults=defaults_of(function) if function is not None else {},
            errors=of_user(function),
        )
        annotation = getattr(function, "__annotations__", {}).get("return")
        return revive(value, None if isinstance(annotation, str) else annotation)

    return call_func
