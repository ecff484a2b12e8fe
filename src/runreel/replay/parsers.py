"""Tells where an agent's code tried to read a token as what it stands for: `int("<CARD_4f...>")` has no answer.

Runs in the agent's process. An exception says which token it was given in its text, or the token is in a variable that
the failing expression names.
"""

import ast
import linecache
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from runreel.canonical import SECRET_RE, TOKEN_RE

_LONGEST = 80  # characters of source that are shown
_MOST = 8
_NEAR = 12  # lines before an expression that say what its names were made of
_NOT_THE_AGENT = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_OURS = str(Path(__file__).resolve().parents[1])
# What parsing fails with; any other exception must name the token in its own text.
_KINDS = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)


@dataclass(frozen=True, slots=True)
class Broken:
    """A token, and the expression that could not read it. `file` and `line` are the agent's; all but the token is
    code."""

    token: str
    expression: str
    file: str
    line: int
    function: str
    error_type: str


def look(error: BaseException) -> Broken | None:
    """Return which token an exception that went through the agent's code is about; None where it is about none."""
    place = None
    inner: list[FrameType] = []
    for frame, line, at in _steps(error.__traceback__):
        if _is_agents(frame.f_code):
            place, inner = (frame, line, at), []
        elif place is not None:
            inner.append(frame)
    if place is None:
        return None
    return _judge(error, *place, inner)


def watch(tell: Callable[[Broken], object]) -> None:
    """Tell of tokens that break a parser in code that catches the exception and goes on. From Python 3.12 on; before,
    only an exception that ends the agent is told of."""
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is None:
        return
    seen: set[tuple[str, str, int]] = set()

    def raised(_: CodeType, __: int, error: BaseException) -> object:
        found = _at_raise(error) if len(seen) < _MOST else None
        if found is not None and (key := (found.token, found.file, found.line)) not in seen:
            seen.add(key)
            tell(found)
        return None

    tool = next((number for number in (4, 3) if monitoring.get_tool(number) is None), None)
    if tool is None:
        return
    monitoring.use_tool_id(tool, "runreel")
    monitoring.register_callback(tool, monitoring.events.RAISE, raised)
    monitoring.set_events(tool, monitoring.events.RAISE)


def _at_raise(error: BaseException) -> Broken | None:
    """Look while an exception goes up: once, when it comes to the first frame of the agent's."""
    steps = list(_steps(error.__traceback__))
    if not isinstance(error, Exception) or not steps or not _is_agents(steps[0][0].f_code):
        return None
    return None if any(_is_agents(frame.f_code) for frame, _, _ in steps[1:]) else look(error)


def _steps(tb: TracebackType | None) -> Iterator[tuple[FrameType, int, int]]:
    while tb is not None:
        yield tb.tb_frame, tb.tb_lineno, tb.tb_lasti
        tb = tb.tb_next


@lru_cache(maxsize=4096)
def _is_agents(code: CodeType) -> bool:
    name = code.co_filename
    return not name.startswith(("<", _OURS, *_NOT_THE_AGENT))


def _judge(error: BaseException, frame: FrameType, line: int, at: int, inner: list[FrameType]) -> Broken | None:
    source = _source(frame, line, at)
    token = _token(str(error)) if type(error).__module__ != "runreel.errors" else ""
    if not token and isinstance(error, _KINDS):
        told = [*_values(frame, source, line), *(value for one in inner for value in one.f_locals.values())]
        token = next((found for value in told if (found := _token(value))), "")
    if not token:
        return None
    shown = source if len(source) <= _LONGEST else source[:_LONGEST] + "…"
    return Broken(token, shown, frame.f_code.co_filename, line, frame.f_code.co_name, type(error).__name__)


def _token(value: object) -> str:
    """Return the token in a text, or in a list of texts."""
    if isinstance(value, (list, tuple)):
        return next((found for one in value[:_MOST] if isinstance(one, str) and (found := _token(one))), "")
    if not isinstance(value, str) or "<" not in value:
        return ""
    match = TOKEN_RE.search(value) or SECRET_RE.search(value)
    return match[0] if match else ""


def _source(frame: FrameType, line: int, at: int) -> str:
    """Return the source of the expression that failed; of the whole line where it reaches over several."""
    lines = _lines(frame)
    if not 0 < line <= len(lines):
        return ""
    positions = list(frame.f_code.co_positions())
    if 0 <= at // 2 < len(positions):
        first, last, start, end = positions[at // 2]
        if first == last == line and start is not None and end is not None:
            return lines[line - 1].encode()[start:end].decode(errors="replace").strip()
    return lines[line - 1].strip()


def _lines(frame: FrameType) -> list[str]:
    return linecache.getlines(frame.f_code.co_filename, frame.f_globals)


def _values(frame: FrameType, source: str, line: int) -> list[object]:
    """Return the values that had a say in an expression, and in what its names were made of a few lines before:
    `match.group(1)` fails, and the line before has `match(..., email)`."""
    wanted = _parsed(source)
    names = {node.id for node in wanted if isinstance(node, ast.Name)}
    lines = _lines(frame)
    for number in range(line - 1, max(frame.f_code.co_firstlineno - 1, line - _NEAR), -1):
        tree = _parsed(lines[number - 1].strip()) if number <= len(lines) else []
        for node in tree:
            if isinstance(node, ast.Assign) and names & {one.id for one in node.targets if isinstance(one, ast.Name)}:
                wanted += ast.walk(node.value)
    return [_value(frame, node) for node in wanted]


def _parsed(source: str) -> list[ast.AST]:
    try:
        return list(ast.walk(ast.parse(source)))
    except SyntaxError:  # a piece of a longer statement
        return []


def _value(frame: FrameType, node: ast.AST) -> object:
    """Return what a name, a member of a map or list, or a plain attribute holds, without running anything."""
    if isinstance(node, ast.Name):
        return frame.f_locals.get(node.id, frame.f_globals.get(node.id))
    if isinstance(node, ast.Attribute):
        members = getattr(_value(frame, node.value), "__dict__", None)
        return members.get(node.attr) if type(members) is dict else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        around, key = _value(frame, node.value), node.slice.value
        if type(around) is dict:
            return around.get(key)
        if isinstance(around, (list, tuple)) and isinstance(key, int) and -len(around) <= key < len(around):
            return around[key]
    return None


def facts(broken: Broken) -> Mapping[str, str | int]:
    """Return what travels to the parent."""
    return {
        "token": broken.token,
        "expression": broken.expression,
        "file": broken.file,
        "line": broken.line,
        "function": broken.function,
        "error_type": broken.error_type,
    }
