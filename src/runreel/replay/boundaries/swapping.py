"""Swap the found functions' code as their modules are loaded, so that no line of a recorded tool ever runs."""

import importlib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from types import CodeType, FunctionType
from typing import Any

from runreel.replay.boundaries import functions
from runreel.replay.boundaries.finding import is_users
from runreel.values import Kind


@dataclass(frozen=True, slots=True)
class Target:
    """A function named with `--tool NAME=module:function`; `path` may go through a class (`Toolbox.search`)."""

    module: str
    path: str


@dataclass(slots=True)
class Swapper:
    """Swaps the functions named like a recorded call in the user's own modules, and the targets named explicitly.

    `kinds` maps each recorded name to its kind. Names with a target are swapped there and nowhere else.
    """

    kinds: Mapping[str, Kind]
    targets: Mapping[str, Target] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    done: dict[str, list[str]] = field(default_factory=dict)

    def install(self) -> None:
        """Have every source module loaded from now on go through `rewrite`."""
        original = SourceFileLoader.get_code

        def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
            code = original(loader, fullname)
            return code if code is None else self.rewrite(code, fullname, loader.path)

        SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]

    def rewrite(self, code: CodeType, module: str, file: str) -> CodeType:
        """Return a module's code with stubs in the place of its recorded tools."""
        wanted = {target.path: name for name, target in self.targets.items() if target.module == module}
        if is_users(file, self.packages):
            wanted |= {name: name for name in self.kinds if name not in self.targets}
        return self._replace(code, wanted, module) if wanted else code

    def _replace(self, code: CodeType, wanted: Mapping[str, str], module: str) -> CodeType:
        consts: list[Any] = list(code.co_consts)
        for position, const in enumerate(consts):
            if not isinstance(const, CodeType):
                continue
            if const.co_qualname in wanted:
                name = wanted[const.co_qualname]
                self.done.setdefault(name, []).append(f"{module}:{const.co_qualname}")
                consts[position] = functions.swapped(const, self.kinds[name], name)
            elif not const.co_flags & inspect.CO_OPTIMIZED:  # the body of a class
                consts[position] = self._replace(const, wanted, module)
        return code.replace(co_consts=tuple(consts)) if consts != list(code.co_consts) else code

    def swap_targets(self, main: str = "") -> dict[str, str]:
        """Import the modules of explicit targets and swap what loading did not. Returns name -> why it cannot be.

        Targets in the script itself (`main` is its module's name) must have been seen by `check_main`.
        """
        problems = {}
        for name, target in self.targets.items():
            if target.module not in ("__main__", main):
                problem = self._swap_target(name, target)
                if problem:
                    problems[name] = problem
        return problems

    def _swap_target(self, name: str, target: Target) -> str:
        try:
            thing: Any = importlib.import_module(target.module)
        except Exception as error:  # noqa: BLE001 - a user's module may raise anything while it is imported
            return f"{target.module} does not import ({type(error).__name__})"
        for part in target.path.split("."):
            thing = inspect.getattr_static(thing, part, None)
        if isinstance(thing, (staticmethod, classmethod)):
            thing = thing.__func__
        inner = inspect.unwrap(thing) if callable(thing) else thing
        if not isinstance(inner, FunctionType):
            found = "is not there" if inner is None else f"is no Python function but {type(inner).__name__}"
            return f"{target.module}:{target.path} {found}"
        if not functions.is_stub(inner.__code__):
            functions.swap(inner, self.kinds[name], name)
            self.done.setdefault(name, []).append(f"{target.module}:{target.path}")
        return ""


def paths_in(code: CodeType) -> Iterable[str]:
    """Name the functions that a module's code defines itself, methods as `Class.method`."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            if const.co_flags & inspect.CO_OPTIMIZED:
                yield const.co_qualname
            else:
                yield from paths_in(const)
