"""Reads YAML into plain data and remembers the line of every value, so that a problem can name it.

`${env:NAME}`, `${env:NAME:-default}` and the short `${NAME}` are replaced on the way; `$$` stands for one `$`. A plain
(unquoted) scalar is typed after the replacement, so `port: ${env:PORT}` is a number; a quoted one stays text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

Path = tuple[str | int, ...]
"""Where a value sits: keys of maps and indices of lists, outermost first."""

_MAX_NODES = 20_000  # anchors multiply: a short file can expand into millions of values
_TOO_DEEP = "not a configuration: lists or maps are nested hundreds of levels deep"
_REFERENCE = re.compile(r"\$\$|\$\{([^}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a configuration."""

    path: Path
    line: int | None
    text: str

    def __str__(self) -> str:
        where = "::".join(str(step) for step in self.path)
        parts = [f"line {self.line}" if self.line else "", where, self.text]
        return ": ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML file as data: dicts, lists and scalars. `lines` maps the path of each value to its line (from 1)."""

    data: object
    lines: Mapping[Path, int]
    problems: tuple[Problem, ...]

    def line(self, path: Path) -> int | None:
        """Return the line of a value, or of the nearest value around it."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None

    def problem(self, path: Path, text: str) -> Problem:
        """Make a problem of a value, with its line."""
        return Problem(path, self.line(path), text)


def read(text: str, env: Mapping[str, str]) -> Document:
    """Read one YAML document. What is wrong with it is in `problems`; nothing is raised."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or "not readable"
        return Document({}, {}, (Problem((), mark.line + 1 if mark else None, f"not YAML: {reason}"),))
    except RecursionError:
        return Document({}, {}, (Problem((), None, _TOO_DEEP),))
    reader = _Reader(env)
    try:
        data = reader.value(node, ()) if node is not None else None
    except RecursionError:
        return Document({}, {}, (Problem((), None, _TOO_DEEP),))
    return Document(data, reader.lines, tuple(reader.problems))


class _Reader:
    """Turns nodes into data; the YAML library's own construction loses the lines."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self.env = env
        self.lines: dict[Path, int] = {}
        self.problems: list[Problem] = []
        self._open: list[yaml.Node] = []
        self._count = 0
        self._loader = yaml.SafeLoader("")

    def value(self, node: yaml.Node, path: Path) -> object:
        self.lines.setdefault(path, node.start_mark.line + 1)
        self._count += 1
        if self._count > _MAX_NODES or node in self._open:
            if self._count <= _MAX_NODES + 1:  # said once
                self._problem(path, node, "an anchor (&) refers to itself, or the file expands into too many values")
            self._count += _MAX_NODES
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        self._open.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
        finally:
            self._open.pop()

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, object]:
        found: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None or key_node.tag not in {"tag:yaml.org,2002:str", "tag:yaml.org,2002:int"}:
                self._problem(path, key_node, "a key must be text")
                continue
            if key in found:
                first = self.lines[*path, key]
                self._problem((*path, key), key_node, f"the key {key!r} is given twice, first in line {first}")
                continue
            self.lines[*path, key] = key_node.start_mark.line + 1
            found[key] = self.value(value_node, (*path, key))
        return found

    def _scalar(self, node: yaml.ScalarNode, path: Path) -> object:
        text, tag = node.value, node.tag
        if "$" in text:
            text = _REFERENCE.sub(lambda match: self._expand(match, node, path), text)
            if node.style is None:
                tag = self._loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        try:
            constructed: object = self._loader.construct_object(yaml.ScalarNode(tag, text))
        except (yaml.YAMLError, ValueError):
            self._problem(path, node, f"cannot be read as {tag.rpartition(':')[2] or tag}")
            return None
        return constructed

    def _expand(self, match: re.Match[str], node: yaml.Node, path: Path) -> str:
        inner = match[1]
        if inner is None:
            return "$"
        name, has_default, default = inner.removeprefix("env:").partition(":-")
        if not _NAME.fullmatch(name):
            self._problem(path, node, f"${{{inner}}} is no reference: write ${{env:NAME}} or ${{env:NAME:-default}}")
            return ""
        if name in self.env:
            return self.env[name]
        if not has_default:
            fix = f"set it, or write ${{env:{name}:-default}}"
            self._problem(path, node, f"the environment variable {name} is not set: {fix}")
        return default

    def _problem(self, path: Path, node: yaml.Node, text: str) -> None:
        self.problems.append(Problem(path, node.start_mark.line + 1, text))
