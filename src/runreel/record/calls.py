"""Tools and retrievers as boundaries: each call is a span with its arguments and its result, in a replay too."""

import functools
import inspect
import traceback
import typing
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from runreel import __version__
from runreel.record import _active
from runreel.record.convert import plain, restore
from runreel.record.losses import count, safely
from runreel.record.strip import to_json
from runreel.semconv import keys, messages
from runreel.semconv.secrets import strip_secrets
from runreel.semconv.view import Memo
from runreel.values import Value

F = TypeVar("F", bound=Callable[..., Any])

_Passed = tuple[dict[str, Value], tuple[str, ...]]  # arguments by name, types of those that have no recorded form

SCOPE: Final = "runreel.record"
_QUERY_NAMES: Final = ("query", "question", "text", "q")
_TOP_K_NAMES: Final = ("top_k", "k", "limit")

_call_id: ContextVar[str] = ContextVar("runreel_call_id", default="")


@dataclass(frozen=True, slots=True)
class Declared:
    """What a decorator says of a function, and what the function's signature says of itself."""

    kind: _active.CallKind
    name: str
    function: Callable[..., Any]
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    top_k: int | None = None

    @property
    def defaults(self) -> Mapping[str, Value]:
        """The declared defaults, by parameter: an argument that equals its default says no more than none."""
        parameters = inspect.signature(self.function).parameters
        declared = {name: one.default for name, one in parameters.items() if one.default is not one.empty}
        return {name: plain(value, _stand_in) for name, value in declared.items()}


# What this process has boundaries for: a replay refuses to start where a recorded tool has none.
declared: dict[tuple[_active.CallKind, str], Declared] = {}


def sensitive_tools() -> list[str]:
    """Return what the tools of this process declare as sensitive, each as `tool pointer`."""
    found: list[str] = []
    for (_, name), one in list(declared.items()):
        pointers = one.attributes.get(keys.SENSITIVE, ())
        found += [f"{name} {pointer}" for pointer in pointers] if isinstance(pointers, list) else []
    return found


@contextmanager
def calling(call_id: str) -> Iterator[None]:
    """Name the model's id of the tool call that the block makes, so that it can be told from its twins."""
    token = _call_id.set(call_id)
    try:
        yield
    finally:
        _call_id.reset(token)


def tracer() -> trace.Tracer:
    """Return the recorder's tracer, of whatever provider the process has by now."""
    return trace.get_tracer(SCOPE, __version__)


def bounded(function: F, what: Declared) -> F:
    """Return the function with its boundary: sync, async, generator or async generator as it is itself."""
    declared[what.kind, what.name] = what
    hint = _return_hint(function)
    made: Callable[..., Any]
    if inspect.isasyncgenfunction(function):
        made = _async_generator(function, what, hint)
    elif inspect.isgeneratorfunction(function):
        made = _generator(function, what, hint)
    elif inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        made = _coroutine(function, what, hint)
    else:
        made = _sync(function, what, hint)
    return typing.cast("F", functools.wraps(function)(made))


def _sync(function: Callable[..., Any], what: Declared, hint: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with _Call.started(what, args, kwargs) as step, _current(step.span):
            if _active.current is not None:
                return step.answered(_active.current, hint)
            return step.returned(function(*args, **kwargs))

    return call


def _coroutine(function: Callable[..., Any], what: Declared, hint: Any) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with _Call.started(what, args, kwargs) as step, _current(step.span):
            if _active.current is not None:
                await _let_others_run()
                return step.answered(_active.current, hint)
            return step.returned(await function(*args, **kwargs))

    return call


def _generator(function: Callable[..., Any], what: Declared, hint: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Iterator[Any]:
        # Not the current span: what the caller does between two items is not the tool's doing.
        with _Call.started(what, args, kwargs) as step:
            if _active.current is not None:
                yield from step.answered(_active.current, hint)
                return
            items: list[Any] = []
            try:
                for item in function(*args, **kwargs):
                    items.append(item)
                    yield item
            finally:
                step.returned(items)

    return call


def _async_generator(function: Callable[..., Any], what: Declared, hint: Any) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        with _Call.started(what, args, kwargs) as step:
            if _active.current is not None:
                for item in step.answered(_active.current, hint):
                    await _let_others_run()
                    yield item
                return
            items: list[Any] = []
            try:
                async for item in function(*args, **kwargs):
                    items.append(item)
                    yield item
            finally:
                step.returned(items)

    return call


def _current(span: Span) -> AbstractContextManager[Span]:
    return trace.use_span(span, record_exception=False, set_status_on_exception=False)


async def _let_others_run() -> None:
    """Give way as a call that waits for something does; only asyncio is known here."""
    import asyncio

    if asyncio._get_running_loop() is not None:
        await asyncio.sleep(0)


class _Call:
    """One call: its span, and what is said of it. Every method that records swallows its own failures."""

    def __init__(self, what: Declared, span: Span, arguments: Mapping[str, Value], call_id: str) -> None:
        self.what, self.span, self.arguments, self.call_id = what, span, arguments, call_id

    @classmethod
    @contextmanager
    def started(cls, what: Declared, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator["_Call"]:
        nothing: _Passed = ({}, ())
        arguments, lost = safely("arguments", lambda: _arguments(what, args, kwargs), nothing)
        call_id = _call_id.get()
        said: dict[str, AttributeValue] = safely("arguments", lambda: _request(what, arguments, call_id, lost), {})
        name = f"execute_tool {what.name}" if what.kind == "tool" else f"retrieval {what.name}"
        no_span: Span = trace.INVALID_SPAN
        span = safely("span", lambda: tracer().start_span(name, kind=SpanKind.INTERNAL, attributes=said), no_span)
        step = cls(what, span, arguments, call_id)
        try:
            yield step
        except GeneratorExit:
            raise  # the caller wanted no more items: nothing failed
        except BaseException as error:
            safely("span", functools.partial(failed, span, error), None)
            raise
        finally:
            safely("span", span.end, None)

    def returned(self, result: Any) -> Any:
        """Record what the function returned, and return it."""
        safely("result", lambda: self.span.set_attributes(_response(self.what, plain(result))), None)
        return result

    def answered(self, boundary: _active.Boundary, hint: Any) -> Any:
        """Ask the record instead of the function; raises what the recorded call raised."""
        value = boundary.call(self.what.kind, self.what.name, self.arguments, self.call_id)
        safely("result", lambda: self.span.set_attributes(_response(self.what, value)), None)
        return restore(value, hint)


def failed(span: Span, error: BaseException) -> None:
    """Record what a span failed with: as the SDK does, but without secrets."""
    kind = type(error)
    module = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
    name, message = f"{module}{kind.__qualname__}", strip_secrets(str(error))
    stack = strip_secrets("".join(traceback.format_exception(error)))
    span.add_event("exception", {"exception.type": name, "exception.message": message, "exception.stacktrace": stack})
    span.set_status(Status(StatusCode.ERROR, message))
    span.set_attribute("error.type", name)


# --- what a span says -------------------------------------------------------------------------------------------------


def _stand_in(value: object) -> Value:
    """Stand in for an argument that has no recorded form (a session, a client): always the same for its type."""
    return f"<UNRECORDED:{type(value).__module__}.{type(value).__qualname__}>"


def _arguments(what: Declared, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> _Passed:
    """Return the arguments that were passed, by name, and what of them could not be recorded."""
    lost: list[str] = []

    def unknown(value: object) -> Value:
        count("arguments")
        lost.append(f"{type(value).__module__}.{type(value).__qualname__}")
        return _stand_in(value)

    passed = {name: plain(value, unknown) for name, value in _named(what.function, args, kwargs).items()}
    if what.kind == "retrieval":
        passed = _retrieval_arguments(passed)
    return passed, tuple(lost)


def _named(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        # The function will say so itself when it is called; on the tape the call is told by what was passed.
        return {**{str(position): value for position, value in enumerate(args)}, **kwargs}
    named: dict[str, Any] = {}
    for position, (name, value) in enumerate(bound.arguments.items()):
        if position == 0 and name in ("self", "cls"):
            continue
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        else:
            named[name] = value
    return named


def _retrieval_arguments(passed: Mapping[str, Value]) -> dict[str, Value]:
    rest = dict(passed)
    name = next((name for name in _QUERY_NAMES if name in rest), next(iter(rest), None))
    out: dict[str, Value] = {} if name is None else {"query": rest.pop(name)}
    top_k = next((name for name in _TOP_K_NAMES if name in rest), None)
    if top_k is not None:
        out["top_k"] = rest.pop(top_k)
    if rest:
        out["filters"] = rest
    return out


def _request(
    what: Declared, arguments: Mapping[str, Value], call_id: str, lost: Sequence[str]
) -> dict[str, AttributeValue]:
    out: dict[str, AttributeValue] = dict(what.attributes)
    if lost:
        out[keys.UNRECORDED] = [f"arguments: {name}" for name in lost]
    if what.kind == "tool":
        out["gen_ai.tool.call.arguments"] = to_json(arguments)
        if call_id:
            out["gen_ai.tool.call.id"] = call_id
        return out
    query, top_k = arguments.get("query"), arguments.get("top_k", what.top_k)
    out["gen_ai.retrieval.query.text"] = strip_secrets(query) if isinstance(query, str) else to_json(query)
    if isinstance(top_k, int):
        out["gen_ai.retrieval.top_k"] = top_k
    if "filters" in arguments:
        out[keys.RETRIEVAL_FILTERS] = to_json(arguments["filters"])
    return out


def _response(what: Declared, value: Value) -> dict[str, AttributeValue]:
    """Say what was returned as the conventions do, and beside it what they do not say of it."""
    if what.kind == "tool":
        if isinstance(value, str):
            return {"gen_ai.tool.call.result": strip_secrets(value), keys.RESULT_TYPE: "text"}
        return {"gen_ai.tool.call.result": to_json(value), keys.RESULT_TYPE: "json"}
    listed = _documents(value)
    out: dict[str, AttributeValue] = {"gen_ai.retrieval.documents": to_json(listed)}
    if messages.documents(listed, Memo()) != value:
        out[keys.RESULT_VALUE] = to_json(value)
    return out


def _documents(value: Value) -> Value:
    """Return the documents as objects: texts and (document, score) pairs become such."""
    items = value if isinstance(value, tuple) else value.get("documents") if isinstance(value, Mapping) else None
    if not isinstance(items, tuple):
        return () if value is None else ({"content": value},)
    return tuple(_document(item) for item in items)


def _document(item: Value) -> Value:
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], int | float):
        inner = _document(item[0])
        return {**inner, "score": item[1]} if isinstance(inner, Mapping) else inner
    return item if isinstance(item, Mapping) else {"content": item}


def _return_hint(function: Callable[..., Any]) -> Any:
    """Return what the function says it returns, of a generator the list of it; Any where that cannot be read."""
    try:
        hint = typing.get_type_hints(function).get("return", Any)
    except Exception:  # noqa: BLE001  annotations may name what only a type checker imports
        return Any
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        items = typing.get_args(hint)
        return list[items[0]] if items else list  # type: ignore[valid-type]
    return hint
