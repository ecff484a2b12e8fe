"""Code objects that ask for a recorded answer, with the signature, name, docstring and kind of the code they replace.

A tool is swapped by its code, never by its name: whoever holds the function already (a list of tools, a dict, a
decorator, a framework) then holds the stub, and whoever inspects it sees the same signature.
"""

import inspect
import sys
from types import CodeType

# 3.14 says by a flag whether the first constant is a docstring; before, a first constant that is a string was one.
_HAS_DOCSTRING = 0x4000000
_ASK = "__import__('runreel.replay.boundaries.functions', None, None, ('answer',))"


def stub_code(code: CodeType, number: int) -> CodeType:
    """Return code that hands its arguments to `functions.answer` (or its async or generator twin) under `number`."""
    # The empty lines in front bring a traceback through the stub near the definition it stands for.
    module = compile(
        "\n" * (code.co_firstlineno - 1) + _source(code, number), code.co_filename, "exec", dont_inherit=True
    )
    return _find(module).replace(co_name=code.co_name, co_qualname=code.co_qualname, co_firstlineno=code.co_firstlineno)


def _find(module: CodeType) -> CodeType:
    inner = [const for const in module.co_consts if isinstance(const, CodeType)]
    return next((code for code in inner if code.co_name == "stub"), None) or _find(inner[0])


def _source(code: CodeType, number: int) -> str:
    """Write the stub, with as many free variables as the original: its closure will have that many cells."""
    document = docstring(code)
    keyword, body = _form(code, number)
    lines = [f"{keyword} stub({_parameters(code)}):", f" {document!r}" if document is not None else " pass", *body]
    if code.co_freevars:
        free = ", ".join(f"_free{position}" for position in range(len(code.co_freevars)))
        lines = [f"def outer({free}):", *(f" {line}" for line in lines), f"  if False: {free}"]
    return "\n".join(lines)


def _form(code: CodeType, number: int) -> tuple[str, list[str]]:
    arguments = f"({number}, {_arguments(code)})"
    if code.co_flags & inspect.CO_ASYNC_GENERATOR:
        return "async def", [f" async for item in {_ASK}.stream_async{arguments}:", "  yield item"]
    if code.co_flags & inspect.CO_COROUTINE:
        return "async def", [f" return await {_ASK}.answer_async{arguments}"]
    if code.co_flags & inspect.CO_GENERATOR:
        return "def", [f" yield from {_ASK}.stream{arguments}"]
    return "def", [f" return {_ASK}.answer{arguments}"]


def parameters(code: CodeType) -> tuple[tuple[str, ...], tuple[str, ...], str, str]:
    """Return the names of a function's parameters: positional, keyword-only, `*rest`, `**rest` (empty: it has none)."""
    names = iter(code.co_varnames)
    positional = tuple(next(names) for _ in range(code.co_argcount))
    keyword_only = tuple(next(names) for _ in range(code.co_kwonlyargcount))
    rest = next(names) if code.co_flags & inspect.CO_VARARGS else ""
    keywords = next(names) if code.co_flags & inspect.CO_VARKEYWORDS else ""
    return positional, keyword_only, rest, keywords


def _parameters(code: CodeType) -> str:
    positional, keyword_only, rest, keywords = parameters(code)
    listed = list(positional)
    if code.co_posonlyargcount:
        listed.insert(code.co_posonlyargcount, "/")
    if rest or keyword_only:
        listed.append(f"*{rest}")
    listed += keyword_only
    if keywords:
        listed.append(f"**{keywords}")
    return ", ".join(listed)


def _arguments(code: CodeType) -> str:
    positional, keyword_only, rest, keywords = parameters(code)
    named = ", ".join(f"{name!r}: {name}" for name in (*positional, *keyword_only))
    return f"{{{named}}}, {rest or '()'}, {keywords or '{}'}"


def docstring(code: CodeType) -> str | None:
    """Return the docstring that a function made from this code would have."""
    first = code.co_consts[0] if code.co_consts else None
    is_docstring = sys.version_info < (3, 14) or code.co_flags & _HAS_DOCSTRING
    return first if isinstance(first, str) and is_docstring else None
