"""Find and run an agent's entry inside its process: a script, as Python would run it, or a callable."""

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

from runreel.errors import EntryPointError
from runreel.replay.boundaries.finding import Place, locate

Rewrite = Callable[[CodeType, str, str], CodeType]


def prepare(entry: Mapping[str, str], arguments: Sequence[str]) -> Place:
    """Set `sys.path` and `sys.argv` as Python would; return the entry's source file.

    `entry` has `script`, or `module` and `callable`. Raises EntryPointError where there is no such file, or it is no
    Python: nothing of the agent is imported to find that out.
    """
    script = entry.get("script")
    if script is not None:
        path = Path(script).absolute()
        if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where a folder on the way may not be entered
            raise EntryPointError(f"{script} is a folder: name the script in it")
        if not _is_there(path):
            raise EntryPointError(f"there is no script {script}; it is looked for below {Path.cwd()}")
        sys.path.insert(0, str(path.parent))
        sys.argv[:] = [script, *arguments]
        compiled(str(path))
        return Place("__main__", str(path))
    module = entry["module"]
    sys.path.insert(0, str(Path.cwd()))
    places = locate(module)
    if not places or places[-1].module != module:
        raise EntryPointError(f"there is no module {module} in Python source, neither below {Path.cwd()} nor installed")
    sys.argv[:] = [places[-1].file, *arguments]
    compiled(places[-1].file)
    return places[-1]


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except PermissionError:
        return True  # who reads it says so


def compiled(file: str) -> CodeType:
    """Compile a source file. Raises EntryPointError where it cannot be read, or is no Python."""
    try:
        return compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)
    except OSError as error:
        hint = "; inside the sandbox root reads only what the file's mode allows" if os.geteuid() == 0 else ""
        raise EntryPointError(f"{file} cannot be read: {(error.strerror or str(error)).lower()}{hint}") from error
    except (SyntaxError, ValueError) as error:  # ValueError: a NUL byte, up to Python 3.11
        line = error.lineno if isinstance(error, SyntaxError) else None
        place = f", line {line}" if line else ""
        raise EntryPointError(f"{file}{place} is no Python: {error.args[0]}") from error


def run_script(file: str, rewrite: Rewrite) -> None:
    """Run a script as `__main__`."""
    code = rewrite(compiled(file), "__main__", file)
    module = ModuleType("__main__")
    module.__file__ = file
    module.__loader__ = SourceFileLoader("__main__", file)
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    exec(code, module.__dict__)  # noqa: S102 - running the agent is what this is for


def import_callable(module: str, path: str) -> Callable[..., Any]:
    """Import the entry's module and return its callable. Raises EntryPointError where that does not work.

    The message names the exception and the place, and quotes only what comes from the import system: other
    exceptions may hold a run's text.
    """
    try:
        thing: Any = importlib.import_module(module)
    except Exception as error:
        text = f": {error}" if isinstance(error, (ImportError, SyntaxError)) else ""
        raise EntryPointError(f"{module} does not import: {type(error).__name__}{text}{_where(error)}") from error
    for part in path.split("."):
        thing = getattr(thing, part, None)
    if not callable(thing):
        raise EntryPointError(f"{module} has no {path} to call" if thing is None else f"{module}:{path} is no callable")
    return thing  # type: ignore[no-any-return]


def call(thing: Callable[..., Any], values: Sequence[Any]) -> None:
    """Call the entry with its input, where it takes one; run what it returns if that is a coroutine."""
    result = thing(*(values if takes_input(thing) else ()))
    if inspect.iscoroutine(result):
        importlib.import_module("asyncio").run(result)


def takes_input(thing: Callable[..., Any]) -> bool:
    """Say whether a callable has a place for the user's input: a positional parameter."""
    try:
        declared = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):  # callables of C code say nothing about themselves
        return True
    places = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    )
    return any(parameter.kind in places for parameter in declared)


def _where(error: BaseException) -> str:
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return f" ({last.tb_frame.f_code.co_filename}:{last.tb_lineno})" if last is not None else ""


def without_our_frames(error: BaseException) -> BaseException:
    """Return the exception with a traceback that begins in the agent's own code."""
    traceback: TracebackType | None = error.__traceback__
    own = str(Path(__file__).parent)
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(own):
        traceback = traceback.tb_next
    return error.with_traceback(traceback)
