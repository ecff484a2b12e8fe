"""LangGraph checkpoints: a replay starts where the thread stood before the run, and writes nothing to where it is kept.

What a checkpointer of the recorder (`runreel.record.checkpointer`) read is in the record. Any other one is asked for
the newest state from before the run, which is what the run started from unless somebody took it away since; the report
says so. Writes stay in memory, where later reads of the same thread find them.
"""

import functools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from runreel.record import checkpoints
from runreel.record.checkpoints import Kept
from runreel.replay.adapters.answers import Answers
from runreel.replay.adapters.guarding import Guard, guard_classes
from runreel.replay.imports import when_imported

_OWN = ("langgraph.checkpoint.memory", checkpoints.__name__)
"""Where savers stand that keep nothing beyond the process, or are answered from the record."""


def install(answers: Answers) -> None:
    """Guard the savers of every class, once the agent imports them."""
    when_imported("langgraph.checkpoint.base", lambda module: _guard(answers, module))


def _guard(answers: Answers, module: ModuleType) -> None:
    kept = WeakKeyDictionary[Any, Kept]()

    def of(saver: Any) -> Kept:
        return kept.setdefault(saver, Kept(saver.serde)) if saver not in kept else kept[saver]

    def tell(saver: Any, found: Any) -> None:
        if found is not None:
            answers.tell(
                f"the thread began with the newest state that {type(saver).__name__} holds from before the run "
                f"({found.checkpoint['ts']}); the record does not hold it: runreel.record.checkpointer records it"
            )

    def get_tuple(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def guarded(self: Any, config: Any) -> Any:
            if of(self).knows(config):
                return of(self).saver.get_tuple(config)
            found = method(self, config)
            if _is_later(found, config):
                found = next((one for one in self.list(_whole_thread(config)) if not _is_later(one, config)), None)
            tell(self, found)
            return of(self).start(config, found)

        return guarded

    def aget_tuple(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def guarded(self: Any, config: Any) -> Any:
            if of(self).knows(config):
                return of(self).saver.get_tuple(config)
            found = await method(self, config)
            if _is_later(found, config):
                listed = [one async for one in self.alist(_whole_thread(config))]
                found = next((one for one in listed if not _is_later(one, config)), None)
            tell(self, found)
            return of(self).start(config, found)

        return guarded

    def put(method: Callable[..., Any]) -> Callable[..., Any]:
        return functools.wraps(method)(lambda self, config, *args, **kwargs: of(self).put(config, *args, **kwargs))

    def into(name: str) -> Guard:
        def made(method: Callable[..., Any]) -> Callable[..., Any]:
            return functools.wraps(method)(lambda self, *args, **kwargs: getattr(of(self).saver, name)(*args, **kwargs))

        return made

    writes = ("put_writes", "aput_writes", "delete_thread", "adelete_thread")
    guards: dict[str, Guard] = {"get_tuple": get_tuple, "aget_tuple": aget_tuple, "put": put, "aput": _later(put)}
    guards |= {name: into(name) for name in writes}
    guard_classes(module.BaseCheckpointSaver, {name: _but_not_own(made) for name, made in guards.items()})


def _later(guard: Guard) -> Guard:
    """Make an async method of a guarded one that is not."""

    def made(method: Callable[..., Any]) -> Callable[..., Any]:
        now = guard(method)

        @functools.wraps(method)
        async def later(*args: Any, **kwargs: Any) -> Any:
            return now(*args, **kwargs)

        return later

    return made


def _but_not_own(guard: Guard) -> Guard:
    return lambda method: method if method.__module__ in _OWN else guard(method)


def _whole_thread(config: Mapping[str, Any]) -> dict[str, Any]:
    held = {key: value for key, value in config["configurable"].items() if key in ("thread_id", "checkpoint_ns")}
    return {"configurable": held}


def _is_later(found: Any, config: Mapping[str, Any]) -> bool:
    """Say whether a state was written after the run began; one that is asked for by its id is what it is."""
    if found is None or config["configurable"].get("checkpoint_id"):
        return False
    return datetime.fromisoformat(found.checkpoint["ts"]) > datetime.now(UTC)  # the clock is at the recorded start
