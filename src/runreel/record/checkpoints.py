"""LangGraph checkpoints as a memory: the state that a thread had before the run is recorded, and a replay starts there.

Only the first read of a thread is recorded: what the run itself writes comes again by itself. In a replay the saver is
neither read nor written: the agent's writes are kept in memory, where its later reads find them.
"""

import warnings
from collections.abc import AsyncIterator, Callable, Mapping
from importlib import import_module
from typing import Any, Final, TypeVar

from runreel.record import _active
from runreel.record.calls import wrapped
from runreel.record.convert import UnrecordableError
from runreel.record.said import CHECKPOINTS, Declared
from runreel.values import Value

S = TypeVar("S")

_BASE: Final = "langgraph.checkpoint.base"

Thread = tuple[str, str]
_PARTS: Final = ("config", "checkpoint", "metadata", "parent_config", "pending_writes")
_HELD: Final = ("thread_id", "checkpoint_ns", "checkpoint_id")


def checkpointer(saver: S) -> S:
    """Return a checkpointer like `saver`, whose first read of each thread is recorded, and answered in a replay.

    `graph.compile(checkpointer=rr.checkpointer(saver))`, and call the graph inside `rr.run()`. The state is recorded as
    LangChain writes its messages as JSON; what else is no JSON is counted as lost.

    Raises ImportError where `langgraph-checkpoint` is not installed.
    """
    made: S = type("Recorded", (_Recorded, import_module(_BASE).BaseCheckpointSaver), {})(saver)
    return made


def thread_of(config: Mapping[str, Any]) -> Thread:
    """Return whose state a config asks for: the thread, and the graph inside of it."""
    held = config["configurable"]
    return str(held["thread_id"]), str(held.get("checkpoint_ns") or "")


class Kept:
    """What a replay keeps in place of a saver: the states that were read, and all that was written since."""

    def __init__(self, serde: Any) -> None:
        self.saver: Any = import_module("langgraph.checkpoint.memory").InMemorySaver(serde=serde)
        self._known: set[Thread] = set()

    def knows(self, config: Mapping[str, Any]) -> bool:
        """Say whether the thread was read or written before."""
        return thread_of(config) in self._known

    def start(self, config: Mapping[str, Any], found: Any) -> Any:
        """Begin a thread with the state that was found for it, None for none; return what a read of it gives."""
        self._known.add(thread_of(config))
        if found is None:
            return None
        held = found.config["configurable"]
        parent = (found.parent_config or {}).get("configurable", {}).get("checkpoint_id")
        above = {**held, "checkpoint_ns": held.get("checkpoint_ns") or "", "checkpoint_id": parent}
        versions = found.checkpoint["channel_versions"]
        self.saver.put({"configurable": above}, found.checkpoint, found.metadata, versions)
        for task, channel, value in found.pending_writes or ():
            self.saver.put_writes({"configurable": {**above, **held}}, [(channel, value)], task)
        return found

    def put(self, config: Mapping[str, Any], *args: Any) -> Any:
        """Write as the saver would."""
        self._known.add(thread_of(config))
        return self.saver.put(config, *args)


def to_value(found: Any) -> Any:
    """Return a `CheckpointTuple` as JSON. Raises UnrecordableError for what LangChain cannot write so."""
    from langchain_core.load import dumpd

    made = {name: dumpd(getattr(found, name)) for name in _PARTS}
    for part in ("config", "parent_config"):
        held = (made[part] or {}).get("configurable", {})
        made[part] = {"configurable": {key: held[key] for key in _HELD if key in held}} if held else None
    lost = _lost(made)
    if lost:
        raise UnrecordableError(lost)
    return made


def _lost(value: Any) -> str:
    """Return the type of the first thing that has no form in JSON; "" where there is none."""
    if isinstance(value, dict):
        if value.get("type") == "not_implemented" and "lc" in value:
            return ".".join(map(str, value.get("id", ())))
        value = list(value.values())
    return next((lost for one in value if (lost := _lost(one))), "") if isinstance(value, list) else ""


def from_value(value: Any) -> Any:
    """Return the `CheckpointTuple` that was recorded; None where the thread had no state."""
    from langchain_core.load import load

    if not isinstance(value, Mapping) or not value.get("checkpoint"):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of classes that are not its own; messages are
        parts = {name: load(value.get(name), allowed_objects="messages") for name in _PARTS}
    parts["pending_writes"] = [tuple(one) for one in parts["pending_writes"] or ()]
    return import_module(_BASE).CheckpointTuple(**parts)


class _State:
    """A state that is read, recorded as `to_value` writes it."""

    def __init__(self, found: Any) -> None:
        self.found = found

    def model_dump(self, **_: Any) -> Any:
        return None if self.found is None else to_value(self.found)


def _declared(config: Mapping[str, Any], load: Callable[..., Any]) -> Declared:
    held = config["configurable"]
    asked: dict[str, Value] = {key: str(held[key]) for key in _HELD if held.get(key)}
    return Declared("memory", CHECKPOINTS, load, op="search", key="thread_id", fixed=asked)


class _Recorded:
    """A saver behind the recorder's boundary: what LangGraph's base class is put under."""

    def __init__(self, saver: Any) -> None:
        self.serde, self._saver, self._own = saver.serde, saver, set[Thread]()
        self._kept = Kept(saver.serde) if _active.current is not None else None

    @property
    def _target(self) -> Any:
        return self._saver if self._kept is None else self._kept.saver

    @property
    def config_specs(self) -> Any:
        return self._saver.config_specs

    def get_next_version(self, current: Any, channel: Any) -> Any:
        return self._saver.get_next_version(current, channel)

    def _is_own(self, config: Any) -> bool:
        return thread_of(config) in self._own if self._kept is None else self._kept.knows(config)

    def _answered(self, config: Any, read: Any) -> Any:
        self._own.add(thread_of(config))
        if self._kept is None:
            return read.found if isinstance(read, _State) else read
        return self._kept.start(config, from_value(read))

    def get_tuple(self, config: Any) -> Any:
        if self._is_own(config):
            return self._target.get_tuple(config)

        def load() -> _State:
            return _State(self._saver.get_tuple(config))

        return self._answered(config, wrapped(load, _declared(config, load))())

    async def aget_tuple(self, config: Any) -> Any:
        if self._is_own(config):
            return await self._target.aget_tuple(config)

        async def load() -> _State:
            return _State(await self._saver.aget_tuple(config))

        return self._answered(config, await wrapped(load, _declared(config, load))())

    def put(self, config: Any, *args: Any, **kwargs: Any) -> Any:
        self._own.add(thread_of(config))
        return (self._kept or self._saver).put(config, *args, **kwargs)

    async def aput(self, config: Any, *args: Any, **kwargs: Any) -> Any:
        self._own.add(thread_of(config))
        if self._kept is not None:
            return self._kept.put(config, *args, **kwargs)
        return await self._saver.aput(config, *args, **kwargs)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._target.put_writes(config, writes, task_id, task_path)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        await self._target.aput_writes(config, writes, task_id, task_path)

    def list(self, config: Any, **kwargs: Any) -> Any:
        return self._target.list(config, **kwargs)

    async def alist(self, config: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async for one in self._target.alist(config, **kwargs):
            yield one

    def delete_thread(self, thread_id: str) -> None:
        self._target.delete_thread(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        await self._target.adelete_thread(thread_id)
