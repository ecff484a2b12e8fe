"""`runreel redact FILE`: a dry run for whoever answers for privacy: what redaction leaves of a file, and which rule did
what. Nothing is stored."""

import argparse
import os
import secrets
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.console import Console
from rich.text import Text

from runreel.cli import common
from runreel.errors import UsageError
from runreel.processors.redact.classes import DECLARED
from runreel.semconv.secrets import MARKS
from runreel.text import printable
from runreel.values import DEFAULT_TENANT, LogEvent, RawBatch, Span, Value

if TYPE_CHECKING:
    from runreel.processors.redact import Redactor, TenantKey

_STDIN = Path("-")
_SECRET, _PERSONAL, _DECLARED = "bold red", "bold yellow", "bold magenta"


class Kept(NamedTuple):
    """What Presidio would have taken and a written rule keeps."""

    entity: str
    reason: str


class Shown(NamedTuple):
    """A redacted text, with the place of each mark in it and the rule behind it."""

    place: str
    text: str
    marks: tuple[tuple[int, int, str], ...]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("file", type=Path, metavar="FILE", help="text, JSON, or an OTLP request; - for standard input")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    common.add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Redact and show. Returns 0."""
    from runreel import otlp
    from runreel.components import redact_settings
    from runreel.errors import DecodeError
    from runreel.processors.redact import Redactor

    data = _read(args.file)
    where = common.place(args)
    key, note = _key(where.home)
    settings = redact_settings(where.processors.get("redact", {}))
    redactor = Redactor(key, settings)
    kept: dict[Kept, set[str]] = {}
    redactor.tell_kept(lambda entity, reason, text: kept.setdefault(Kept(entity, reason), set()).add(text))
    sniffed = otlp.sniff(data)
    if sniffed is not None:
        try:
            batch = otlp.decode(sniffed[0], data, sniffed[1], DEFAULT_TENANT)
        except DecodeError as error:
            raise UsageError(f"{args.file}: it looks like an OTLP request and is none: {error}") from None
        shown, counts = _batch(redactor, batch)
    else:
        shown, counts = _text(redactor, data)
    if args.json:
        common.show_json(_document(shown, counts, kept, note))
    else:
        _show(common.console(), shown, counts, kept, note)
    return 0


def _read(path: Path) -> bytes:
    try:
        return sys.stdin.buffer.read() if path == _STDIN else path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _key(home: Path) -> "tuple[TenantKey, str]":
    """Return the tenant's key, so that tokens are those of stored runs; where there is none a key for this once."""
    from runreel.processors.redact import TenantKey, load_key
    from runreel.processors.redact.keys import VARIABLE

    if VARIABLE in os.environ or (home / "keys" / f"{DEFAULT_TENANT}.json").is_file():
        return load_key(home, DEFAULT_TENANT), ""
    return TenantKey(
        "", secrets.token_bytes(32)
    ), f"{home} has no key yet: these tokens are good for nothing but reading"


# --- redacting --------------------------------------------------------------------------------------------------------


def _text(redactor: "Redactor", data: bytes) -> "tuple[list[Shown], Counter[str]]":
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError("it is neither UTF-8 text nor an OTLP request") from None
    counts: Counter[str] = Counter()
    out: list[str] = []
    marks: list[tuple[int, int, str]] = []
    last = length = 0
    for edit in redactor.edits(text):
        counts.update(edit.labels)
        before = text[last : edit.start]
        out += [before, edit.text]
        length += len(before)
        marks.append((length, length + len(edit.text), "+".join(edit.labels)))
        length += len(edit.text)
        last = edit.end
    return [Shown("", "".join([*out, text[last:]]), tuple(marks))], counts


def _batch(redactor: "Redactor", batch: RawBatch) -> "tuple[list[Shown], Counter[str]]":
    """Return every text of a request that redaction left something in."""
    from runreel.processors.schema import Schema

    clean = redactor.process(Schema().process(batch))
    shown: list[Shown] = []
    for span in clean.spans:
        shown += _marked(f"span {span.key.span_id}", _fields(span))
    for log in clean.logs:
        shown += _marked(f"log {log.span_id or log.event_name}", _fields(log))
    return shown, Counter(clean.counts)


def _fields(item: Span | LogEvent) -> Iterator[tuple[str, Value]]:
    """Yield (place, text or bytes) of everything that a sender fills."""
    if isinstance(item, Span):
        yield from (("name", item.name), ("message", item.message), ("trace_state", item.trace_state))
        for place, event in enumerate(item.events):
            yield from _leaves(f"events/{place}/name", event.name)
            yield from _leaves(f"events/{place}/attributes", event.attributes)
        for place, link in enumerate(item.links):
            yield from _leaves(f"links/{place}/attributes", link.attributes)
    else:
        yield from (("event_name", item.event_name), ("severity_text", item.severity_text))
        yield from _leaves("body", item.body)
    yield from _leaves("attributes", item.attributes)
    yield from _leaves("resource", item.resource.attributes)
    yield from _leaves("scope", item.scope.attributes)


def _leaves(place: str, value: Value) -> Iterator[tuple[str, Value]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield f"{place} (a name)", key
            yield from _leaves(f"{place}/{key}", item)
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _leaves(f"{place}/{number}", item)
    else:
        yield place, value


def _marked(where: str, fields: Iterator[tuple[str, Value]]) -> Iterator[Shown]:
    for place, value in fields:
        text = value.decode(errors="replace") if isinstance(value, bytes) else value
        if isinstance(text, str) and (found := [*MARKS.finditer(text)]):
            yield Shown(f"{where} {place}", text, tuple((one.start(), one.end(), _rule(one[0])) for one in found))


def _rule(mark: str) -> str:
    """Return the rule that a mark names."""
    inside = mark[1:-1]
    return inside if ":" in inside else inside.rpartition("_")[0]


# --- showing ----------------------------------------------------------------------------------------------------------


def _document(
    shown: Sequence[Shown], counts: Mapping[str, int], kept: Mapping[Kept, set[str]], note: str
) -> dict[str, Any]:
    return {
        "texts": [
            {"place": one.place, "text": one.text,
             "marks": [{"start": start, "end": end, "rule": rule} for start, end, rule in one.marks]}
            for one in shown
        ],
        "counts": dict(sorted(counts.items())),
        "kept": [
            {"entity": one.entity, "reason": one.reason, "values": len(values)} for one, values in sorted(kept.items())
        ],
        "note": note,
    }  # fmt: skip


def _show(
    console: Console, shown: Sequence[Shown], counts: Mapping[str, int], kept: Mapping[Kept, set[str]], note: str
) -> None:
    for one in shown:
        if one.place:
            console.print(Text(printable(one.place), "bold"), soft_wrap=True)
        console.print(_painted(one), soft_wrap=True)
    console.print()
    for rule, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        console.print(Text.assemble(f"{count:>7,}  ", (rule, _style(rule))), soft_wrap=True)
    if not counts:
        console.print("nothing to redact")
    for entry, values in sorted(kept.items()):
        console.print(f"{len(values):>7,}  kept: {entry.entity} that is: {entry.reason}", soft_wrap=True)
    if note:
        console.print(Text(note, "yellow"), soft_wrap=True)


def _painted(one: Shown) -> Text:
    """Return a text with its marks in colour. Terminal escapes in it are shown, not obeyed."""
    out, last = Text(), 0
    for start, end, rule in one.marks:
        out.append(_printable(one.text[last:start]))
        out.append(_printable(one.text[start:end]), _style(rule))
        if "base64" in rule:
            out.append(" [redacted inside base64]", "dim")
        last = end
    return out.append(_printable(one.text[last:]))


def _printable(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))


def _style(rule: str) -> str:
    if rule.startswith("SECRET:"):
        return _SECRET
    return _DECLARED if rule.startswith(("CLASS:", "WITHHELD:")) or rule in DECLARED else _PERSONAL
