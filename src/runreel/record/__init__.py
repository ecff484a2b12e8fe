"""The recorder, for the agent's side: names runs, and gives an agent's own tools and retrievers their boundaries.

Plain OpenTelemetry instrumentation is enough to be recorded. This adds what it cannot know, as ordinary spans of the
GenAI conventions: which call has a side effect, which index was asked, what exactly came back. In a replay the same
decorated functions do not run: the record answers.

    import runreel.record as rr

    rr.configure(agent="billing")

    @rr.tool(side_effect=True, version="3", sensitive=["/customer/iban"])
    def refund(order_id: str, cents: int) -> dict: ...

    search = rr.retriever("kb", index_version="2026-10")(search)

    with rr.run(user_input=text, user="u-812") as run:
        run.answer(agent(text))

It never breaks the agent: what cannot be recorded is counted (`losses`) and said on the run. Importing it needs
opentelemetry-api and nothing heavier.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from runreel.record.calls import Declared, bounded, calling
from runreel.record.handle import RunHandle, run
from runreel.record.losses import losses
from runreel.record.setup import configure, flush
from runreel.semconv import keys

__all__ = ["RunHandle", "calling", "configure", "flush", "losses", "retriever", "run", "tool"]

F = TypeVar("F", bound=Callable[..., Any])


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
) -> Callable[[F], F]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    side_effect: bool | None = None,
    version: str | None = None,
    sensitive: Sequence[str] | Mapping[str, str] = (),
) -> Any:
    """Make a function a tool: sync, async, generator or async generator; with or without arguments.

    Args:
        fn: The function, where the decorator stands without parentheses.
        name: Name of the tool as the model knows it; default the function's.
        side_effect: Whether a call changes the world. Not said counts as yes.
        version: Version of the tool.
        sensitive: JSON pointers into arguments and result whose values are sensitive (`/customer/iban`). They become
            tokens where the run is taken in; as a map each pointer has its class: `token`, `hash`, `regulated`, `drop`.
    """

    def decorate(function: F) -> F:
        called = name or function.__name__
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": called,
            "gen_ai.tool.type": "function",
        }
        if side_effect is not None:
            attributes[keys.TOOL_SIDE_EFFECT] = side_effect
        if version is not None:
            attributes[keys.TOOL_VERSION] = version
        if sensitive:
            attributes[keys.SENSITIVE] = _sensitive(sensitive)
        return bounded(function, Declared("tool", called, function, attributes))

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
