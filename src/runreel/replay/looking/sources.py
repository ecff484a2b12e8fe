"""Read an agent's own modules for what they import, switch on and set, and for what they give a model as its tools."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runreel.replay.boundaries.finding import Found, Place, boundaries_in, functions_in, modules
from runreel.replay.boundaries.registrations import last_name

_TOOLS = frozenset({"tools", "functions", "toolsets", "mcp_servers"})
_TAKES_TOOLS = frozenset({"bind_tools", "ToolNode", "FunctionToolset"})
_MAKES_TOOLS = frozenset({"tool", "function_tool", "tool_plain", "beta_tool", "beta_async_tool"})
_SCHEMA = frozenset({"parameters", "input_schema", "inputSchema"})
_OF_A_DICT = frozenset({"items", "keys", "values", "copy"})
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Import:
    """Where a module is imported first. `sure` where nothing but importing the file decides that it is."""

    place: str
    sure: bool


@dataclass(slots=True)
class Sources:
    """What the agent's modules say between them. Places are `file:line`, the file by its name.

    `imports` by dotted module, names taken from it too (`langchain_core.tools.tool`). `calls` and `keywords` hold
    the last part of the callee's name, and what is given by keyword as a constant. `settings` are variables of the
    environment that the code sets. `tools` are names that a model is told of, with the place; `made` are things in
    lists of tools that a library makes, as they are written. `names_in` are what a file's module has, by file.
    """

    found: Found = field(default_factory=Found)
    imports: dict[str, Import] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    keywords: dict[tuple[str, object], str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    recorder: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    names_in: dict[str, frozenset[str]] = field(default_factory=dict)

    def imported(self, *names: str) -> Import | None:
        """Return where one of the modules, or something below it, is imported; the surest place."""
        hits = [
            one
            for module, one in self.imports.items()
            if any(module == name or module.startswith(f"{name}.") for name in names)
        ]
        return max(hits, key=lambda one: one.sure, default=None)


@dataclass(slots=True)
class _Reader:
    """Goes through all modules twice: what a list of tools holds may be defined in a module that is read later."""

    sources: Sources
    functions: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    assigned: dict[str, list[ast.expr]] = field(default_factory=dict)
    given: list[tuple[ast.expr, str]] = field(default_factory=list)

    def module(self, place: Place, tree: ast.Module) -> None:
        self.functions |= {name for name, _ in functions_in(tree)}
        self.sources.recorder |= set(boundaries_in(tree))
        self.sources.names_in[place.file] = frozenset(_defined(tree))
        for node, sure in _walk(tree, True):
            where = f"{Path(place.file).name}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node, where, sure)
            elif isinstance(node, ast.Call):
                self._call(node, where)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._decorated(node, where)
            elif isinstance(node, ast.ClassDef):
                self.classes.add(node.name)
                self._class(node, where)
            elif isinstance(node, ast.Dict):
                self._dict(node, where)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                self._assign(node)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 100:
                self.sources.texts.add(node.value)

    def _import(self, node: ast.Import | ast.ImportFrom, where: str, sure: bool) -> None:
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        else:
            names = [f"{node.module}.{one.name}" for one in node.names] if node.module and not node.level else []
        for name in names:
            before = self.sources.imports.get(name)
            if before is None or (sure and not before.sure):
                self.sources.imports[name] = Import(where, sure)

    def _call(self, node: ast.Call, where: str) -> None:
        name = last_name(node.func)
        self.sources.calls.setdefault(name, where)
        for keyword in node.keywords:
            if keyword.arg in _TOOLS:
                self.given.append((keyword.value, where))
            elif keyword.arg and isinstance(keyword.value, ast.Constant):
                self.sources.keywords.setdefault((keyword.arg, keyword.value.value), where)
        if name in _TAKES_TOOLS and node.args:
            self.given.append((node.args[0], where))
        texts = [_text(one) for one in node.args]
        if name in ("setdefault", "putenv") and len(texts) == 2 and all(texts) and _is_environment(node.func):
            self.sources.settings.setdefault(*texts)

    def _decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef, where: str) -> None:
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            if last_name(call.func if call else decorator) in _MAKES_TOOLS:
                given = [*map(_text, call.args[:1]), _named(call)] if call else []
                self.sources.tools.setdefault(next(filter(None, given), node.name), where)

    def _class(self, node: ast.ClassDef, where: str) -> None:
        """A class of a tool, by its base: its `name` is the tool's."""
        if not any(last_name(base).endswith("Tool") for base in node.bases):
            return
        for one in node.body:
            if isinstance(one, (ast.Assign, ast.AnnAssign)) and "name" in _targets(one) and _text(one.value):
                self.sources.tools.setdefault(_text(one.value), where)

    def _dict(self, node: ast.Dict, where: str) -> None:
        keys = {_text(key): value for key, value in zip(node.keys, node.values, strict=True)}
        if (name := _text(keys.get("name"))) and keys.keys() & _SCHEMA:
            self.sources.tools.setdefault(name, where)
        for key in sorted(_TOOLS & keys.keys()):
            self.given.append((keys[key], where))

    def _assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        assert node.value is not None
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Subscript) and _is_environment(target.value):
                if _text(target.slice) and _text(node.value):
                    self.sources.settings[_text(target.slice)] = _text(node.value)
            elif name := last_name(target):
                self.assigned.setdefault(name, []).append(node.value)

    # --- lists of tools -----------------------------------------------------------------------------------------------

    def resolve(self) -> None:
        """Say what the lists of tools hold, once every module has been read."""
        for value, where in self.given:
            self._tools(value, where, _DEPTH, made=True)

    def _tools(self, value: ast.expr, where: str, depth: int, *, made: bool) -> None:
        """Note the tools that an expression names. `made` where what stands in it is a tool, whoever made it."""
        if depth == 0:
            return
        if isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            for one in value.elts:
                self._tools(one, where, depth - 1, made=made)
        elif isinstance(value, ast.Dict):
            self._tools_of_dict(value, where, depth)
        elif isinstance(value, (ast.Name, ast.Attribute)):
            self._named(last_name(value), where, depth, made=made)
        elif isinstance(value, ast.Call):
            self._made(value, where, depth, made=made)
        else:  # a comprehension, a sum, a condition: what it is made of
            for name in _names_in(value):
                self._named(name, where, depth - 1, made=False)

    def _named(self, name: str, where: str, depth: int, *, made: bool) -> None:
        if name in self.functions:
            if not name.startswith("_"):
                self.sources.tools.setdefault(name, where)
            return
        for value in self.assigned.get(name, ()):
            self._tools(value, where, depth - 1, made=made)

    def _tools_of_dict(self, value: ast.Dict, where: str, depth: int) -> None:
        for key, one in zip(value.keys, value.values, strict=True):
            if _text(key) in self.functions:
                self.sources.tools.setdefault(_text(key), where)
            elif isinstance(one, (ast.Name, ast.Attribute)):
                self._named(last_name(one), where, depth - 1, made=False)

    def _made(self, value: ast.Call, where: str, depth: int, *, made: bool) -> None:
        """`tool(get_weather)`, `FunctionTool(fn=search)`: made of functions; `TavilySearch()`: by a library."""
        if given := _named(value):
            self.sources.tools.setdefault(given, where)
            return
        inside = [*value.args, *(one.value for one in value.keywords)]
        functions = [last_name(one) for one in inside if last_name(one) in self.functions]
        for one in functions:
            self._named(one, where, depth - 1, made=False)
        name = last_name(value.func)
        if made and not functions and name not in self.classes | self.functions:
            self.sources.made.setdefault(f"{ast.unparse(value.func)}(...)", where)


def read(entry: Place, packages: Sequence[str] = ()) -> Sources:
    """Read an agent's entry, and every module of its own that it imports or starts."""
    sources = Sources()
    reader = _Reader(sources)
    for place, tree in modules(entry, sources.found, packages=packages):
        reader.module(place, tree)
    reader.resolve()
    return sources


def _walk(node: ast.AST, sure: bool) -> Iterator[tuple[ast.AST, bool]]:
    """Yield every node below one, and whether it is reached whatever happens: under no condition, in no function."""
    for child in ast.iter_child_nodes(node):
        yield child, sure
        conditional = isinstance(child, (ast.If, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ExceptHandler))
        yield from _walk(child, sure and not conditional)


def _defined(tree: ast.Module) -> Iterator[str]:
    """Name what a module's own code defines, under conditions too; `*` where it imports whatever another one has."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (one.asname or one.name.partition(".")[0] for one in node.names)


def _names_in(value: ast.expr) -> Iterator[str]:
    """Name what an expression is made of: neither what is called in it, nor the objects that it takes something of."""
    parts = list(ast.walk(value))
    above = {id(one.func) for one in parts if isinstance(one, ast.Call)}
    above |= {id(one.value) for one in parts if isinstance(one, ast.Attribute) and one.attr not in _OF_A_DICT}
    yield from (last_name(one) for one in parts if id(one) not in above and isinstance(one, (ast.Name, ast.Attribute)))


def _is_environment(node: ast.AST) -> bool:
    owner = node.value if isinstance(node, ast.Attribute) and node.attr in ("setdefault", "putenv") else node
    return last_name(owner) in ("environ", "os")


def _targets(node: ast.Assign | ast.AnnAssign) -> list[str]:
    return [last_name(one) for one in (node.targets if isinstance(node, ast.Assign) else [node.target])]


def _text(node: ast.AST | None) -> str:
    """Return the text that an expression is, "" for anything else."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _named(call: ast.Call) -> str:
    """Return the text that a call is given as `name`."""
    return next((_text(one.value) for one in call.keywords if one.arg == "name"), "")
