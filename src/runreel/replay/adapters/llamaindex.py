"""LlamaIndex: tools are answered below their validation, callbacks and error handling, retrievers below their events.

A `FunctionTool` keeps everything but the functions that it calls. Other tools (query engines, retrievers, what is
loaded on demand, classes of the agent's own) are answered in the place of what they would have done, and give the
library's own `ToolOutput`. A hand-off of an `AgentWorkflow` is the agent's own code, and is made again.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from runreel.record.convert import thaw
from runreel.replay.adapters.answers import Answers, defaults_of, is_boundary, of_user
from runreel.replay.adapters.guarding import guard_classes
from runreel.replay.boundaries import functions, standing
from runreel.replay.boundaries.results import revive
from runreel.replay.imports import when_imported
from runreel.values import Value

_FUNCTION_TOOL = "llama_index.core.tools.function_tool"
_WORKFLOW = "llama_index.core.agent.workflow.multi_agent_workflow"
"""Where the function stands that hands over to another agent."""


def install(answers: Answers) -> None:
    """Guard tools and retrievers as their classes are made, once the agent imports them."""
    when_imported("llama_index.core.tools.types", lambda module: _guard_tools(answers, module))
    when_imported(_FUNCTION_TOOL, lambda module: _guard_function_tools(answers, module))
    when_imported("llama_index.core.base.base_retriever", lambda module: _guard_retrievers(answers, module))


# --- tools made of a function -----------------------------------------------------------------------------------------


def _guard_function_tools(answers: Answers, module: ModuleType) -> None:
    kind: Any = module.FunctionTool
    made = kind.__init__

    @functools.wraps(made)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it takes the place of the class's own
        made(self, *args, **kwargs)
        name = self.metadata.name
        # A function that is given the workflow's context cannot answer itself: no model wrote that argument.
        inner = (
            () if self.requires_context and not is_boundary(self.real_fn) else (self.fn, self.async_fn, self.real_fn)
        )
        if getattr(self.real_fn, "__module__", "") != _WORKFLOW and answers.wants("tool", name, *inner):
            self._fn, self._async_fn = _stand_ins(answers, self, str(name))

    kind.__init__ = __init__


def _stand_ins(answers: Answers, tool: Any, name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Make the two functions that a tool calls: both ask."""
    function, hidden = tool.real_fn, {tool.ctx_param_name, *tool.partial_params}
    annotation = getattr(inspect.unwrap(function), "__annotations__", {}).get("return")
    defaults = {**defaults_of(function), **tool._field_defaults}
    errors = of_user(function)

    def now(*args: Any, **kwargs: Any) -> Any:
        given = {key: value for key, value in _named(function, args, kwargs).items() if key not in hidden}
        value = answers.ask("tool", name, given, defaults=defaults, errors=errors)
        return _value(value, None if isinstance(annotation, str) else annotation)

    async def later(*args: Any, **kwargs: Any) -> Any:
        await functions.checkpoint()
        return now(*args, **kwargs)

    for made in (now, later):
        setattr(made, standing.MARK, name)
    return now, later


def _named(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Put arguments as a model names them; raises TypeError, as the function does, for those that do not fit."""
    bound = inspect.signature(function).bind(*args, **kwargs).arguments
    out: dict[str, Any] = {}
    for key, value in bound.items():
        rest = inspect.signature(function).parameters[key].kind is inspect.Parameter.VAR_KEYWORD
        out.update(value if rest else {key: value})
    return out


def _value(value: Value, annotation: object) -> Any:
    """What a model is told is the text that was recorded, unless the function says that it returns something else."""
    return value if isinstance(value, str) and annotation is None else revive(value, annotation)


# --- other tools ------------------------------------------------------------------------------------------------------


def _guard_tools(answers: Answers, module: ModuleType) -> None:
    def guard(method: Callable[..., Any]) -> Callable[..., Any]:
        if method.__module__ in (_FUNCTION_TOOL, module.__name__) and "Adapter" not in method.__qualname__:
            return method

        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not _is_recorded(answers, self, method):
                return method(self, *args, **kwargs)
            return _output(answers, self, args, kwargs, module)

        return call

    def guard_async(method: Callable[..., Any]) -> Callable[..., Any]:
        if method.__module__ == _FUNCTION_TOOL:
            return method

        @functools.wraps(method)
        async def acall(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not _is_recorded(answers, self, method):
                return await method(self, *args, **kwargs)
            await functions.checkpoint()
            return _output(answers, self, args, kwargs, module)

        return acall

    def guard_call(method: Callable[..., Any]) -> Callable[..., Any]:
        """`__call__` is what a tool does where it has nothing else; that of others goes on to `call`."""

        @functools.wraps(method)
        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
            if isinstance(self, module.AsyncBaseTool) or not _is_recorded(answers, self, method):
                return method(self, *args, **kwargs)
            return _output(answers, self, args, kwargs, module)

        return __call__

    # Before the library puts its spans around them: a call that is answered writes its span as any other.
    guard_classes(module.BaseTool, {"call": guard, "acall": guard_async, "__call__": guard_call}, first=True)


def _is_recorded(answers: Answers, tool: Any, method: Callable[..., Any]) -> bool:
    return answers.wants("tool", tool.metadata.name, method)


def _output(answers: Answers, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], module: ModuleType) -> Any:
    """Return the library's own output with what the model was told."""
    name = tool.metadata.get_name()
    given: Any = {**({"args": list(args)} if args else {}), **kwargs}
    if len(args) == 1 and not kwargs:
        (given,) = args
    value = answers.ask("tool", name, given, errors={**vars(module), **of_user(type(tool).__init__)})
    text = value if isinstance(value, str) else str(thaw(value))
    raw = {"input": given} if isinstance(given, str) else given
    return module.ToolOutput(content=text, tool_name=name, raw_input=raw, raw_output=thaw(value))


# --- retrievers -------------------------------------------------------------------------------------------------------


def _guard_retrievers(answers: Answers, module: ModuleType) -> None:
    def guard(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def _retrieve(self: Any, query_bundle: Any, *args: Any, **kwargs: Any) -> Any:
            name = _retriever(answers, self, method)
            if not name:
                return method(self, query_bundle, *args, **kwargs)
            return _nodes(answers, name, query_bundle, module)

        return _retrieve

    def guard_async(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def _aretrieve(self: Any, query_bundle: Any, *args: Any, **kwargs: Any) -> Any:
            name = _retriever(answers, self, method)
            if not name:
                return await method(self, query_bundle, *args, **kwargs)
            await functions.checkpoint()
            return _nodes(answers, name, query_bundle, module)

        return _aretrieve

    guard_classes(module.BaseRetriever, {"_retrieve": guard, "_aretrieve": guard_async})


def _retriever(answers: Answers, retriever: Any, method: Callable[..., Any]) -> str:
    """Return the name that a retriever is recorded under, its class's or its span's; "" where it is not."""
    kind = type(retriever).__name__
    names = (kind, f"{kind}.retrieve", f"{kind}.aretrieve")
    return next((name for name in names if answers.wants("retrieval", name, method)), "")


def _nodes(answers: Answers, name: str, bundle: Any, module: ModuleType) -> list[Any]:
    value = answers.ask("retrieval", name, {"query": bundle.query_str}, errors=vars(module))
    return [_node(one, module) for one in (value if isinstance(value, tuple) else (value,))]


def _node(value: Value, module: ModuleType) -> Any:
    found: Mapping[str, Value] = value if isinstance(value, Mapping) else {"content": value}
    metadata, known, score = thaw(found.get("metadata")), found.get("id"), found.get("score")
    more = {"id_": known} if isinstance(known, str) else {}
    node = module.TextNode(
        text=str(found.get("content") or ""), metadata=metadata if isinstance(metadata, dict) else {}, **more
    )
    return module.NodeWithScore(node=node, score=float(score) if isinstance(score, int | float) else None)
