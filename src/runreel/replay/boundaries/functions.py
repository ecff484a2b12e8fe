"""Plain functions as boundaries: their code is swapped for a stub, and a stub's call is answered from the record."""

import gc
import inspect
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Protocol

from runreel.record.convert import plain
from runreel.replay.boundaries.errors import revive_chain
from runreel.replay.boundaries.results import revive
from runreel.replay.boundaries.stubs import parameters, stub_code
from runreel.values import Kind, Value


@dataclass(frozen=True, slots=True)
class FailedError(Exception):
    """The recorded call had failed: with this type and text, and these causes (type and text, nearest first).

    `arguments` is the typed JSON of what the exception was made with, "" where only its text is recorded.
    """

    type: str
    message: str
    causes: tuple[tuple[str, str], ...] = ()
    arguments: str = ""


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
        contract: str = "",
        known: Mapping[str, Value] | None = None,
    ) -> Value:
        """Return the recorded result. Raises FailedError for a recorded failure, DivergedError for a call not recorded.

        `defaults` are the function's declared defaults: an argument that equals its default says no more than none.
        `contract` is what a recorder's contract says of the call now; `known` what its code says of the answer now.
        """
        ...


@dataclass(slots=True)
class _Stub:
    """`functions` are looked up at the first call: most code is swapped before there is a function that has it."""

    kind: Kind
    name: str
    code: CodeType
    original: CodeType
    functions: tuple[FunctionType, ...] | None = None


_CALL_ID_KEYS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")

call_id: ContextVar[str] = ContextVar("runreel_framework_call_id", default="")
"""The model's id of the call that a framework makes, where its adapter knows it."""

_stubs: list[_Stub] = []
_by_code: dict[CodeType, _Stub] = {}
_made: dict[tuple[CodeType, str, Kind, str], _Stub] = {}
_asking: list[Asking] = []
_lock = threading.Lock()


def connect(asking: Asking) -> None:
    """Say who answers. Stubs that are called before raise RuntimeError."""
    _asking[:] = [asking]


def swapped(code: CodeType, kind: Kind, name: str) -> CodeType:
    """Return the code that answers for `code` as the recorded `name`: the same one for every closure made of it."""
    with _lock:
        key = (code, code.co_filename, kind, name)  # equal code in two files is not the same function
        stub = _made.get(key)
        if stub is None:
            stub = _made[key] = _Stub(kind, name, stub_code(code, len(_stubs)), code)
            _by_code[stub.code] = stub
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


def copy(function: FunctionType, kind: Kind, name: str) -> FunctionType:
    """Return a function like this one that answers for `name`, and leave this one as it is."""
    code = _by_code[function.__code__].original if is_stub(function.__code__) else function.__code__
    made = FunctionType(
        swapped(code, kind, name), function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    for said in ("__annotations__", "__doc__", "__module__", "__qualname__"):
        setattr(made, said, getattr(function, said))
    return made


def is_stub(code: CodeType) -> bool:
    return code in _by_code


def name_of(code: CodeType) -> str | None:
    """Return the recorded name that a stub answers for, None for any other code."""
    stub = _by_code.get(code)
    return stub.name if stub is not None else None


# --- what the stubs call ----------------------------------------------------------------------------------------------


def answer(number: int, named: Mapping[str, Any], rest: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """Answer a call of a stub."""
    stub = _stubs[number]
    function = _function_of(stub)
    arguments = _arguments(stub, named, rest, keywords)
    return ask(stub.kind, stub.name, arguments, _declared(function), function)


def ask(kind: Kind, name: str, arguments: Mapping[str, Any], declared: Mapping[str, Any], function: Any, /) -> Any:
    """Return what the record has for a call of `function`, or raise what it has."""
    try:
        result = _asking[0].call(
            kind,
            name,
            {name: plain(value, str) for name, value in arguments.items()},
            call_id=current_call_id(),
            defaults={name: plain(value, str) for name, value in declared.items()},
        )
    except FailedError as failed:
        error = revive_chain(failed.type, failed.message, failed.causes, getattr(function, "__globals__", {}))
    else:
        return revive(result, _returns(function))
    raise error


async def checkpoint() -> None:
    """Let other tasks run, as they do while a real tool waits."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:
        await asyncio.sleep(0)


async def answer_async(
    number: int, named: Mapping[str, Any], rest: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Any:
    """Answer a call of an async stub; other tasks run first."""
    await checkpoint()
    return answer(number, named, rest, keywords)


def stream(number: int, named: Mapping[str, Any], rest: tuple[Any, ...], keywords: Mapping[str, Any]) -> Iterator[Any]:
    """Answer a call of a generator stub: a recorded list item by item, anything else as one item."""
    yield from items_of(answer(number, named, rest, keywords))


async def stream_async(
    number: int, named: Mapping[str, Any], rest: tuple[Any, ...], keywords: Mapping[str, Any]
) -> AsyncIterator[Any]:
    """Answer a call of an async generator stub."""
    for item in items_of(await answer_async(number, named, rest, keywords)):
        yield item


def items_of(result: Any) -> list[Any]:
    """Return what a generator gives for a recorded result."""
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


def _declared(function: FunctionType | None) -> dict[str, Any]:
    if function is None:
        return {}
    declared = inspect.signature(function).parameters
    return {name: one.default for name, one in declared.items() if one.default is not one.empty}


def _returns(function: Any) -> object:
    annotation = getattr(function, "__annotations__", {}).get("return")
    if not isinstance(annotation, str):
        return annotation
    try:
        # The annotation as the agent's author wrote it, in the names of the module it stands in.
        return eval(annotation, function.__globals__)  # noqa: S307
    except Exception:  # noqa: BLE001 - names imported for type checkers only are not there at run time
        return str if annotation.strip() == "str" else None


def current_call_id() -> str:
    """Return the tool call id that a framework's adapter knows, or that is on the current span: agents set it before
    the tool runs."""
    if known := call_id.get():
        return known
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return ""
    attributes = getattr(trace.get_current_span(), "attributes", None) or {}
    return next((str(attributes[key]) for key in _CALL_ID_KEYS if key in attributes), "")
