"""Run a callback as soon as a module has been imported, so that nothing is imported that the agent does not use."""

import sys
import threading
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Callback = Callable[[ModuleType], None]

_lock = threading.Lock()
_waiting: dict[str, list[Callback]] = {}


def when_imported(module: str, callback: Callback) -> None:
    """Call `callback(module)` once the module named has run: now if it has been imported, else right after it is.

    The callback also runs again after a reload. What it raises leaves through the agent's own import statement: an
    agent whose library cannot be patched must not run on as if it were.
    """
    with _lock:
        _waiting.setdefault(module, []).append(callback)
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
        loaded = sys.modules.get(module)
    if loaded is not None:
        callback(loaded)


class _Finder(MetaPathFinder):
    """Finds a module as everybody else would, and puts our loader around the one found."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _waiting:
            return None
        for finder in sys.meta_path:
            # Finders of old need not have find_spec; ours would only come back here.
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(fullname, path, target) if find else None
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader)
                return spec
        return None


class _Loader(Loader):
    """Runs the module with its own loader, then what waits for it."""

    def __init__(self, own: Loader) -> None:
        self._own = own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module sees its own loader while it runs: some read their data files or their source through it.
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        for callback in tuple(_waiting.get(module.__name__, ())):
            callback(module)
