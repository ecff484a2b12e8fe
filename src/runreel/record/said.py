"""What a call's span says: the conventions' attributes for each kind of boundary, and beside them what those lack."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.util.types import AttributeValue

from runreel.record import _active
from runreel.record.convert import plain
from runreel.record.losses import count
from runreel.record.strip import to_json
from runreel.semconv import keys, messages
from runreel.semconv.secrets import strip_secrets
from runreel.semconv.view import Memo
from runreel.values import Value

if TYPE_CHECKING:
    from runreel.record.contract import Contract, Judged

Passed = tuple[dict[str, Value], tuple[str, ...]]  # arguments by name, types of those that have no recorded form

FLAGS: Final = "flags"
PROMPTS: Final = "prompts"
SESSIONS: Final = "mcp"
CHECKPOINTS: Final = "checkpoints"
_QUERY_NAMES: Final = ("query", "question", "text", "q")
_TOP_K_NAMES: Final = ("top_k", "k", "limit")
_MESSAGES_NAMES: Final = ("messages", "prompt", "input")
_PARAMS: Final[Mapping[str, str]] = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "max_tokens": "gen_ai.request.max_tokens",
    "seed": "gen_ai.request.seed",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
}


@dataclass(frozen=True, slots=True)
class Declared:
    """What a decorator says of a function, and what the function's signature says of itself.

    `op` is what is done to a memory; `fixed` are arguments that are recorded in place of those that are passed; `known`
    is what the code itself says of the answer, without running anything.
    """

    kind: _active.CallKind
    name: str
    function: Callable[..., Any]
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    top_k: int | None = None
    op: str = ""
    key: str = ""
    fixed: Mapping[str, Value] | None = None
    known: Mapping[str, Value] | None = None
    contract: "Contract | None" = None

    @property
    def defaults(self) -> Mapping[str, Value]:
        """The declared defaults, by parameter: an argument that equals its default says no more than none."""
        parameters = inspect.signature(self.function).parameters
        declared = {name: one.default for name, one in parameters.items() if one.default is not one.empty}
        return {name: plain(value, _stand_in) for name, value in declared.items()}

    @property
    def title(self) -> str:
        """The name of the call's span."""
        operation = {"tool": "execute_tool", "llm": "chat", "retrieval": "retrieval"}.get(self.kind, self.op)
        return f"{operation} {self.name}"


def _stand_in(value: object) -> Value:
    """Stand in for an argument that has no recorded form (a session, a client): always the same for its type."""
    return f"<UNRECORDED:{type(value).__module__}.{type(value).__qualname__}>"


# --- what was asked ---------------------------------------------------------------------------------------------------


def arguments(what: Declared, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Passed:
    """Return the request in the form that a tape has it, and what of the arguments could not be recorded."""
    lost: list[str] = []

    def unknown(value: object) -> Value:
        count("arguments")
        lost.append(f"{type(value).__module__}.{type(value).__qualname__}")
        return _stand_in(value)

    if what.fixed is not None:
        return {"op": what.op, "arguments": what.fixed}, ()
    passed = {name: plain(value, unknown) for name, value in named(what.function, args, kwargs).items()}
    if what.kind == "retrieval":
        passed = _retrieval_arguments(passed)
    elif what.kind == "memory":
        passed = {"op": what.op, "arguments": passed}
    elif what.kind == "llm":
        passed = _model_arguments(what, passed)
    return passed, tuple(lost)


def named(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by the function's parameters; never the object a method is called on."""
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        # The function will say so itself when it is called; on the tape the call is told by what was passed.
        return {**{str(position): value for position, value in enumerate(args)}, **kwargs}
    found: dict[str, Any] = {}
    for position, (name, value) in enumerate(bound.arguments.items()):
        if position == 0 and name in ("self", "cls"):
            continue
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            found.update(value)
        else:
            found[name] = value
    return found


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


def _model_arguments(what: Declared, passed: Mapping[str, Value]) -> dict[str, Value]:
    """Return a model request as a record has it. Messages go through the mapping that the record's went through."""
    rest, memo = dict(passed), Memo()
    name = next((name for name in _MESSAGES_NAMES if name in rest), next(iter(rest), None))
    given = None if name is None else rest.pop(name)
    model, tools = rest.pop("model", what.name), rest.pop("tools", None)
    said: tuple[Value, ...] = messages.messages(given, "user", memo)
    return {
        "model": model,
        "messages": said,
        "tools": None if tools is None else messages.definitions(tools, memo),
        "params": {name: value for name, value in rest.items() if value is not None},
    }


def request(what: Declared, asked: Mapping[str, Value], call_id: str, lost: Sequence[str]) -> dict[str, AttributeValue]:
    """Return the attributes that a call's span starts with."""
    out: dict[str, AttributeValue] = dict(what.attributes)
    if lost:
        out[keys.UNRECORDED] = [f"arguments: {name}" for name in lost]
    if what.kind == "tool":
        out["gen_ai.tool.call.arguments"] = to_json(asked)
        if call_id:
            out["gen_ai.tool.call.id"] = call_id
    elif what.kind == "retrieval":
        out.update(_searched(what, asked))
    elif what.kind == "memory":
        out.update(_remembered(what, asked))
    else:
        out.update(_prompted(asked))
    return out


def _searched(what: Declared, asked: Mapping[str, Value]) -> dict[str, AttributeValue]:
    query, top_k = asked.get("query"), asked.get("top_k", what.top_k)
    out: dict[str, AttributeValue] = {
        "gen_ai.retrieval.query.text": strip_secrets(query) if isinstance(query, str) else to_json(query)
    }
    if isinstance(top_k, int):
        out["gen_ai.retrieval.top_k"] = top_k
    if "filters" in asked:
        out[keys.RETRIEVAL_FILTERS] = to_json(asked["filters"])
    return out


def _remembered(what: Declared, asked: Mapping[str, Value]) -> dict[str, AttributeValue]:
    given = asked.get("arguments")
    out: dict[str, AttributeValue] = {
        "gen_ai.operation.name": f"{what.op}_memory",
        keys.MEMORY_STORE: what.name,
        keys.MEMORY_OP: what.op,
        keys.MEMORY_INPUT: to_json(given),
    }
    key = given.get(what.key) if isinstance(given, Mapping) else None
    if key is not None:
        out[keys.MEMORY_KEY] = strip_secrets(str(key))
    return out


def _prompted(asked: Mapping[str, Value]) -> dict[str, AttributeValue]:
    out: dict[str, AttributeValue] = {
        "gen_ai.request.model": str(asked["model"]),
        "gen_ai.response.model": str(asked["model"]),
        "gen_ai.input.messages": to_json(asked["messages"]),
    }
    if asked["tools"] is not None:
        out["gen_ai.tool.definitions"] = to_json(asked["tools"])
    params = asked["params"]
    assert isinstance(params, Mapping)
    extra = {}
    for name, value in params.items():
        if name in _PARAMS and isinstance(value, int | float):
            out[_PARAMS[name]] = value
        else:
            extra[name] = value
    if extra:
        out[keys.LLM_REQUEST_EXTRA] = to_json(extra)
    return out


def judged(what: "Judged") -> dict[str, AttributeValue]:
    """Return what a contract said of a call: the arguments as executed stand beside those that came."""
    out: dict[str, AttributeValue] = {
        keys.TOOL_CONTRACT_DECISION: what.decision,
        keys.TOOL_CONTRACT_ID: what.contract,
    }
    if what.reason:
        out[keys.TOOL_CONTRACT_REASON] = strip_secrets(what.reason)
    if what.decision == "coerce":
        out[keys.TOOL_CONTRACT_ARGUMENTS] = to_json(plain(what.arguments, _stand_in))
    return out


# --- what came back ---------------------------------------------------------------------------------------------------


def response(what: Declared, value: Value) -> dict[str, AttributeValue]:
    """Say what was returned as the conventions do, and beside it what they do not say of it."""
    if what.kind in ("tool", "memory"):
        name = "gen_ai.tool.call.result" if what.kind == "tool" else keys.MEMORY_OUTPUT
        read = {} if what.fixed is None else _read(what.name, str(what.fixed.get("key")), value)
        if isinstance(value, str):
            return {**read, name: strip_secrets(value), keys.RESULT_TYPE: "text"}
        return {**read, name: to_json(value), keys.RESULT_TYPE: "json"}
    if what.kind == "llm":
        return {"gen_ai.output.messages": _answered(value), keys.RESULT_VALUE: to_json(value)}
    listed = _documents(value)
    out: dict[str, AttributeValue] = {"gen_ai.retrieval.documents": to_json(listed)}
    if messages.documents(listed, Memo()) != value:
        out[keys.RESULT_VALUE] = to_json(value)
    return out


def _read(store: str, key: str, value: Value) -> dict[str, AttributeValue]:
    """Say what of a flag or prompt is the run's, too: a flag's value under its own name, a prompt's version."""
    if store == FLAGS:
        shown = (
            value if isinstance(value, bool | int | float) else strip_secrets(value) if isinstance(value, str) else None
        )
        return {f"{keys.FLAG_PREFIX}{key}": to_json(value) if shown is None else shown}
    if store == PROMPTS and isinstance(value, Mapping):
        return {keys.PROMPT_ID: key, keys.PROMPT_VERSION: str(value.get("version"))}
    return {}


def _answered(value: Value) -> str:
    """Return an answer as messages: a text, a message, a list of messages, the pieces of a stream, or anything."""
    pieces = [item for item in value if isinstance(item, str)] if isinstance(value, tuple) else []
    if pieces and isinstance(value, tuple) and len(pieces) == len(value):
        value = "".join(pieces)
    spoken = isinstance(value, str) or _is_message(value) or (isinstance(value, tuple) and all(map(_is_message, value)))
    said = messages.messages(value if spoken else to_json(value), "assistant", Memo())
    return to_json(tuple({"finish_reason": "stop", **one} for one in said))


def _is_message(value: Value) -> bool:
    return isinstance(value, Mapping) and ("content" in value or "parts" in value or "tool_calls" in value)


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
