"""Decides for each place of one span or log record which declared class holds there, and what replaces it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from runreel.canonical import parse_json
from runreel.canonical.unify import DROPPED, whole_text
from runreel.processors.redact import shapes
from runreel.processors.redact.classes import Class, Pointer, Rule, leads_to
from runreel.processors.redact.kept import Kept
from runreel.processors.redact.places import Content, Node, Path, Piece, Scalar, is_document, rewrite
from runreel.semconv import keys
from runreel.semconv.secret_names import sensitive_key
from runreel.semconv.secrets import MARKS
from runreel.values import Facts, LogEvent, Resource, Span, Value

WITHHELD = "<WITHHELD:redaction_failed>"
_STRICTNESS: tuple[Class, ...] = ("keep", "token", "hash", "regulated", "drop")
_SHORT = 160  # characters up to which a text may be a name or an id
_INDEX_NAMES = (keys.INDEX_NAME, "gen_ai.data_source.id", "gen_ai.data_source.name", "db.collection.name")
_CONTENT = ("input", "output")
_HASH_DIGITS = 16
# Members that libraries put around a tool's arguments or result.
_WRAPPERS = frozenset(
    {"kwargs", "args", "arguments", "input", "inputs", "output", "outputs", "result", "content", "text", "data",
     "value", "structured_content", "structuredContent", "tool_input", "return_value", "body"}
)  # fmt: skip

Entries = Sequence[tuple[Class, Pointer]]


class Means(Protocol):
    """What the redactor lends."""

    key_id: str

    def without_secrets(self, text: str) -> str:
        """Return a text without its secrets."""
        ...

    def token(self, entity: str, text: str, digits: int | None = None) -> str:
        """Return the token of a value."""
        ...

    def whole(self, text: str) -> str | None:
        """Return the token that takes the place of a text that is one personal value and nothing else; else None."""
        ...


@dataclass(slots=True)
class Work:
    """One batch's worth of deciding. `tools` holds what is declared of each tool; `ids` learns call ids."""

    tools: Mapping[str, Entries]
    attributes: Sequence[Rule]
    sources: Sequence[Rule]
    ids: dict[str, str]
    kept: Kept
    counts: Counter[str]

    def span(self, span: Span, facts: Facts, means: Means) -> Span:
        """Return a span with declared values replaced."""
        bags: dict[Path, Mapping[str, Value]] = {(): span.attributes}
        bags.update({("events", str(n)): event.attributes for n, event in enumerate(span.events)})
        one = _Record(self, means, bags)
        if self._concerned(span, facts):
            one.tool(facts)
            one.calls()
            one.documents(span, facts)
        if not one.has_actions() and not self.attributes:
            return span
        events = tuple(
            replace(event, attributes=one.attributes(event.attributes, ("events", str(n))))
            for n, event in enumerate(span.events)
        )
        attributes = one.attributes(span.attributes, ())
        resource = self._resource(span.resource, one)
        return replace(
            span, attributes=attributes, events=events, resource=resource, marks=(*span.marks, *one.all_marks())
        )

    def log(self, log: LogEvent, means: Means) -> LogEvent:
        """Return a log record with declared values replaced."""
        one = _Record(self, means, {(): log.attributes, ("body",): {"": log.body}})
        one.calls()
        one.sources_of_documents()
        if not one.has_actions() and not self.attributes:
            return log
        body = one.value("body", log.body, ("body",))
        attributes = one.attributes(log.attributes, ())
        resource = self._resource(log.resource, one)
        return replace(log, body=body, attributes=attributes, resource=resource, marks=(*log.marks, *one.all_marks()))

    def _resource(self, resource: Resource, one: "_Record") -> Resource:
        """Resources are only named by rules about attributes; those that stay as they are stay shared."""
        if not any(_named(rule.attribute, name) for rule in self.attributes for name in resource.attributes):
            return resource
        return replace(resource, attributes=one.attributes(resource.attributes, ("resource",)))

    def _concerned(self, span: Span, facts: Facts) -> bool:
        """Tell whether rules about tools and sources can have a say at all: most spans are told by a look for names."""
        names = (*self.tools, *(rule.source for rule in self.sources))
        if not names:
            return False
        if facts.kind in ("tool", "retrieval"):
            return True
        bags = (span.attributes, *(event.attributes for event in span.events))
        return any(_mentions(value, names) for bag in bags for value in bag.values())


class _Record:
    """One span or log record. `actions` says which class holds at a place, and in it."""

    def __init__(self, work: Work, means: Means, bags: Mapping[Path, Mapping[str, Value]]) -> None:
        self._work = work
        self._means = means
        self._bags = bags
        self._index: dict[Path, str | None] | None = None
        self._nodes: dict[str, list[Node]] = {}  # of texts that are gone through twice
        self._actions: dict[Path, Class] = {}
        self._before = _tokens(work.counts)
        self._roots: dict[Path, Entries] = {}  # arguments and results of tools: what cannot be taken apart goes whole
        self._lengths: list[int] = []  # of the paths in both, from the longest on
        self._ways: set[Path] = set()  # places that lead to those in both
        self.marks: list[str] = []

    # --- which class where ------------------------------------------------------------------------------------------

    @property
    def index(self) -> dict[Path, str | None]:
        """Every place of the record."""
        if self._index is None:
            self._index = {}
            for base, bag in self._bags.items():
                for name, value in bag.items():
                    rewrite(value, (*base, *_path(name)), self._noted, self._nodes)
        return self._index

    def _noted(self, path: Path, content: Content, _: int) -> None:
        assert self._index is not None
        self._index[path] = content if isinstance(content, str) and len(content) <= _SHORT else None

    def all_marks(self) -> tuple[str, ...]:
        """Return what is to be marked: what failed, and which key made the tokens."""
        made = [f"key:{self._means.key_id}"] if self._means.key_id and _tokens(self._work.counts) > self._before else []
        return (*self.marks, *made)

    def has_actions(self) -> bool:
        return bool(self._actions or self._roots)

    def tool(self, facts: Facts) -> None:
        """Apply what is declared of a tool to the span of a call."""
        entries = self._work.tools.get(facts.name) if facts.kind in ("tool", "retrieval") else None
        for name in (*(key for field in _CONTENT for key in _keys(facts, field)), keys.RESULT_VALUE) if entries else ():
            self._apply(_path(name), entries or ())

    def calls(self) -> None:
        """Apply what is declared of tools to the calls and results that messages quote."""
        if self._work.tools:
            for tool, place in shapes.calls(self.index, frozenset(self._work.tools), self._work.ids):
                self._apply(place, self._work.tools[tool])

    def documents(self, span: Span, facts: Facts) -> None:
        """Apply what is declared of sources to the documents of a retrieval, and to those that name their source."""
        named = {facts.name, *(span.attributes.get(name) for name in _INDEX_NAMES)}
        for rule in self._work.sources:
            if facts.kind == "retrieval" and rule.source in named:
                for key in (*_keys(facts, "output"), keys.RESULT_VALUE):
                    for place in shapes.texts_below(self.index, _path(key.removesuffix(".*"))):
                        self._put(place, rule.kind)
        self.sources_of_documents()

    def sources_of_documents(self) -> None:
        for rule in self._work.sources:
            for place in shapes.documents(self.index, rule.source):
                self._put(place, rule.kind)

    def _apply(self, root: Path, entries: Entries) -> None:
        """Apply entries to one tool's arguments or result."""
        self._roots[root] = entries
        self._note_way(root)

    def _put(self, path: Path, kind: Class) -> None:
        self._actions[path] = _stricter(kind, self._actions.get(path))
        self._note_way(path)

    def _note_way(self, path: Path) -> None:
        if len(path) not in self._lengths:
            self._lengths = sorted([*self._lengths, len(path)], reverse=True)
        self._ways.update(path[:length] for length in range(len(path)))

    # --- what becomes of it -----------------------------------------------------------------------------------------

    def attributes(self, bag: Mapping[str, Value], base: Path) -> Mapping[str, Value]:
        """Return attributes with declared values replaced."""
        return {name: self.value(name, value, (*base, *_path(name))) for name, value in bag.items()}

    def value(self, name: str, value: Value, root: Path) -> Value:
        """Return the value of an attribute with declared values replaced; withheld where that fails."""
        own = [rule for rule in self._work.attributes if _named(rule.attribute, name)]
        if not own and not self.has_actions():
            return value

        def decide(path: Path, content: Content, depth: int) -> str | None:
            kind = self._kind(path, content)
            for rule in own:
                rest = path[len(root) :]
                broken = isinstance(content, Piece) and content.node.kind == "broken" and rule.kind != "keep"
                if broken or leads_to(rule.pointer, rest[: len(rule.pointer)]):
                    kind = _stricter(rule.kind, kind)
            return None if kind is None else self._replacement(kind, path, content, depth)

        try:
            return rewrite(value, root, decide, self._nodes, None if own else self._matters)
        except Exception:  # noqa: BLE001 - whatever it was, the value is withheld; its text may be in the exception
            self._work.counts["redaction_failures"] += 1
            self.marks.append(f"withheld:{name}:redaction_failed")
            return WITHHELD

    def _matters(self, path: Path) -> bool:
        """Tell whether a class holds at a place, or may hold at one in it."""
        if path in self._ways:
            return True
        heads = (path[:length] for length in self._lengths)
        return any(head in self._actions or head in self._roots for head in heads)

    def _kind(self, path: Path, content: Content) -> Class | None:
        """Return the class that holds at a place: that of the nearest place around it that has one."""
        nearest, kind = 0, None
        broken = isinstance(content, Piece) and content.node.kind == "broken"
        for length in self._lengths:
            if length > len(path):
                continue
            around = path[:length]
            declared = self._actions.get(around)
            if declared is not None and length >= nearest:
                nearest, kind = length, _stricter(declared, kind if length == nearest else None)
            for wanted, pointer in self._roots.get(around, ()):
                depth = len(path) if broken and wanted != "keep" else _reach(wanted, pointer, path, length)
                if depth >= max(nearest, 1):
                    kind = _stricter(wanted, kind if depth == nearest else None)
                    nearest = depth
        return kind

    def _replacement(self, kind: Class, path: Path, content: Content, depth: int) -> str | None:
        if sensitive_key(path[-1]) is not None and kind != "drop":
            return None  # a secret by its name: gone in a moment, and never vaulted
        if isinstance(content, Piece) and content.node.kind == "broken":
            content = content.written
        elif isinstance(content, (Piece, Mapping, tuple)) or (isinstance(content, str) and is_document(content)):
            return self._of_whole(kind, content) if kind in ("drop", "regulated") else None
        if content is None or content in ("", b"", Scalar("null")):
            return None
        if isinstance(content, bool) or (isinstance(content, Scalar) and content in ("true", "false")):
            return self._of_whole(kind, content) if kind in ("drop", "regulated") else None
        return self._of_leaf(kind, content, depth)

    def _of_whole(self, kind: Class, content: Content) -> str:
        self._work.counts[f"CLASS:{kind}"] += 1
        if kind == "drop":
            return DROPPED
        return self._means.token("REGULATED", self._means.without_secrets(_canonical_text(content)))

    def _of_leaf(self, kind: Class, content: Value, depth: int) -> str | None:
        text = _text(content)
        if MARKS.fullmatch(text):
            return None
        self._work.counts[f"CLASS:{kind}"] += 1
        if kind == "drop":
            return DROPPED
        clean = self._means.without_secrets(text)
        if kind == "keep":
            kept = clean if isinstance(content, str) or clean != text else content
            return self._work.kept.mark(kept, depth, scalar=isinstance(content, Scalar))
        if clean != text:
            found = MARKS.search(clean)
            return found[0] if found else DROPPED
        if kind == "hash":
            return self._means.token("HASH", text, _HASH_DIGITS)
        if kind == "regulated":
            return self._means.token("REGULATED", _canonical_text(content))
        return self._means.whole(text) or self._means.token("FIELD", text)


def _reach(kind: Class, pointer: Pointer, path: Path, root: int) -> int:
    """Return how many members of a path lead to the place that a pointer names, from a root of so many members on; 0
    where the path does not go there.

    A pointer also leads on from wherever a library has put the value (`kwargs`, `structured_content`); one that keeps
    leads from the root alone.
    """
    for start in range(root, len(path) - len(pointer) + 1):
        if leads_to(pointer, path[start : start + len(pointer)]):
            return start + len(pointer)
        if kind == "keep" or not pointer or not (path[start] in _WRAPPERS or path[start].isdigit()):
            return 0
    return 0


def _tokens(counts: Counter[str]) -> int:
    return sum(counts[f"CLASS:{kind}"] for kind in ("token", "hash", "regulated"))


def _text(content: Value) -> str:
    if isinstance(content, bytes):
        return content.decode(errors="replace")
    if isinstance(content, float) and content.is_integer():
        return str(int(content))
    return str(content)


def _canonical_text(content: Content) -> str:
    """Return one text for one value, in whatever form it came."""
    if isinstance(content, Scalar):
        return whole_text(parse_json(content))
    return whole_text(content.written if isinstance(content, Piece) else content)


def _path(name: str) -> Path:
    return tuple(name.split(".")) if name else ()


def _keys(facts: Facts, field: str) -> tuple[str, ...]:
    pointer = facts.content.get(field)
    return pointer.keys if pointer is not None and pointer.source == "attributes" else ()


def _named(wanted: str, name: str) -> bool:
    return name.startswith(wanted[:-1]) if wanted.endswith("*") else name == wanted


def _stricter(kind: Class, other: Class | None) -> Class:
    return kind if other is None else max(kind, other, key=_STRICTNESS.index)


def _mentions(value: Value, names: Sequence[str]) -> bool:
    if isinstance(value, str):
        return any(name in value for name in names)
    if isinstance(value, Mapping):
        return any(_mentions(item, names) for item in value.values())
    return isinstance(value, tuple) and any(_mentions(item, names) for item in value)
