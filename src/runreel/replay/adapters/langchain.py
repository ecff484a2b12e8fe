"""LangChain and LangGraph: tools and retrievers are answered below their validation, callbacks and error handling.

What a tool class calls to do its work (`_run`, `_arun`), and a retriever class (`_get_relevant_documents` and its async
twin), is guarded in every class that defines it. A recorded call is answered there; the library makes its own messages
and documents of the answer, as always. Models are answered on the wire, below the provider's SDK.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from runreel.record.convert import thaw
from runreel.replay.adapters.answers import Answers, calling, defaults_of, of_user
from runreel.replay.adapters.guarding import guard_classes
from runreel.replay.boundaries.results import revive
from runreel.replay.imports import when_imported
from runreel.values import Value

_LIBRARYS_OWN = frozenset({"run_manager", "config", "callbacks"})
_ARTIFACT = "content_and_artifact"


@dataclass(frozen=True, slots=True)
class _Given:
    """What a tool was called with, before its arguments were made: that is what instrumentations record."""

    tool: Any
    arguments: Any
    call_id: str


_given: ContextVar[_Given | None] = ContextVar("runreel_langchain_call", default=None)


def install(answers: Answers) -> None:
    """Guard the classes as they are made, once the agent imports them."""
    when_imported("langchain_core.tools.base", lambda module: _guard_tools(answers, module))
    when_imported("langchain_core.retrievers", lambda module: _guard_retrievers(answers, module))


# --- tools ------------------------------------------------------------------------------------------------------------


def _guard_tools(answers: Answers, module: ModuleType) -> None:
    base: Any = module.BaseTool
    base.run, base.arun = _noting(base.run), _noting_async(base.arun)
    errors = vars(module)

    def guard(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def _run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not _is_recorded(answers, self, method):
                return method(self, *args, **kwargs)
            return _answer(answers, self, args, kwargs, errors)

        return _run

    def guard_async(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def _arun(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not _is_recorded(answers, self, method):
                return await method(self, *args, **kwargs)
            return _answer(answers, self, args, kwargs, errors)

        return _arun

    guard_classes(base, {"_run": guard, "_arun": guard_async})


def _noting(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def noting(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        given = _note(self, tool_input, kwargs)
        token = _given.set(given)
        try:
            with calling(given.call_id):
                return run(self, tool_input, *args, **kwargs)
        finally:
            _given.reset(token)

    return noting


def _noting_async(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    async def noting(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        given = _note(self, tool_input, kwargs)
        token = _given.set(given)
        try:
            with calling(given.call_id):
                return await run(self, tool_input, *args, **kwargs)
        finally:
            _given.reset(token)

    return noting


def _note(tool: Any, tool_input: Any, keywords: Mapping[str, Any]) -> _Given:
    arguments = tool_input
    if isinstance(tool_input, dict):
        # Without what the graph injects (its state, its store): that is no argument of the model's.
        arguments = tool._filter_injected_args(tool_input)
    return _Given(tool, arguments, str(keywords.get("tool_call_id") or ""))


def _functions(tool: Any) -> list[Callable[..., Any]]:
    """Return what a tool of the library's own classes calls."""
    found = (getattr(tool, name, None) for name in ("coroutine", "func"))
    return [one for one in found if callable(one)]


def _is_recorded(answers: Answers, tool: Any, method: Callable[..., Any]) -> bool:
    return answers.wants("tool", getattr(tool, "name", None), method, *_functions(tool))


def _answer(
    answers: Answers, tool: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], errors: Mapping[str, Any]
) -> Any:
    given = _given.get()
    if given is None or given.tool is not tool:  # code that goes past `run`
        rest = {name: value for name, value in kwargs.items() if name not in _LIBRARYS_OWN}
        given = _Given(tool, rest or (args[0] if len(args) == 1 else list(args)), "")
    inner = next(iter(_functions(tool)), None)
    value = answers.ask(
        "tool",
        tool.name,
        given.arguments,
        call_id=given.call_id,
        defaults=_defaults(tool, inner),
        errors={**errors, **of_user(inner)},
    )
    if getattr(tool, "response_format", "") == _ARTIFACT:
        return (thaw(value), None)  # the artifact stays in the agent: no instrumentation sees it
    # What a model is told stays the text that it was told; code that calls the tool itself gets a value.
    return thaw(value) if given.call_id and isinstance(value, str) else _value(value, inner)


def _value(value: Value, inner: Callable[..., Any] | None) -> Any:
    annotation = getattr(inspect.unwrap(inner), "__annotations__", {}).get("return") if inner is not None else None
    return revive(value, None if isinstance(annotation, str) else annotation)


def _defaults(tool: Any, inner: Callable[..., Any] | None) -> Mapping[str, Any]:
    fields = getattr(getattr(tool, "args_schema", None), "model_fields", None)
    if not isinstance(fields, Mapping):
        return defaults_of(inner) if inner is not None else {}
    return {name: one.default for name, one in fields.items() if not one.is_required() and one.default_factory is None}


# --- retrievers -------------------------------------------------------------------------------------------------------


def _guard_retrievers(answers: Answers, module: ModuleType) -> None:
    base: Any = module.BaseRetriever
    base.invoke, base.ainvoke = _naming(base.invoke), _naming_async(base.ainvoke)

    def guard(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def retrieve(self: Any, query: str, *args: Any, **kwargs: Any) -> Any:
            name = _retriever(answers, self)
            return _documents(answers, name, query, module) if name else method(self, query, *args, **kwargs)

        return retrieve

    def guard_async(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def retrieve(self: Any, query: str, *args: Any, **kwargs: Any) -> Any:
            name = _retriever(answers, self)
            return _documents(answers, name, query, module) if name else await method(self, query, *args, **kwargs)

        return retrieve

    guard_classes(base, {"_get_relevant_documents": guard, "_aget_relevant_documents": guard_async})


_run_name: ContextVar[str] = ContextVar("runreel_langchain_retriever", default="")


def _naming(invoke: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(invoke)
    def naming(self: Any, query: Any, config: Any = None, **kwargs: Any) -> Any:
        token = _run_name.set(str((config or {}).get("run_name") or ""))
        try:
            return invoke(self, query, config, **kwargs)
        finally:
            _run_name.reset(token)

    return naming


def _naming_async(invoke: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(invoke)
    async def naming(self: Any, query: Any, config: Any = None, **kwargs: Any) -> Any:
        token = _run_name.set(str((config or {}).get("run_name") or ""))
        try:
            return await invoke(self, query, config, **kwargs)
        finally:
            _run_name.reset(token)

    return naming


def _retriever(answers: Answers, retriever: Any) -> str:
    """Return the name that a retriever is recorded under; "" where it is not."""
    names = (_run_name.get(), retriever.get_name(), type(retriever).__name__)
    return next((name for name in names if answers.wants("retrieval", name)), "")


def _documents(answers: Answers, name: str, query: str, module: ModuleType) -> list[Any]:
    value = answers.ask("retrieval", name, {"query": query}, errors=vars(module))
    return [_document(one, module) for one in (value if isinstance(value, tuple) else (value,))]


def _document(value: Value, module: ModuleType) -> Any:
    if not isinstance(value, Mapping):
        return module.Document(page_content=value if isinstance(value, str) else "")
    metadata, known = thaw(value.get("metadata")), value.get("id")
    return module.Document(
        page_content=str(value.get("content") or ""),
        metadata=metadata if isinstance(metadata, dict) else {},
        id=known if isinstance(known, str) else None,
    )
