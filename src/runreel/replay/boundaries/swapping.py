"""Swap the found functions' code as their modules are loaded, so that no line of a recorded tool ever runs."""

import ast
import functools
import importlib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from runreel.errors import RefusedError
from runreel.replay.boundaries import functions as stubs
from runreel.replay.boundaries import standing
from runreel.replay.boundaries.finding import is_users
from runreel.replay.boundaries.registrations import walk
from runreel.replay.imports import when_imported
from runreel.values import Kind


@dataclass(frozen=True, slots=True)
class Target:
    """A function named with `--tool NAME=module:function`; `path` may go through a class (`Toolbox.search`)."""

    module: str
    path: str


@dataclass(slots=True)
class Swapper:
    """Swaps the functions named like a recorded call in the user's own modules, what is registered under such a name
    there, and the targets named explicitly.

    `kinds` maps each recorded name to its kind. Names with a target are swapped there and nowhere else.
    """

    kinds: Mapping[str, Kind]
    targets: Mapping[str, Target] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    done: dict[str, list[str]] = field(default_factory=dict)

    def install(self) -> None:
        """Have every source module loaded from now on go through `rewrite`."""
        standing.expect({name: self.kinds[name] for name in self._untargeted()}, self.packages)
        original = SourceFileLoader.get_code

        def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
            code = original(loader, fullname)
            return code if code is None else self.rewrite(code, fullname, loader.path)

        SourceFileLoader.get_code = get_code  # type: ignore[assignment, method-assign]

    def rewrite(self, code: CodeType, module: str, file: str) -> CodeType:
        """Return a module's code with stubs in the place of its recorded tools."""
        targets = {target.path: name for name, target in self.targets.items() if target.module == module}
        names: frozenset[str] = frozenset()
        if is_users(file, self.packages):
            names = self._untargeted()
            code = _with_hooks(code, file, names)
        return self._replace(code, targets, names, module) if targets or names else code

    def _untargeted(self) -> frozenset[str]:
        return frozenset(self.kinds) - self.targets.keys()

    def _replace(self, code: CodeType, targets: Mapping[str, str], names: frozenset[str], module: str) -> CodeType:
        """Swap functions at any depth: by their whole path where they are targets, else by their name."""
        consts: list[Any] = list(code.co_consts)
        for position, const in enumerate(consts):
            if not isinstance(const, CodeType):
                continue
            name = targets.get(const.co_qualname, "")
            if not name and const.co_name in names and const.co_flags & inspect.CO_OPTIMIZED:  # no body of a class
                name = const.co_name
            if name:
                self.done.setdefault(name, []).append(f"{module}:{const.co_qualname}")
                consts[position] = stubs.swapped(const, self.kinds[name], name)
            else:
                consts[position] = self._replace(const, targets, names, module)
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

    def swap_when_imported(self) -> None:
        """Swap the targets of modules once they are imported: a program that the agent starts needs not all of them."""
        for name, target in self.targets.items():
            if target.module != "__main__":
                when_imported(target.module, functools.partial(self._imported, name, target))

    def _imported(self, name: str, target: Target, _module: ModuleType) -> None:
        problem = self._swap_target(name, target)
        if problem:
            raise RefusedError(f"tool {name} would run for real: {problem}")

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
            if inner is not None and standing.in_place(inner, self.kinds[name], name):
                self.done.setdefault(name, []).append(f"{target.module}:{target.path}")
                return ""
            found = "is not there" if inner is None else f"is no Python function but {type(inner).__name__}"
            return f"{target.module}:{target.path} {found}"
        if not stubs.is_stub(inner.__code__):
            stubs.swap(inner, self.kinds[name], name)
            self.done.setdefault(name, []).append(f"{target.module}:{target.path}")
        return ""


def _with_hooks(code: CodeType, file: str, names: Iterable[str]) -> CodeType:
    """Compile a module once more where it registers something under one of the names (see registrations)."""
    try:
        source = Path(file).read_bytes()
        if not any(name.encode() in source for name in names):
            return code
        tree = ast.parse(source, file)
    except (OSError, SyntaxError, ValueError):  # there is no source to this code
        return code
    return compile(tree, file, "exec", dont_inherit=True) if walk(tree, names).found else code


def paths_in(code: CodeType) -> Iterable[str]:
    """Name the functions that a module's code defines, as `Class.method` and `outer.<locals>.inner`."""
    for const in code.co_consts:
        if isinstance(const, CodeType):
            if const.co_flags & inspect.CO_OPTIMIZED:
                yield const.co_qualname
            yield from paths_in(const)
