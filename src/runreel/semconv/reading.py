"""Reads one span into the fields of the record, whatever its dialect."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from runreel.semconv import keys
from runreel.semconv.content import nothing_said
from runreel.semconv.dialect import Dialect, read_source
from runreel.semconv.dialects import DIALECTS, OWN, STANDARD
from runreel.semconv.providers import provider
from runreel.semconv.registry import BY_KEY, FieldType, fields_of
from runreel.semconv.unusual import news
from runreel.semconv.usage import TOTALS, including_cache
from runreel.semconv.view import ABSENT, EXCEPTION_EVENT, Found, Memo, View, best, event_name, nothing
from runreel.values import Kind, StepError, Value

_PLAIN: Final = ("text", "texts", "integer", "number", "boolean")
_SAID: Final = ("llm.input", "llm.output")
_GROUPS: Final = ("params", "usage", "contract")
_CHAINS: Final[dict[str, tuple[Dialect, ...]]] = {}


@dataclass(frozen=True, slots=True)
class Reading:
    """What one span says. `fields` are the record's scalar fields, `params`, `usage` and `contract` as maps."""

    kind: Kind
    kind_source: str
    dialect: str
    name: str = ""
    call_id: str = ""
    fields: Mapping[str, Value] = field(default_factory=dict)
    input: Found = ABSENT
    output: Found = ABSENT
    definitions: Found = ABSENT
    raw: Found = ABSENT
    error: StepError | None = None


def dialect_of(view: View) -> Dialect:
    """Return the first dialect that claims the span; the structural one claims all."""
    return next(dialect for dialect in DIALECTS if dialect.claims(view))


def chain(dialect: Dialect) -> tuple[Dialect, ...]:
    """Return the dialects to ask for a field, in order."""
    known = _CHAINS.get(dialect.name)
    if known is None:
        asked: list[Dialect] = [OWN]
        at: Dialect | None = dialect
        while at is not None and at is not STANDARD:
            asked.append(at)
            at = at.base
        known = _CHAINS[dialect.name] = (*asked, STANDARD)
    return known


def kind_of(view: View, dialect: Dialect) -> tuple[Kind, str]:
    """Return the kind of step and what said so; (`other`, "") for a structural span."""
    for one in chain(dialect):
        if found := one.kind(view):
            return found
    return "other", ""


def read(view: View) -> Reading:
    """Read a span. Never fails: what cannot be understood is kept as it came."""
    dialect = dialect_of(view)
    kind, source = kind_of(view, dialect)
    if kind == "other":
        return Reading(kind, source, dialect.name, view.span.name)
    fields = dict(_scalars(view, dialect, kind))
    name = fields.pop("name", None) or fields.get("model_requested") or fields.get("model") or view.span.name
    call_id = fields.pop("call_id", None)
    error = error_of(view)
    if kind == "llm":
        who = provider(fields.pop("provider", None), fields.get("model_requested") or fields.get("model"))
        if who:
            fields["provider"] = who
        left = error is not None and (error.type, error.message) == _LEFT
        error = None if left else error
        fields["interrupted"] = left or (error is None and _interrupted(fields))
    return Reading(
        kind,
        source,
        dialect.name,
        str(name),
        call_id if isinstance(call_id, str) else "",
        fields,
        content(view, dialect, f"{kind}.input"),
        content(view, dialect, f"{kind}.output"),
        content(view, dialect, f"{kind}.tool_definitions"),
        content(view, dialect, f"{kind}.response_raw"),
        error,
    )


def content(view: View, dialect: Dialect, key: str) -> Found:
    """Return a content field, the most complete of what the dialects find."""
    found: list[Found] = []
    for one in chain(dialect):
        if (source := one.contents.get(key)) is not None and not _hidden(dialect, one, key):
            reading = read_source(view, source)
            if reading.state == "whole" and key in _SAID:
                reading = nothing_said(reading.value, view.memo) or reading
            if reading.state == "whole":
                return reading
            found.append(reading)
    return best(found)


def scalar(view: View, dialect: Dialect, key: str, type_: FieldType) -> Value:
    """Return one scalar field, None where no dialect finds it."""
    for one in chain(dialect):
        names = one.scalars.get(key)
        if names is not None and not _hidden(dialect, one, key):
            value = coerce(type_, view.get(*names), view.memo)
            if not nothing(value):
                return value
    return None


def _hidden(dialect: Dialect, asked: Dialect, key: str) -> bool:
    return key in dialect.hides and asked is not dialect and asked is not OWN


def _scalars(view: View, dialect: Dialect, kind: Kind) -> Iterator[tuple[str, Value]]:
    """Yield the fields of a kind; members of a group are gathered into one map."""
    flat: dict[str, Value] = {}
    for one in fields_of(kind):
        if not one.payload and not one.derived:
            value = scalar(view, dialect, one.key, one.type)
            if value is not None:
                flat[one.name] = value
    for asked in chain(dialect):
        for key, raw in asked.extras(view, kind).items():
            known = BY_KEY.get(f"{kind}.{key}")
            plain = known is not None and not known.derived and known.type in _PLAIN
            value = coerce(known.type, raw, view.memo) if known is not None and plain else raw
            if not nothing(value) and key not in flat and not _hidden(dialect, asked, f"{kind}.{key}"):
                flat[key] = value
    extra = flat.pop("params.extra", None)
    if isinstance(extra, Mapping):
        flat.update({f"params.{key}": value for key, value in extra.items()})
    groups: dict[str, dict[str, Value]] = {}
    for key, value in flat.items():
        group, _, member = key.partition(".")
        if member and group in _GROUPS:
            groups.setdefault(group, {})[member] = value
        else:
            yield key, value
    if kind == "llm":
        yield "params", groups.get("params", {})
        usage = groups.get("usage")
        yield "usage", including_cache(usage, coerce("integer", view.get(*TOTALS), view.memo)) if usage else None
    if "contract" in groups:
        yield "contract", groups["contract"]
    yield from _about_the_span(view)


def _about_the_span(view: View) -> Iterator[tuple[str, Value]]:
    span = view.span
    yield "instrumentation", f"{span.scope.name} {span.scope.version}".strip()
    if span.dropped.attributes:
        yield "dropped_attributes", span.dropped.attributes
    if span.marks:
        yield "marks", tuple(sorted(span.marks))
    if unknown := news(view):
        yield "unknown", unknown
    order = coerce("integer", span.attributes.get(keys.SEQ), view.memo)
    if order is not None:
        yield "order", order
    rest = {key[len(keys.PREFIX) :]: value for key, value in span.attributes.items() if _unmapped(key)}
    if rest:
        yield "replay", rest


_MAPPED: Final = frozenset(name for names in OWN.scalars.values() for name in names) | {
    name for source in OWN.contents.values() for name in source.keys
}


def _unmapped(key: str) -> bool:
    return (
        key.startswith(keys.PREFIX)
        and key not in _MAPPED
        and not key.startswith(keys.FLAG_PREFIX)
        and key != keys.STEP_KIND
    )


def coerce(type_: FieldType, value: Value, memo: Memo) -> Value:
    """Return a value as the field's type, None where it cannot be one. Senders mix 0 with 0.0 and "3" with 3."""
    if value is None:
        return None
    if type_ == "text":
        return value if isinstance(value, str) else None
    if type_ == "texts":
        return _texts(value, memo)
    if type_ == "boolean":
        return _boolean(value)
    if type_ in ("integer", "number"):
        return _number(value, whole=type_ == "integer")
    if isinstance(value, str):
        ok, parsed = memo.parse(value)
        return parsed if ok else value
    return value


def _texts(value: Value, memo: Memo) -> Value:
    if isinstance(value, str):
        ok, parsed = memo.parse(value) if value.startswith("[") else (False, None)
        value = parsed if ok else (value,)
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, tuple) else None


def _boolean(value: Value) -> Value:
    if isinstance(value, str):
        return {"true": True, "1": True, "false": False, "0": False}.get(value.lower())
    return bool(value) if isinstance(value, int) else None


def _number(value: Value, *, whole: bool) -> Value:
    if isinstance(value, str):
        try:
            value = float(value) if any(sign in value for sign in ".eEnN") else int(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if whole and isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value


# How OpenTelemetry's instrumentations say that a stream's reader walked away.
_LEFT: Final = ("_OTHER", "abandoned stream")


def _interrupted(fields: Mapping[str, Value]) -> bool:
    """Say whether a stream was left before its end: no usage, and either no finish reason or `error` for one."""
    reasons = fields.get("finish_reasons")
    if fields.get("usage") is not None:
        return False
    return reasons == ("error",) or (not reasons and fields.get("stream") is True)


def error_of(view: View) -> StepError | None:
    """Return what the span failed with: its last exception, in its events or its log events, else its status."""
    span = view.span
    named = view.text("error.type")
    if span.status != 2 and not named:
        return None
    found = [event.attributes for event in span.events if event.name == "exception"]
    found += [log.attributes for log in view.logs if event_name(log) == EXCEPTION_EVENT]
    last = found[-1] if found else {}
    texts = [last.get(f"exception.{key}") for key in ("type", "message", "stacktrace")]
    type_, message, stack = (text if isinstance(text, str) else "" for text in texts)
    return StepError(type_ or named or "Error", message or span.message, stack)
