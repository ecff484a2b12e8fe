"""The OpenAI Agents SDK: function tools are answered below their validation, guardrails and error handling.

A tool made by `function_tool` keeps everything but the function that it calls. Tools that the library makes of
something else (an agent as a tool, tools of an MCP server) are answered in the place of what they would have done.
Hand-offs are the agent's own code, and are made again.
"""

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from types import CellType, ModuleType
from typing import Any

from runreel.record.convert import thaw
from runreel.replay.adapters.answers import Answers, calling, defaults_of, of_user
from runreel.replay.boundaries import functions, standing
from runreel.replay.boundaries.results import revive
from runreel.replay.imports import when_imported
from runreel.values import Value

_FUNCTION = "the_func"
"""What `function_tool` calls the user's function inside what it makes."""

_OUTPUTS = {
    **{kind: kind for kind in ("text", "image", "file")},
    **{f"input_{kind}": kind for kind in ("text", "image")},
}
"""What a tool may return, as the SDK calls it and as the API does."""


def install(answers: Answers) -> None:
    """Have every tool answered that is made from now on, once the agent imports the library."""
    when_imported("agents.tool", lambda module: _guard(answers, module))


def _guard(answers: Answers, module: ModuleType) -> None:
    kind: Any = module.FunctionTool
    invoker: Any = module._FailureHandlingFunctionToolInvoker
    made, call, errors = kind.__post_init__, invoker.__call__, vars(module)

    @functools.wraps(made)
    def __post_init__(self: Any) -> None:  # noqa: N807 - it takes the place of the class's own
        made(self)
        if answers.wants("tool", self.name, self.on_invoke_tool):
            _answer(answers, self, errors)

    @functools.wraps(call)
    async def __call__(self: Any, context: Any, given: str) -> Any:  # noqa: N807
        with calling(getattr(context, "tool_call_id", None)):
            return await call(self, context, given)

    kind.__post_init__, invoker.__call__ = __post_init__, __call__


def _answer(answers: Answers, tool: Any, errors: Mapping[str, Any]) -> None:
    """Put the record in the place of the tool's function, or of all that the tool does."""
    invoke = tool.on_invoke_tool
    implementation = getattr(invoke, "_invoke_tool_impl", None)
    cell = _cell(implementation)
    if cell is not None:
        function = cell.cell_contents
        if answers.wants("tool", tool.name, function):
            cell.cell_contents = _stand_in(answers, tool.name, function, errors)
    elif implementation is not None:  # what handles errors stays above
        if not getattr(implementation, standing.MARK, ""):
            of_server = getattr(getattr(tool, "_tool_origin", None), "type", None) == "mcp"
            invoke._invoke_tool_impl = _whole(answers, tool.name, errors, _outputs if of_server else thaw)
    else:
        tool.on_invoke_tool = _whole(answers, tool.name, errors)


def _cell(implementation: Any) -> CellType | None:
    """Return where a tool made by `function_tool` keeps its function; None for other tools."""
    code, closure = getattr(implementation, "__code__", None), getattr(implementation, "__closure__", None)
    if code is None or closure is None or _FUNCTION not in code.co_freevars:
        return None
    found: CellType = closure[code.co_freevars.index(_FUNCTION)]
    return found


def _stand_in(
    answers: Answers, name: str, function: Callable[..., Any], errors: Mapping[str, Any]
) -> Callable[..., Any]:
    """Make a function that answers, async where the tool's own is."""
    signature = inspect.signature(function)
    known = {**errors, **of_user(function)}
    annotation = getattr(inspect.unwrap(function), "__annotations__", {}).get("return")

    def ask(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        bound = signature.bind(*args, **kwargs)
        given = {key: value for key, value in bound.arguments.items() if not _is_context(value)}
        value = answers.ask("tool", name, given, defaults=defaults_of(function), errors=known)
        return _value(value, None if isinstance(annotation, str) else annotation)

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def later(*args: Any, **kwargs: Any) -> Any:
            await functions.checkpoint()
            return ask(args, kwargs)

        setattr(later, standing.MARK, name)
        return later

    @functools.wraps(function)
    def now(*args: Any, **kwargs: Any) -> Any:
        return ask(args, kwargs)

    setattr(now, standing.MARK, name)
    return now


def _value(value: Value, annotation: object) -> Any:
    """What the model is told is the text that was recorded, unless the function says that it returns something else."""
    return value if isinstance(value, str) and annotation is None else revive(value, annotation)


def _is_context(value: object) -> bool:
    return any(one.__name__ == "RunContextWrapper" for one in type(value).__mro__)


def _whole(
    answers: Answers, name: str, errors: Mapping[str, Any], made: Callable[[Value], Any] = thaw
) -> Callable[..., Any]:
    """Make what answers for all that a tool does; `made` makes of the record what the tool returns."""

    async def on_invoke_tool(context: Any, given: str) -> Any:
        await functions.checkpoint()
        call_id = str(getattr(context, "tool_call_id", None) or "")
        try:
            arguments = json.loads(given) if given else {}
        except ValueError:
            arguments = given
        return made(answers.ask("tool", name, arguments, call_id=call_id, errors=errors))

    setattr(on_invoke_tool, standing.MARK, name)
    return on_invoke_tool


def _outputs(value: Value) -> Any:
    """Return a result of an MCP server as the SDK makes it of one: texts, images and files by their kind.

    They are recorded as JSON, in the SDK's own words or in those of the API; anything else is the text that it is.
    """
    plain = thaw(value)
    if isinstance(plain, str):
        try:
            plain = json.loads(plain)
        except ValueError:
            return plain
    items = plain if isinstance(plain, list) else [plain]
    if not items or not all(isinstance(one, dict) and one.get("type") in _OUTPUTS for one in items):
        return thaw(value)
    made = [{**one, "type": _OUTPUTS[one["type"]]} for one in items]
    return made if len(made) > 1 else made[0]
