"""Plain functions as boundaries: their code is swapped for a stub, and a stub's call is answered from the record."""

import gc
import inspect
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Protocol

from runreel.record.convert import plain
from runreel.replay.boundaries.errors import revive_error
from runreel.replay.boundaries.results import revive
from runreel.replay.boundaries.stubs import parameters, stub_code
from runreel.values import Kind, Value


@dataclass(frozen=True, slots=True)
class FailedError(Exception):
    """The recorded call had failed: with this type and text."""

    type: str
    message: str


class Asking(Protocol):
    """Whoever knows the recorded answers."""

    def call(
        self,
        kind: Kind,
        name: str,
        arguments: Value,
        *,
        call_id: str = "",
        defaults: Mapping[str, Value] | None = None,
    ) -> Value:
        """Return the recorded result. Raises FailedError for a recorded failure, DivergedError for a call not recorded.

        `defaults` are the function's declared defaults: an argument that equals its default says no more than none.
        """
        ...


@dataclass(slots=True)
class _Stub:
    """`functions` are looked up at the first call: most code is swapped before there is a function that has it."""

    kind: Kind
    name: str
    code: CodeType
    functions: tuple[FunctionType, ...] | None = None


_CALL_ID_KEYS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")

_stubs: list[_Stub] = []
_asking: list[Asking] = []
_lock = threading.Lock()


def connect(asking: Asking) -> None:
    """Say who answers. Stubs that are called before raise RuntimeError."""
    _asking[:] = [asking]


def swapped(code: CodeType, kind: Kind, name: str) -> CodeType:
    """Return the code that answers for `code` as the recorded `name`."""
    with _lock:
        stub = _Stub(kind, name, stub_code(code, len(_stubs)))
        _stubs.append(stub)
        return stub.code


def swap(function: FunctionType, kind: Kind, name: str) -> FunctionType:
    """Swap a function that exists: the innermost one below its decorators. Returns that one; twice is no harm."""
    inner = inspect.unwrap(function)
    if not isinstance(inner, FunctionType):
        raise TypeError(f"{type(inner).__name__} is not a Python function")
    if not is_stub(inner.__code__):
        inner.__code__ = swapped(inner.__code__, kind, name)
    return inner


def is_stub(code: CodeType) -> bool:
    return "runreel.replay.boundaries.functions" in code.co_consts


# --- what the stubs call ----------------------------------------------------------------------------------------------


def answer(number: int, named: Mapping[str, Any], rest: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """Answer a call of a stub."""
    stub = _stubs[number]
    function = _function_of(stub)
    arguments = _arguments(stub, named, rest, keywords)
    try:
        result = _asking[0].call(
            stub.kind,
            stub.name,
            {name: plain(value, str) for name, value in arguments.items()},
            call_id=current_call_id(),
            defaults=_defaults(function),
        )
    except FailedError as failed:
        namespace = function.__globals__ if function is not None else {}
        error = revive_error(failed.type, failed.message, namespace)
    else:
        return revive(result, _returns(function))
    raise error


async def answer_async(
    number: int, named: Mapping[str, Any], rest: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Any:
    """Answer a call of an async stub; other tasks run first, as they do while a real tool waits."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        await asyncio.sleep(0)
    return answer(number, named, rest, keywords)


def stream(number: int, named: Mapping[str, Any], rest: tuple[Any, ...], keywords: Mapping[str, Any]) -> Iterator[Any]:
    """Answer a call of a generator stub: a recorded list item by item, anything else as one item."""
    yield from _items(answer(number, named, rest, keywords))


async def stream_async(
    number: int, named: Mapping[str, Any], rest: tuple[Any, ...], keywords: Mapping[str, Any]
) -> AsyncIterator[Any]:
    """Answer a call of an async generator stub."""
    for item in _items(await answer_async(number, named, rest, keywords)):
        yield item


def _items(result: Any) -> list[Any]:
    return result if isinstance(result, list) else [result]


def _arguments(
    stub: _Stub, named: Mapping[str, Any], rest: tuple[Any, ...], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Put the arguments as a model would name them: without the object a method is called on."""
    positional, _, rest_name, _ = parameters(stub.code)
    arguments = dict(named)
    holder, _, _ = stub.code.co_qualname.rpartition(".")
    if holder and not holder.endswith("<locals>") and positional[:1] in (("self",), ("cls",)):
        del arguments[positional[0]]
    if rest:
        arguments[rest_name] = rest
    return {**arguments, **keywords}


def _function_of(stub: _Stub) -> FunctionType | None:
    if stub.functions is None:
        holders = [holder for holder in gc.get_referrers(stub.code) if type(holder) is FunctionType]
        stub.functions = tuple(holder for holder in holders if holder.__code__ is stub.code)
    return stub.functions[0] if stub.functions else None


def _defaults(function: FunctionType | None) -> dict[str, Value]:
    if function is None:
        return {}
    declared = inspect.signature(function).parameters
    return {name: plain(one.default, str) for name, one in declared.items() if one.default is not one.empty}


def _returns(function: FunctionType | None) -> object:
    if function is None:
        return None
    annotation = function.__annotations__.get("return")
    if not isinstance(annotation, str):
        return annotation
    try:
        # The annotation as the agent's author wrote it, in the names of the module it stands in.
        return eval(annotation, function.__globals__)  # noqa: S307
    except Exception:  # noqa: BLE001 - names imported for type checkers only are not there at run time
        return str if annotation.strip() == "str" else None


def current_call_id() -> str:
    """Return the tool call id on the current span: agents set it before the tool runs."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return ""
    attributes = getattr(trace.get_current_span(), "attributes", None) or {}
    return next((str(attributes[key]) for key in _CALL_ID_KEYS if key in attributes), "")
