"""What an author writes at the edges of an agent: decorators for tools, models, indexes and memories, and what is read
and decided on the way: flags, prompts, decisions."""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeVar, overload

from opentelemetry import trace
from opentelemetry.util.types import AttributeValue

from runreel.record.calls import bounded, tracer, wrapped
from runreel.record.contract import contract as contract_of
from runreel.record.convert import plain
from runreel.record.losses import safely
from runreel.record.said import CHECKPOINTS, FLAGS, PROMPTS, SESSIONS, Declared
from runreel.record.strip import to_json
from runreel.semconv import keys
from runreel.semconv.secrets import strip_secrets
from runreel.values import Value

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

MemoryOp = Literal["search", "create", "update", "upsert", "delete"]
DecisionType = Literal["route", "handoff", "tool_choice", "retry", "give_up", "escalate"]
_OPS: Final = ("search", "create", "update", "upsert", "delete")


@overload
def tool(fn: F) -> F: ...
@overload
def tool(
    fn: None = None,
    *,
    name: str | None = None,
    side_effect: bool | None = None,
    version: str | None = None,
    sensitive: Sequence[str] | Mapping[str, str] = (),
    contract: Any = None,
    mode: Literal["live", "shadow"] | None = None,
    shadow: Callable[..., Any] | None = None,
) -> Callable[[F], F]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    side_effect: bool | None = None,
    version: str | None = None,
    sensitive: Sequence[str] | Mapping[str, str] = (),
    contract: Any = None,
    mode: Literal["live", "shadow"] | None = None,
    shadow: Callable[..., Any] | None = None,
) -> Any:
    """Make a function a tool: sync, async, generator or async generator; with or without arguments.

    Args:
        fn: The function, where the decorator stands without parentheses.
        name: Name of the tool as the model knows it; default the function's.
        side_effect: Whether a call changes the world. Not said counts as yes.
        version: Version of the tool.
        sensitive: JSON pointers into arguments and result whose values are sensitive (`/customer/iban`). They become
            tokens where the run is taken in; as a map each pointer has its class: `token`, `hash`, `regulated`, `drop`.
        contract: A pydantic model or a JSON Schema of the arguments. Each call is admitted, coerced (the function gets
            what the contract makes of the arguments) or rejected: ContractError is raised, and nothing runs.
        mode: `shadow`: the function does not run, `shadow` does in its place. Recorded where it is said.
        shadow: What runs in shadow mode, with the same arguments.

    Raises ValueError where shadow mode has nothing to run, a schema cannot be checked or a function with a contract has
    no signature, TypeError for what is no contract.
    """
    if mode == "shadow" and shadow is None:
        raise ValueError("a tool in shadow mode needs `shadow`: what runs in its place")
    judge = contract_of(contract) if contract is not None else None

    def decorate(function: F) -> F:
        called = name or function.__name__
        if judge is not None:
            inspect.signature(function)  # raises for one that says no parameters: nothing could be judged by name
        optional = {keys.TOOL_SIDE_EFFECT: side_effect, keys.TOOL_VERSION: version, keys.TOOL_MODE: mode}
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": called,
            "gen_ai.tool.type": "function",
            **{key: value for key, value in optional.items() if value is not None},
        }
        if sensitive:
            attributes[keys.SENSITIVE] = _sensitive(sensitive)
        what = Declared("tool", called, function, attributes, contract=judge)
        return bounded(function, what, shadow if mode == "shadow" else None)

    return decorate if fn is None else decorate(fn)


def _sensitive(declared: Sequence[str] | Mapping[str, str]) -> list[str]:
    if isinstance(declared, Mapping):
        # `token: x` would be taken for a secret, and is what a pointer alone means.
        return [pointer if kind == "token" else f"{kind}:{pointer}" for pointer, kind in declared.items()]
    return [declared] if isinstance(declared, str) else list(declared)


def retriever(name: str, *, index_version: str | None = None, top_k: int | None = None) -> Callable[[F], F]:
    """Make a function the retriever of an index.

    Its query is the argument called `query`, `question`, `text` or `q`, else the first one; `top_k`, `k` or `limit`
    says how many documents, any other argument is a filter. It returns a list of documents: maps (best with `id`,
    `score` and `content`), texts, objects, or pairs of one of these and a score.

    Args:
        name: Name of the index.
        index_version: Version of the index: what was searched is part of what happened.
        top_k: How many documents it returns, where no argument says so.
    """

    def decorate(function: F) -> F:
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "retrieval",
            "gen_ai.data_source.id": name,
            keys.INDEX_NAME: name,
        }
        if index_version is not None:
            attributes[keys.INDEX_VERSION] = index_version
        return bounded(function, Declared("retrieval", name, function, attributes, top_k))

    return decorate


def memory(store: str, *, op: MemoryOp = "search", key: str = "") -> Callable[[F], F]:
    """Make a function a read or write of a memory.

    Args:
        store: Name of the memory.
        op: What the function does to it. `search` is any read.
        key: The parameter that says which record.

    Raises ValueError for an operation that is not known, and for the stores `flags`, `prompts`, `mcp` and
    `checkpoints`, which are ours.
    """
    if op not in _OPS:
        raise ValueError(f"{op!r} is nothing that is done to a memory: it is one of {', '.join(_OPS)}")
    if store in (FLAGS, PROMPTS, SESSIONS, CHECKPOINTS):
        raise ValueError(f"{store!r} is the recorder's own: give the memory another name")

    def decorate(function: F) -> F:
        return bounded(function, Declared("memory", store, function, op=op, key=key))

    return decorate


def model(name: str, *, provider: str = "") -> Callable[[F], F]:
    """Make a function a model: for one that no instrumentation records, such as a model in the agent's own process.

    Its messages are the argument called `messages`, `prompt` or `input`, else the first one: a text, or a list of
    messages. `model` and `tools` are what they say, other arguments are parameters. It returns a text, a message, or
    anything else; a generator yields the pieces of a text.

    Args:
        name: Name of the model, where no argument says it.
        provider: Who serves it, by its name in the GenAI conventions.
    """

    def decorate(function: F) -> F:
        attributes: dict[str, Any] = {"gen_ai.operation.name": "chat"}
        if provider:
            attributes["gen_ai.provider.name"] = provider
        return bounded(function, Declared("llm", name, function, attributes))

    return decorate


# --- what is read on the way ------------------------------------------------------------------------------------------


def flag(key: str, read: Callable[[], T] | T) -> T:
    """Return the value of a feature flag: what `read` returns, or is; in a replay what it was.

    An async `read` is awaited: `await rr.flag("new-refunds", client.get_new_refunds)`.
    """
    value: T = _read(FLAGS, key, _source(read))()
    return value


def prompt(name: str, source: Callable[[], Any] | str, *, version: str = "") -> str:
    """Return a prompt, recorded with its content and version; in a replay the recorded one, never the latest. A text
    or version that stands in the code, and is another one by then, is noted by the replay.

    Args:
        name: Name of the prompt.
        source: Its text, or what returns it: a text, or a pair of text and version. An async one is awaited.
        version: Its version; default what `source` says, else a hash of the text.
    """
    load = _source(source)
    known: dict[str, Value] = {"version": version} if version else {}
    if isinstance(source, str):
        known["text"] = source

    def told(loaded: Any) -> dict[str, str]:
        text, said = loaded if isinstance(loaded, tuple) else (loaded, "")
        named = version or said or f"sha256:{hashlib.sha256(str(text).encode()).hexdigest()[:16]}"
        return {"text": str(text), "version": str(named)}

    if inspect.iscoroutinefunction(load):

        async def fetch() -> dict[str, str]:
            return told(await load())

        async def answer() -> str:
            return _text(await _read(PROMPTS, name, fetch, known)())

        return answer()  # type: ignore[return-value]  # as the source is
    return _text(_read(PROMPTS, name, lambda: told(load()), known)())


def _text(found: Any) -> str:
    return str(found["text"]) if isinstance(found, Mapping) and "text" in found else str(found)


def _source(read: Any) -> Callable[[], Any]:
    return read if callable(read) else lambda: read


def _read(store: str, key: str, load: Callable[[], Any], known: Mapping[str, Value] | None = None) -> Any:
    what = Declared("memory", store, load, op="search", key="key", fixed={"key": key}, known=known)
    return wrapped(load, what)


def decide(
    name: str,
    chosen: T,
    *,
    options: Sequence[object] = (),
    reason: str = "",
    type: DecisionType = "route",  # noqa: A002
) -> T:
    """Record a decision of the agent's own code, and return what was chosen. A replay decides again, and compares.

    Args:
        name: Name of the decision.
        chosen: What was chosen.
        options: What could have been.
        reason: Why.
        type: `route`, `handoff`, `tool_choice`, `retry`, `give_up` or `escalate`.
    """
    safely("decision", partial(_decide, name, chosen, options, reason, type), None)
    return chosen


def _decide(name: str, chosen: object, options: Sequence[object], reason: str, type_: str) -> None:
    value = plain(chosen)
    about: dict[str, AttributeValue] = {
        "gen_ai.operation.name": "decide",
        keys.DECISION_TYPE: type_,
        keys.DECISION_CHOSEN: strip_secrets(value) if isinstance(value, str) else to_json(value),
    }
    if options:
        about[keys.DECISION_OPTIONS] = to_json(plain(options))
    if reason:
        about[keys.DECISION_REASON] = strip_secrets(reason)
    tracer().start_span(strip_secrets(name), kind=trace.SpanKind.INTERNAL, attributes=about).end()
