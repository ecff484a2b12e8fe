"""Takes the cheap facts out of one span when it arrives: no content is parsed here."""

from collections.abc import Iterator, Mapping

from runreel.semconv import keys
from runreel.semconv.dialect import Dialect, locate_source
from runreel.semconv.providers import provider
from runreel.semconv.reading import chain, dialect_of, kind_of, scalar
from runreel.semconv.view import View, unfinished, withheld
from runreel.values import Facts, Gap, Pointer, Span

_CONTENT = ("input", "output", "tool_definitions")


def recognise(span: Span) -> Facts:
    """Return what stores can be searched for. `assemble` reads the span again, with its log events."""
    view = View(span)
    dialect = dialect_of(view)
    kind, source = kind_of(view, dialect)
    run_hint = _resource_text(span, keys.RUN_ID) or root_run_id(span)
    if kind == "other":
        return Facts(kind, source, dialect.name, span.name, run_hint)

    def find(name: str) -> str:
        value = scalar(view, dialect, name, "text")
        return value if isinstance(value, str) else ""

    pointers = _pointers(view, dialect, kind)
    model = find("llm.model") or find("llm.model_requested") if kind == "llm" else ""
    agent = find("run.agent_id") or _resource_text(span, "service.name")
    return Facts(
        kind=kind,
        kind_source=source,
        dialect=dialect.name,
        name=find(f"{kind}.name") or model or span.name,
        run_hint=run_hint,
        call_id=find("tool.call_id") if kind == "tool" else "",
        agent_id=agent,
        model=model,
        provider=provider(find("llm.provider"), model) if kind == "llm" else "",
        input_tokens=_tokens(view, dialect, kind, "input_tokens"),
        output_tokens=_tokens(view, dialect, kind, "output_tokens"),
        content=pointers,
        gaps=tuple(_gaps(view, kind, pointers)),
    )


def root_run_id(span: Span) -> str:
    """Return a framework's own id of the run that a root span begins, "" for any other span."""
    found = (span.attributes.get(key) for key in keys.ROOT_RUN_IDS) if not span.parent_id else ()
    return next((value for value in found if isinstance(value, str) and value), "")


def _resource_text(span: Span, key: str) -> str:
    for attributes in (span.attributes, span.resource.attributes):
        value = attributes.get(key)
        if isinstance(value, str) and value:
            return value
    return ""


def _tokens(view: View, dialect: Dialect, kind: str, name: str) -> int | None:
    value = scalar(view, dialect, f"llm.usage.{name}", "integer") if kind == "llm" else None
    return value if isinstance(value, int) else None


def _pointers(view: View, dialect: Dialect, kind: str) -> Mapping[str, Pointer]:
    def find() -> Mapping[str, Pointer]:
        return dict(_located(view, dialect, kind))

    return view.names.once((dialect.name, kind), find) if len(view.layers) == 1 else find()


def _located(view: View, dialect: Dialect, kind: str) -> Iterator[tuple[str, Pointer]]:
    for name in _CONTENT:
        for one in chain(dialect):
            content = one.contents.get(f"{kind}.{name}")
            place = locate_source(view, content) if content else None
            if place:
                yield name, Pointer(*place)
                break


def _gaps(view: View, kind: str, pointers: Mapping[str, Pointer]) -> Iterator[Gap]:
    """Yield what is plainly wrong already: left out by the sender, withheld, cut. The verdict on the run says more."""
    dropped = view.span.dropped.attributes
    if dropped:
        yield Gap(None, "attributes", "frozen", f"dropped_attributes: the sender left out {dropped}", "")
    for name, pointer in pointers.items():
        for key in pointer.keys:
            value = view.first(key)
            if reason := withheld(value):
                yield Gap(None, name, "frozen", reason, "")
            elif isinstance(value, str) and kind == "llm" and unfinished(value):
                yield Gap(None, name, "frozen", f"not_json: {key} ends in the middle of its JSON", "")
