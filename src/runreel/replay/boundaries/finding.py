"""Find the functions behind recorded tool names before any of the agent's code runs, by reading its source.

The entry's module is read, and every module of the user's own that it imports, anywhere in it. A recorded tool is found
as a function of that name, wherever it is defined (at the top level, in a class, in another function), as something
that is registered under that name, or as one of the recorder's boundaries. Nothing is imported: a tool that is not
found, or of which only running could tell what it is, is refused while nothing has happened yet.
"""

import ast
import itertools
import pkgutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path

from runreel.replay.boundaries.registrations import Branch, Form, Names, branches, walk

_RECORDER = {"tool", "retriever", "memory"}
# What a file imports that serves tools over MCP: they are not its own process's to call.
_SERVERS = ("mcp.server", "fastmcp.FastMCP", "fastmcp.server", "mcp.MCPServer")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a function is defined: a module's name (`__main__` for a script) and its file, the path inside it."""

    module: str
    file: str
    path: str = ""

    def __str__(self) -> str:
        return f"{self.module}:{self.path}"


@dataclass(frozen=True, slots=True)
class Registered:
    """A place that gives a tool's name to something; `form` says what, as far as reading tells."""

    place: str
    form: Form


@dataclass(slots=True)
class Found:
    """What the reading found. `functions` by name; `registered` are other things that get a name; `boundaries` are the
    recorder's, by recorded name; `unreadable` are files that are no Python, with the reason; `servers` are files of
    other programs, and of MCP servers; `imported` are the modules that the agent's own files name; `uses` are the files
    that a file imports."""

    functions: dict[str, list[Place]] = field(default_factory=dict)
    registered: dict[str, list[Registered]] = field(default_factory=dict)
    boundaries: set[str] = field(default_factory=set)
    files: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    unclear: dict[str, list[str]] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    branches: dict[str, list[tuple[str, Branch]]] = field(default_factory=dict)
    servers: set[str] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    uses: dict[str, list[str]] = field(default_factory=dict)

    def of_agent(self, names: Iterable[str], served: Iterable[str] = ()) -> list[str]:
        """Return which names stand for something of the agent's own process, and of no MCP server's.

        `served` are known to be a server's. What a server's file imports, the agent may import as well: tools that
        both could have are the server's.
        """
        files = self.servers | {place.file for name in served for place in self.functions.get(name, ())}
        waiting = list(files)
        while waiting:
            more = set(self.uses.get(waiting.pop(), ())) - files
            files |= more
            waiting += more
        return [name for name in names if name in self.boundaries or self._files(name) - files]

    def _files(self, name: str) -> set[str]:
        registered = (one.place.rpartition(":")[0] for one in self.registered.get(name, ()))
        return {*registered, *(place.file for place in self.functions.get(name, ()))}

    @property
    def uses_mcp(self) -> bool:
        """Say whether the agent's own files import anything of MCP, whatever framework it comes with."""
        return any("mcp" in module.lower() for module in self.imported)

    def has(self, name: str) -> bool:
        """Say whether a name is known to be something that is answered for; False also where only running tells."""
        if name in self.boundaries:
            return True
        forms = [one.form for one in self.registered.get(name, ())]
        if name in self.unclear or self._is_decoy(name):
            return False
        return any(map(self.names.is_callable, forms)) or (
            name in self.functions and not any(map(self.names.is_unclear, forms))
        )

    def is_unknown(self, name: str) -> bool:
        """Say whether nothing that was read has to do with a name."""
        seen = (self.functions, self.registered, self.unclear, self.branches)
        return name not in self.boundaries and not any(name in one for one in seen)

    def _is_decoy(self, name: str) -> bool:
        """Say whether a function that nobody uses has the name of a tool, and another one may well be the tool."""
        if name in self.registered or name in self.names.used:
            return False
        called = self.branches.get(name, ())
        return any(name not in branch.calls for _, branch in called) or bool(self._named_like(name))

    def _named_like(self, name: str) -> list[str]:
        """Name the functions called `do_NAME` or `NAME_tool` that nobody uses by name: they may be asked for by one."""
        unused = self.names.functions - self.names.used
        return sorted(one for one in unused if one.endswith(f"_{name}") or one.startswith(f"{name}_"))

    def told(self, name: str) -> str:
        """Say why a name is not found: what was seen of it, and why that is not enough."""
        if name in self.unclear:
            listed = ", ".join(self.unclear[name])
            return f"{listed} gives this name to objects, and nothing says which of their methods is the call"
        if name in self.registered:
            listed = ", ".join(one.place for one in self.registered[name])
            if any(self.names.is_unclear(one.form) for one in self.registered[name]):
                return f"{listed} gives this name to an object, and nothing says which of its methods is the call"
            return f"{listed} gives this name to something that only running could tell"
        for file, branch in self.branches.get(name, ()):
            calls = ", ".join(sorted(filter(None, branch.calls))) or "something"
            return f"{file}:{branch.line}, where this name is asked for, calls {calls}: name the function that is meant"
        if name in self.functions and (like := self._named_like(name)):
            return f"nobody uses {self.functions[name][0]} by its name, and {', '.join(like)} may be what is meant"
        count = len(self.files)
        files = "1 file" if count == 1 else f"{count} files"
        return f"no module of the agent ({files} read) defines or registers a function {name}"


def is_users(file: str | None, packages: Iterable[str] = ()) -> bool:
    """Say whether a file is the user's own code: no library's, unless below a folder named inside that library's."""
    if not file or file.startswith("<"):
        return False
    path = str(Path(file).resolve())
    library = max((len(folder) for folder in _LIBRARIES if path.startswith(f"{folder}/")), default=0)
    own = max((len(folder) for folder in packages if path.startswith(f"{folder}/")), default=0)
    return not library or own > library


def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib") if name in paths}
    folders |= {path for path in sys.path if path.endswith(("site-packages", "dist-packages"))}
    own = Path(__file__).resolve().parents[2]  # runreel itself, also where it is installed editable
    return (*(str(Path(folder).resolve()) for folder in folders), str(own))


_LIBRARIES = _libraries()


def find(entry: Place, names: Iterable[str], *, packages: Sequence[str] = ()) -> Found:
    """Read the entry and what it imports; return what was found of `names`.

    `packages` are folders in library places that count as the user's own (an agent that is installed).
    """
    found, wanted = Found(), set(names)
    for place, tree in modules(entry, found, packages=packages):
        found.names.add(tree)
        for name, path in functions_in(tree):
            if name in wanted:
                found.functions.setdefault(name, []).append(Place(place.module, place.file, path))
        for branch in branches(tree, frozenset(wanted)):
            found.branches.setdefault(branch.name, []).append((place.file, branch))
        found.boundaries |= wanted & set(boundaries_in(tree))
        _register(tree, place, wanted, found)
    return found


def modules(entry: Place, found: Found, *, packages: Sequence[str] = ()) -> Iterator[tuple[Place, ast.Module]]:
    """Yield the entry, and every module of the user's own that it imports or starts, with its tree, which the caller
    may change. `found` is told which files were read, what they import and which of them are other programs'."""
    waiting, programs = [entry], list[Place]()
    while waiting or programs:
        # Programs come last: a file that the agent imports as well is the agent's.
        is_other = not waiting
        place = waiting.pop() if waiting else programs.pop()
        if place.file in found.files:
            continue
        found.files[place.file] = place.module
        tree = _read(place, found)
        if tree is None:
            continue
        named = _modules(tree, place)
        if is_other or any(one.startswith(_SERVERS) for one in named):
            found.servers.add(place.file)
        if not is_other:
            found.imported |= named
        imports = [there for module in named for there in locate(module) if is_users(there.file, packages)]
        found.uses[place.file] = [there.file for there in imports]
        (programs if is_other else waiting).extend(imports)
        programs += (there for there in _programs(tree, place) if is_users(there.file, packages))
        yield place, tree


def _register(tree: ast.Module, place: Place, wanted: set[str], found: Found) -> None:
    """Note the registrations of a module. Its tree is of no use afterwards."""
    walked = walk(tree, wanted)
    for one in walked.found:
        found.registered.setdefault(one.name, []).append(Registered(f"{place.file}:{one.line}", one.form))
    for name, lines in walked.unclear.items():
        found.unclear.setdefault(name, []).extend(f"{place.file}:{line}" for line in lines)


def _read(place: Place, found: Found) -> ast.Module | None:
    try:
        return ast.parse(Path(place.file).read_bytes(), place.file)
    except (OSError, SyntaxError, ValueError) as error:
        found.unreadable[place.file] = f"{type(error).__name__}: {error}"
        return None


def functions_in(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Return name and path of every function that a module defines, as `Class.method` and `outer.<locals>.inner`."""
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        above, prefix = waiting.pop()
        for node in ast.iter_child_nodes(above):
            inner = prefix
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node.name, f"{prefix}{node.name}"
                inner = f"{prefix}{node.name}.<locals>."
            elif isinstance(node, ast.ClassDef):
                inner = f"{prefix}{node.name}."
            waiting.append((node, inner))


def boundaries_in(tree: ast.Module) -> Iterator[str]:
    """Name what the recorder's decorators are given here: as an argument, or by the function below them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node.func) in _RECORDER and _from_recorder(node.func, tree):
            given = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "name")]
            yield from (value.value for value in given if isinstance(value, ast.Constant) and type(value.value) is str)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            decorators = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
            if any(_called(one) in _RECORDER and _from_recorder(one, tree) for one in decorators):
                yield node.name


def _called(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _from_recorder(node: ast.expr, tree: ast.Module) -> bool:
    """Say whether a decorator is the recorder's: frameworks have a `tool` of their own."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    name = root.id if isinstance(root, ast.Name) else ""
    for statement in ast.walk(tree):
        if isinstance(statement, ast.Import):
            bound = {one.asname or "runreel" for one in statement.names if one.name == "runreel.record"}
        elif isinstance(statement, ast.ImportFrom) and statement.module in ("runreel", "runreel.record"):
            bound = {one.asname or one.name for one in statement.names}
        else:
            continue
        if name in bound:
            return True
    return False


# --- imports ----------------------------------------------------------------------------------------------------------


def _modules(tree: ast.Module, place: Place) -> set[str]:
    """Return the dotted names that a module imports, each name of a `from` also as a module of its own."""
    package = place.module if Path(place.file).name == "__init__.py" else place.module.rpartition(".")[0]
    seen: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            seen |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            seen |= {base, *(f"{base}.{name.name}" for name in node.names if base)}
    return seen


def _programs(tree: ast.Module, place: Place) -> Iterator[Place]:
    """Return the Python programs that a module names, and so may start: scripts in texts, modules after `-m`."""
    folders = (Path.cwd(), Path(place.file).parent)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(".py"):
            files = [folder / node.value for folder in folders]
            yield from (Place("__main__", str(file)) for file in files if file.is_file())
        elif isinstance(node, (ast.List, ast.Tuple)):
            words = [one.value if isinstance(one, ast.Constant) else None for one in node.elts]
            for option, module in itertools.pairwise(words):
                if option == "-m" and isinstance(module, str):
                    yield from locate(module)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    folders = package.split(".")[: len(package.split(".")) - (node.level - 1)]
    return ".".join([*folders, node.module] if node.module else folders)


def locate(module: str) -> list[Place]:
    """Return the source files behind a dotted name, its packages first; what is no source file is left out.

    Asks the import system's finders without importing, unlike importlib.util.find_spec.
    """
    places, path, parts = [], None, module.split(".")
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[:count])
        spec = _spec(name, path)
        if spec is None:
            break
        if spec.origin and spec.origin.endswith(".py"):
            places.append(Place(name, spec.origin))
        if spec.submodule_search_locations is None:
            break
        path = list(spec.submodule_search_locations)
    return places


def _spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """Find a top-level module as an import would, one in a package (`path`) in the package's folders."""
    if not name:
        return None
    if path is None:
        finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
        specs = (find_spec(name, None, None) for find_spec in finders if find_spec)
        return next((spec for spec in specs if spec is not None), None)
    # Not by sys.meta_path: for a package that is in several folders it wants the package above imported.
    folders: list[str] = []
    for folder in path:
        importer = pkgutil.get_importer(folder)
        spec = importer.find_spec(name, None) if importer else None
        if spec is not None and spec.loader is not None:
            return spec
        folders += (spec.submodule_search_locations if spec else None) or []
    if not folders:
        return None
    found = ModuleSpec(name, None, is_package=True)
    found.submodule_search_locations = folders
    return found


def describe(found: Found) -> Mapping[str, list[str]]:
    """Return which functions stand for which tool, as `module:function`."""
    return {name: [str(place) for place in places] for name, places in found.functions.items()}
