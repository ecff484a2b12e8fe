"""Boundaries: each call is a span with its arguments and its result, in a replay too, where the record answers it."""

import functools
import inspect
import traceback
import typing
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from runreel import __version__
from runreel.canonical import TOKEN_RE
from runreel.record import _active, said
from runreel.record.contract import ContractError, Judged
from runreel.record.convert import UnrecordableError, plain, restore
from runreel.record.losses import safely
from runreel.record.said import Declared
from runreel.record.strip import to_json
from runreel.semconv import keys
from runreel.semconv.secrets import MARKS, strip_secrets
from runreel.values import Value

F = TypeVar("F", bound=Callable[..., Any])

SCOPE: Final = "runreel.record"

_call_id: ContextVar[str] = ContextVar("runreel_call_id", default="")

# What this process has boundaries for: a replay refuses to start where a recorded tool has none.
declared: dict[tuple[str, str], Declared] = {}


def known_as(kind: str, name: str, op: Value) -> str:
    """Return the name that a boundary is declared under: a memory is several functions."""
    return f"{name}.{op}" if kind == "memory" and isinstance(op, str) else name


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


_Wrap = Callable[[Callable[..., Any], Declared, Any], Callable[..., Any]]


def bounded(function: F, what: Declared, stand_in: Callable[..., Any] | None = None) -> F:
    """Return the function with its boundary: sync, async, generator or async generator as it is itself.

    `stand_in` runs in the function's place. Raises TypeError where it is of another of these sorts.
    """
    declared[what.kind, known_as(what.kind, what.name, what.op)] = what
    if stand_in is not None and _sort(stand_in) is not _sort(function):
        raise TypeError("what stands in for a function is sync, async or a generator as that is")
    return typing.cast("F", functools.wraps(function)(wrapped(function, what, stand_in)))


def wrapped(function: Callable[..., Any], what: Declared, stand_in: Callable[..., Any] | None = None) -> Any:
    """Return the boundary alone, known to nobody."""
    return _sort(function)(stand_in or function, what, _return_hint(function))


def observed(function: Callable[..., Any], what: Declared) -> Callable[..., Any]:
    """Return an async function whose calls are recorded, and made in a replay, too: something below it answers them."""

    async def call(*args: Any, **kwargs: Any) -> Any:
        with _Call.started(what, args, kwargs) as step, _current(step.span):
            return step.returned(await function(*args, **kwargs))

    return call


def _sort(function: Callable[..., Any]) -> _Wrap:
    if inspect.isasyncgenfunction(function):
        return _async_generator
    if inspect.isgeneratorfunction(function):
        return _generator
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        return _coroutine
    return _sync


def _sync(function: Callable[..., Any], what: Declared, hint: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with _Call.started(what, args, kwargs) as step, _current(step.span):
            if _active.current is not None:
                return step.answered(_active.current, hint)
            given, named = step.executed(args, kwargs)
            return step.returned(function(*given, **named))

    return call


def _coroutine(function: Callable[..., Any], what: Declared, hint: Any) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with _Call.started(what, args, kwargs) as step, _current(step.span):
            if _active.current is not None:
                await _let_others_run()
                return step.answered(_active.current, hint)
            given, named = step.executed(args, kwargs)
            return step.returned(await function(*given, **named))

    return call


def _generator(function: Callable[..., Any], what: Declared, hint: Any) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Iterator[Any]:
        # Not the current span: what the caller does between two items is not the tool's doing.
        with _Call.started(what, args, kwargs) as step:
            if _active.current is not None:
                yield from step.answered(_active.current, hint)
                return
            given, named = step.executed(args, kwargs)
            items: list[Any] = []
            try:
                for item in function(*given, **named):
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
            given, named = step.executed(args, kwargs)
            items: list[Any] = []
            try:
                async for item in function(*given, **named):
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

    def __init__(
        self, what: Declared, span: Span, arguments: Mapping[str, Value], call_id: str, judged: Judged | None
    ) -> None:
        self.what, self.span, self.arguments, self.call_id = what, span, arguments, call_id
        self.judged = judged

    @classmethod
    @contextmanager
    def started(cls, what: Declared, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator["_Call"]:
        nothing: said.Passed = ({}, ())
        arguments, lost = safely("arguments", lambda: said.arguments(what, args, kwargs), nothing)
        judged = _judge(what, args, kwargs, arguments)
        call_id = _call_id.get()
        about: dict[str, AttributeValue] = safely(
            "arguments", lambda: _about(what, arguments, call_id, lost, judged), {}
        )
        no_span: Span = trace.INVALID_SPAN
        kind = SpanKind.CLIENT if what.kind == "llm" else SpanKind.INTERNAL
        span = safely("span", lambda: tracer().start_span(what.title, kind=kind, attributes=about), no_span)
        step = cls(what, span, arguments, call_id, judged)
        try:
            yield step
        except GeneratorExit:
            raise  # the caller wanted no more items: nothing failed
        except BaseException as error:
            safely("span", functools.partial(failed, span, error), None)
            safely("error", functools.partial(_made_with, span, error), None)
            raise
        finally:
            safely("span", span.end, None)

    def executed(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Return the arguments to execute with. Raises ContractError where the contract rejects the call."""
        if self.judged is None or self.judged.decision == "admit":
            return args, kwargs
        self._require_admitted()
        bound = inspect.signature(self.what.function).bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if name in self.judged.arguments:
                bound.arguments[name] = self.judged.arguments[name]
            elif bound.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                bound.arguments[name] = {key: self.judged.arguments.get(key, one) for key, one in value.items()}
        return bound.args, bound.kwargs

    def _require_admitted(self) -> None:
        if self.judged is not None and self.judged.decision == "reject":
            raise ContractError(f"{self.what.name}: {self.judged.reason}")

    def returned(self, result: Any) -> Any:
        """Record what the function returned, and return it."""
        safely("result", lambda: self.span.set_attributes(said.response(self.what, plain(result))), None)
        return result

    def answered(self, boundary: _active.Boundary, hint: Any) -> Any:
        """Ask the record instead of the function; raises what the recorded call raised."""
        more: dict[str, Any] = {"contract": self.judged.decision} if self.judged is not None else {}
        if self.what.known:
            more["known"] = self.what.known
        value = boundary.call(self.what.kind, self.what.name, self.arguments, self.call_id, **more)
        self._require_admitted()
        safely("result", lambda: self.span.set_attributes(said.response(self.what, value)), None)
        return restore(value, hint)


def _judge(
    what: Declared, args: tuple[Any, ...], kwargs: Mapping[str, Any], arguments: Mapping[str, Value]
) -> Judged | None:
    """Ask the tool's contract. In a replay a token may stand where a value was: no contract can judge that, and what
    was recorded holds."""
    if what.contract is None or (_active.current is not None and _holds_tokens(arguments)):
        return None
    return what.contract.judge(said.named(what.function, args, kwargs))


def _holds_tokens(value: Value) -> bool:
    if isinstance(value, Mapping):
        return any(map(_holds_tokens, (*value, *value.values())))
    if isinstance(value, tuple):
        return any(map(_holds_tokens, value))
    return isinstance(value, str) and (TOKEN_RE.search(value) is not None or MARKS.search(value) is not None)


def _about(
    what: Declared, arguments: Mapping[str, Value], call_id: str, lost: tuple[str, ...], judged: Judged | None
) -> dict[str, AttributeValue]:
    return {**said.request(what, arguments, call_id, lost), **(said.judged(judged) if judged is not None else {})}


def _made_with(span: Span, error: BaseException) -> None:
    """Record an exception's arguments, where they are more than its text and have a recorded form."""
    if error.args and error.args != (str(error),):
        with suppress(UnrecordableError):
            span.set_attribute(keys.ERROR_ARGUMENTS, to_json(plain(error.args)))


def failed(span: Span, error: BaseException) -> None:
    """Record what a span failed with: as the SDK does, but without secrets."""
    kind = type(error)
    module = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
    name, message = f"{module}{kind.__qualname__}", strip_secrets(str(error))
    stack = strip_secrets("".join(traceback.format_exception(error)))
    span.add_event("exception", {"exception.type": name, "exception.message": message, "exception.stacktrace": stack})
    span.set_status(Status(StatusCode.ERROR, message))
    span.set_attribute("error.type", name)


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
