"""smolagents: tools are answered in the place of their `forward`, below the library's handling of what goes in and out.

Every tool is a class, whatever it was made of (a function, a class of the user's, a Space, a tool of an MCP server or
of LangChain), and generated code calls it as the agent does. Its `setup`, which may load a model, does not run either.
`final_answer` and managed agents are the agent's own code, and run again.
"""

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

from runreel.record.convert import thaw
from runreel.replay.adapters.answers import Answers, defaults_of, of_user
from runreel.replay.boundaries.results import revive
from runreel.replay.imports import when_imported
from runreel.values import Value

_ENDING = "final_answer"


def install(answers: Answers) -> None:
    """Guard the call of tools, once the agent imports the library; what instruments it stands above."""
    when_imported("smolagents.tools", lambda module: _guard(answers, module))


def _guard(answers: Answers, module: ModuleType) -> None:
    kind: Any = module.Tool
    original = kind.__call__

    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807 - it takes the place of the class's own
        name = getattr(self, "name", None)
        if name == _ENDING or not answers.wants("tool", name, self.forward):
            return original(self, *args, **kwargs)
        tool = object.__new__(type(self))  # a call of its own: others may be going on
        vars(tool).update(vars(self), is_initialized=True, forward=_stand_in(answers, self))
        return original(tool, *args, **kwargs)

    kind.__call__ = __call__


def _stand_in(answers: Answers, tool: Any) -> Callable[..., Any]:
    function = tool.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(tool.inputs, args, strict=False)), **kwargs}
        value = answers.ask("tool", tool.name, given, defaults=defaults_of(function), errors=of_user(function))
        return _value(value, tool.output_type, function)

    return forward


def _value(value: Value, output_type: str, function: Callable[..., Any]) -> Any:
    """Return a recorded result as the tool returned it: texts and numbers are recorded bare, the rest as JSON."""
    if output_type == "string" and isinstance(value, str):
        return value
    if not isinstance(value, str):
        return thaw(value)
    annotation = getattr(inspect.unwrap(function), "__annotations__", {}).get("return")
    return revive(value, None if isinstance(annotation, str) else annotation)
