"""Where agent code gives a tool its name: a key of a dict, an attribute, a call that registers it, a decorator.

A tool need not be a function of its own name: `{"search": partial(find, index=3)}`, `self.search = lambda q: ...`,
`Tool(name="search", func=self._find)`, `@register("search")`. Each such place is found by reading, and rewritten so
that what stands there passes through `standing.registered` first, which answers for whatever it turns out to be.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Functions = (ast.FunctionDef, ast.AsyncFunctionDef)
ENTRIES = frozenset(
    {"__call__", "run", "_run", "arun", "_arun", "execute", "invoke", "ainvoke", "forward", "call", "acall"}
)
"""Methods by which an object that has a tool's name is called. Of a class that has several, all are swapped."""

_NAMES = ("name", "tool_name", "__name__")
_FUNCTIONS = frozenset(
    {"func", "fn", "function", "handler", "callable", "callback", "run", "execute", "implementation", "impl", "f"}
    | {"coroutine", "call", "method", "action", "tool"}
)
_REGISTERING = ("register", "add", "set", "bind", "tool", "expose", "define", "make_tool", "create_tool")
_MAPS = frozenset({"dict", "update", "SimpleNamespace", "OrderedDict"})
_ROWS = (ast.Tuple, ast.List, ast.Set)
_DEPTH = 5


@dataclass(frozen=True, slots=True)
class Form:
    """What an expression is, as far as reading tells: `lambda`, `name`, `call` with the name, or nothing callable."""

    kind: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Registration:
    """One place that gives something the name of a recorded tool."""

    name: str
    line: int
    form: Form


@dataclass(slots=True)
class Names:
    """What the agent's modules define between them: enough to say whether a registered expression is a function."""

    functions: set[str] = field(default_factory=set)
    callables: set[str] = field(default_factory=set)  # classes of which it is known how their objects are called
    others: set[str] = field(default_factory=set)  # classes with public methods, of which it is not
    makers: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    assigned: dict[str, list[Form]] = field(default_factory=dict)

    def add(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                self.used.add(last_name(node))
            elif isinstance(node, Functions):
                self.functions.add(node.name)
                if _returns_function(node):
                    self.makers.add(node.name)
            elif isinstance(node, ast.ClassDef):
                if any(_named(node, *ENTRIES)):
                    self.callables.add(node.name)
                elif any(isinstance(one, Functions) and not one.name.startswith("_") for one in node.body):
                    self.others.add(node.name)
            elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
                for name in _targets(node):
                    self.assigned.setdefault(name, []).append(form_of(node.value))

    def is_callable(self, form: Form, depth: int = 0) -> bool:
        """Say whether a form is known to be something that can be answered for; False where only running would tell."""
        if form.kind == "lambda":
            return True
        if form.kind == "call":
            return form.name in self.callables or form.name in self.makers
        if form.kind != "name" or depth > _DEPTH:
            return False
        if form.name in self.functions or form.name in self.callables:
            return True
        return any(self.is_callable(one, depth + 1) for one in self.assigned.get(form.name, ()))

    def is_unclear(self, form: Form, depth: int = 0) -> bool:
        """Say whether a form is a class, or an object of one, and nothing says which of its methods is the call."""
        if form.name in self.others:
            return True
        if form.kind != "name" or depth > _DEPTH:
            return False
        return any(self.is_unclear(one, depth + 1) for one in self.assigned.get(form.name, ()))


def _named(node: ast.ClassDef, *names: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (one for one in node.body if isinstance(one, Functions) and one.name in names)


def _returns_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    inner = {one.name for one in ast.walk(node) if isinstance(one, Functions) and one is not node}
    returned = [one.value for one in ast.walk(node) if isinstance(one, ast.Return)]
    return any(isinstance(one, ast.Lambda) or (isinstance(one, ast.Name) and one.id in inner) for one in returned)


def _targets(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> Iterator[str]:
    """Name what an assignment sets: variables and attributes by their last part, items by their constant key."""
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        if isinstance(target, ast.Subscript):
            if isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
                yield target.slice.value
        elif name := last_name(target):
            yield name


def last_name(node: ast.AST) -> str:
    """Return the last part of a dotted name, or nothing for other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def form_of(node: ast.AST) -> Form:
    """Say what an expression is."""
    if isinstance(node, ast.Lambda):
        return Form("lambda")
    if isinstance(node, (ast.Name, ast.Attribute)):
        return Form("name", last_name(node))
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name == "partial":  # whatever it is made of, it can be answered for
            return Form("lambda")
        if name in ("staticmethod", "classmethod") and node.args:
            return form_of(node.args[0])
        return Form("call", name) if name else Form("other")
    either = (
        [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values if isinstance(node, ast.BoolOp) else []
    )
    return next((one for one in map(form_of, either) if one.kind != "other"), Form("other"))


def constants(tree: ast.Module, names: Iterable[str]) -> dict[str, str]:
    """Return what stands for one of the names everywhere: `PAY = "pay"`, at the top, in a class, in an enumeration."""
    wanted, found, several = frozenset(names), dict[str, str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in filter(str.isupper, _targets(node)):
                text = node.value.value if isinstance(node.value, ast.Constant) else None
                if target in found or not isinstance(text, str) or text not in wanted:
                    several.add(target)
                else:
                    found[target] = text
    return {name: text for name, text in found.items() if name not in several}


def text_of(node: ast.AST | None, known: Mapping[str, str]) -> str:
    """Return the text that an expression is, as a constant or by a constant's name; nothing for anything else."""
    if isinstance(node, ast.Attribute) and node.attr == "value":
        node = node.value
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return known.get(last_name(node), "") if node is not None else ""


# --- dispatch ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Branch:
    """Code that runs for one tool's name, `if name == "search": ...`, and what it calls."""

    name: str
    line: int
    calls: frozenset[str]


def branches(tree: ast.Module, names: frozenset[str]) -> Iterator[Branch]:
    """Return the branches of a module that are taken for one of the names, and that call something by its name."""
    known = constants(tree, names)
    for node in ast.walk(tree):
        taken: list[tuple[set[str], Sequence[ast.AST]]] = []
        if isinstance(node, ast.If):
            taken = [(_compared(node.test, known), node.body), (_compared(node.test, known, ast.NotEq), node.orelse)]
        elif isinstance(node, ast.IfExp):
            taken = [
                (_compared(node.test, known), [node.body]),
                (_compared(node.test, known, ast.NotEq), [node.orelse]),
            ]
        elif isinstance(node, ast.match_case):
            values = [one.value for one in ast.walk(node.pattern) if isinstance(one, ast.MatchValue)]
            taken = [(_texts(values, known), node.body)]
        for compared, body in taken:
            calls = [one.func for part in body for one in ast.walk(part) if isinstance(one, ast.Call)]
            if calls:
                for name in compared & names:
                    yield Branch(name, body[0].lineno, frozenset(map(last_name, calls)))  # type: ignore[attr-defined]


def _compared(test: ast.expr, known: Mapping[str, str], how: type[ast.cmpop] = ast.Eq) -> set[str]:
    """Return the texts that something is compared with: `== "search"`, `in ("search", "find")`, among conditions."""
    if isinstance(test, ast.BoolOp):
        return set[str]().union(*(_compared(one, known, how) for one in test.values))
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return set()
    if how is ast.Eq and isinstance(test.ops[0], ast.In) and isinstance(test.comparators[0], _ROWS):
        return _texts(test.comparators[0].elts, known)
    return _texts([test.left, *test.comparators], known) if isinstance(test.ops[0], how) else set()


def _texts(nodes: Iterable[ast.AST], known: Mapping[str, str]) -> set[str]:
    return {text for text in (text_of(one, known) for one in nodes) if text}


# --- finding and rewriting --------------------------------------------------------------------------------------------


class Registrations(ast.NodeTransformer):
    """Walks one module: `found` are the registrations of the wanted names, `unclear` the places that only running
    could explain, by name. The tree is changed as it is walked."""

    def __init__(self, names: Iterable[str], known: Mapping[str, str]) -> None:
        self._names = frozenset(names)
        self._known = known
        self.found: list[Registration] = []
        self.unclear: dict[str, list[int]] = {}

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        for position, key in enumerate(node.keys):
            name = self._wanted(key)
            if name:
                node.values[position] = self._inside(name, node.values[position])
        described = [value for key, value in zip(node.keys, node.values, strict=True) if text_of(key, {}) in _NAMES]
        if name := next(filter(None, map(self._wanted, described)), ""):
            self._functions(name, node)
        return node

    def _inside(self, name: str, node: ast.expr) -> ast.expr:
        """`"search": (find, SCHEMA)`, `"search": {"fn": find}`: what is called stands in what the name is given. What
        stands beside a function of that name is something else."""
        if isinstance(node, (ast.Tuple, ast.List)) and name not in map(last_name, node.elts):
            node.elts = [self._through(name, one) for one in node.elts]
        elif isinstance(node, ast.Dict):
            self._functions(name, node)
        return self._through(name, node)

    def _functions(self, name: str, node: ast.Dict) -> None:
        for position, key in enumerate(node.keys):
            if text_of(key, {}) in _FUNCTIONS:
                node.values[position] = self._through(name, node.values[position])

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        keys = [self._wanted(one.slice) for one in node.targets if isinstance(one, ast.Subscript)]
        for name in {*_targets(node), *keys} & self._names:
            node.value = self._inside(name, node.value) if name in keys else self._through(name, node.value)
        renamed = self._wanted(node.value)
        if renamed and any(isinstance(one, ast.Attribute) and one.attr == "__name__" for one in node.targets):
            return self._renamed(renamed, node)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None:
            for name in _targets(node):
                if name in self._names:
                    node.value = self._through(name, node.value)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        self.generic_visit(node)
        if node.target.id in self._names:
            node.value = self._through(node.target.id, node.value)
        return node

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        return self._row(node)

    def visit_List(self, node: ast.List) -> ast.AST:
        return self._row(node)

    def _row(self, node: ast.Tuple | ast.List) -> ast.AST:
        """`("search", find)`: a name and what it stands for, side by side."""
        self.generic_visit(node)
        if len(node.elts) > 1 and (name := self._wanted(node.elts[0])):
            node.elts[1:] = [self._through(name, one) if _may_be(one) else one for one in node.elts[1:]]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        callee = last_name(node.func)
        if callee in _MAPS:
            for keyword in node.keywords:
                if keyword.arg in self._names:
                    keyword.value = self._through(str(keyword.arg), keyword.value)
        name = self._name_given(node)
        if not name:
            return node
        if _registers(callee):
            node.args = [self._through(name, one) if _may_be(one) else one for one in node.args]
            self._keywords(name, node)
        elif any(keyword.arg in _NAMES for keyword in node.keywords):
            self._keywords(name, node)
        return node

    def _keywords(self, name: str, node: ast.Call) -> None:
        for keyword in node.keywords:
            if keyword.arg in _FUNCTIONS and _may_be(keyword.value):
                keyword.value = self._through(name, keyword.value)

    def _name_given(self, node: ast.Call) -> str:
        given = [*node.args[:2], *(keyword.value for keyword in node.keywords if keyword.arg in _NAMES)]
        return next(filter(None, map(self._wanted, given)), "")

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        for name in set(self._names_of(node)):
            self._class_named(name, node)
        return node

    def _names_of(self, node: ast.ClassDef) -> Iterator[str]:
        """Name what a class calls its objects: `name = "search"` in it, or `self.name`, or what it hands its base."""
        for one in node.body:
            if isinstance(one, (ast.Assign, ast.AnnAssign)) and set(_targets(one)) & {*_NAMES}:
                yield self._wanted(one.value)
        for method in _named(node, "__init__"):
            for inner in ast.walk(method):
                if isinstance(inner, (ast.Assign, ast.AnnAssign)) and set(_targets(inner)) & {*_NAMES}:
                    yield self._wanted(inner.value)
                elif isinstance(inner, ast.Call) and last_name(inner.func) == "__init__":
                    yield self._name_given(inner)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._decorated(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._decorated(node)

    def _decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        """`@register("search")`: the function below is the tool, whatever its own name."""
        names = [self._name_given(one) for one in node.decorator_list if isinstance(one, ast.Call)]
        self.generic_visit(node)
        for name in filter(None, names):
            self._mark(name, node)
        return node

    def _class_named(self, name: str, node: ast.ClassDef) -> None:
        """The objects of this class are the tool, and the known methods are how they are called."""
        methods = list(_named(node, *ENTRIES)) if name else []
        for method in methods:
            self._mark(name, method)
        if name and not methods:
            self.unclear.setdefault(name, []).append(node.lineno)

    def _renamed(self, name: str, node: ast.Assign) -> Any:
        """`find.__name__ = "search"`: swap what is renamed."""
        owner = next(one.value for one in node.targets if isinstance(one, ast.Attribute))
        again = ast.Expr(self._through(name, owner))
        return [node, ast.fix_missing_locations(ast.copy_location(again, node))]

    def _mark(self, name: str, function: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Give a definition one more decorator, the innermost one."""
        self.found.append(Registration(name, function.lineno, Form("lambda")))
        hook = ast.copy_location(_hook("marked"), function)
        function.decorator_list.append(
            ast.fix_missing_locations(ast.copy_location(ast.Call(hook, [ast.Constant(name)], []), function))
        )

    def _wanted(self, node: ast.AST | None) -> str:
        text = text_of(node, self._known)
        return text if text in self._names else ""

    def _through(self, name: str, node: ast.expr) -> ast.expr:
        if not _may_be(node):
            return node
        self.found.append(Registration(name, node.lineno, form_of(node)))
        call = ast.Call(_hook("registered"), [ast.Constant(name), node], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))


def _may_be(node: ast.AST) -> bool:
    return form_of(node).kind != "other"


def _registers(callee: str) -> bool:
    lower = callee.lower().lstrip("_")
    called = lower.startswith(("call", "run", "use", "get"))
    return lower.startswith(_REGISTERING) or (lower.endswith("tool") and not called)


def _hook(name: str) -> ast.expr:
    module = "runreel.replay.boundaries.standing"
    return ast.parse(f"__import__({module!r}, None, None, ({name!r},)).{name}", mode="eval").body


def walk(tree: ast.Module, names: Iterable[str]) -> Registrations:
    """Change a module's tree so that its registrations of `names` go through the hook; return what they were."""
    names = frozenset(names)
    walker = Registrations(names, constants(tree, names))
    walker.visit(tree)
    return walker
