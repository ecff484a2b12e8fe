"""What is known of a run as a whole: whose it is, which versions, what was asked and answered, where it came from."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from runreel.canonical import canonical, loads
from runreel.runs.draft import Draft, parts_of
from runreel.semconv import keys
from runreel.semconv.content import understand
from runreel.semconv.dialects import DIALECTS, OWN
from runreel.semconv.reading import coerce
from runreel.semconv.recognise import recognise
from runreel.semconv.registry import BY_KEY
from runreel.semconv.unusual import MEANINGS, UNKNOWN_DIALECT, UNKNOWN_OPERATION
from runreel.semconv.view import Memo, nothing
from runreel.values import LogEvent, Outcome, Span, Value

_SHA: Final = re.compile(r"(?:^|[^0-9a-z]|git|g)((?=[0-9]*[a-f])[0-9a-f]{7,40})(?![0-9a-z])")
_LINK_KINDS: Final = frozenset({"sub_agent", "handoff", "retry"})
_OUTCOMES: Final[Mapping[str, Outcome]] = {
    "ok": "ok",
    "error": "error",
    "aborted": "aborted",
    "user_flagged": "user_flagged",
}
_SERVICE: Final = ("service.", "process.", "host.", "os.", "telemetry.sdk.", "deployment.", keys.PREFIX)


@dataclass(frozen=True, slots=True)
class Facets:
    """The places where a run's own fields may stand, the most telling first."""

    root: Draft | None
    spans: tuple[Span, ...]
    logs: tuple[LogEvent, ...]
    memo: Memo = field(default_factory=Memo)

    def attributes(self) -> Iterator[Mapping[str, Value]]:
        """Yield the root's attributes, those of other spans in order, of resources, of log events."""
        first = self.root.span if self.root is not None else None
        if first is not None:
            yield first.attributes
        for span in self.spans:
            if span is not first:
                yield span.attributes
        yield from self.resources()
        for log in self.logs:
            yield log.attributes

    def resources(self) -> Iterator[Mapping[str, Value]]:
        """Yield the resources, the root's first."""
        if self.root is not None and self.root.span is not None:
            yield self.root.span.resource.attributes
        for span in self.spans:
            yield span.resource.attributes

    def find(self, name: str) -> Value:
        """Return a scalar field of the run, None where nobody says."""
        wanted = BY_KEY[f"run.{name}"]
        for names in _tables(wanted.key):
            for attributes in self.attributes():
                for key in names:
                    value = coerce(wanted.type, attributes.get(key), self.memo)
                    if not nothing(value):
                        return value
        return None

    def text(self, name: str) -> str:
        value = self.find(name)
        return value if isinstance(value, str) else ""


def _tables(key: str) -> Iterator[tuple[str, ...]]:
    for dialect in (OWN, *DIALECTS):
        if key in dialect.scalars:
            yield dialect.scalars[key]


def agent_id(facets: Facets) -> str:
    """Return which agent ran: what its root says, else the service. Never the name of a sub-agent below."""
    places: list[Mapping[str, Value]] = []
    if facets.root is not None and facets.root.span is not None:
        places.append(facets.root.span.attributes)
    places += list(facets.resources())
    for names in (*OWN.scalars.items(), *((key, value) for one in DIALECTS for key, value in one.scalars.items())):
        if names[0] != "run.agent_id":
            continue
        for key in names[1]:
            for attributes in places:
                value = attributes.get(key)
                if isinstance(value, str) and not nothing(value):
                    return value
    return ""


def parent(facets: Facets, tops: Sequence[Span], traces: frozenset[str]) -> tuple[str | None, str | None]:
    """Return (run or trace id of the parent run, relation), from attributes or else from a span link of the top spans.

    A link into the run's own traces says nothing, so that no loop of links is ever followed.
    """
    named = facets.text("parent_run_id")
    relation = facets.text("parent_relation")
    for span in tops:
        for link in span.links:
            ours, common = link.attributes.get(keys.LINK_KIND), link.attributes.get("link.kind")
            kind = ours if isinstance(ours, str) and ours else common if common in _LINK_KINDS else None
            if isinstance(kind, str) and link.trace_id not in traces:
                run = link.attributes.get(keys.RUN_ID)
                return named or (run if isinstance(run, str) and run else link.trace_id), relation or kind
    return (named, relation or "sub_agent") if named else (None, None)


def versions(facets: Facets) -> Mapping[str, Value]:
    """Return the versions of agent, service and code; a commit may hide in the service's version."""
    out: dict[str, Value] = {}
    for name in ("agent_version", "service_version", "code_version"):
        if value := facets.text(name):
            out[name] = value
    if "code_version" in out:
        out["code_version_source"] = "attribute"
    elif found := _SHA.search(str(out.get("service_version", ""))):
        out["code_version"] = found[1]
        out["code_version_source"] = "service.version"
    return out


def prompts(turns: Sequence[Draft], spans: Sequence[Span] = ()) -> Mapping[str, Value]:
    """Return the prompts used: `templates` (name to versions), `fingerprints` (hashes of the system instructions).

    `spans` may hold prompts that were read on their own (`runreel.record.prompt`).
    """
    templates: dict[str, list[Value]] = {}
    fingerprints: list[Value] = []
    for span in spans:
        named, said = span.attributes.get(keys.PROMPT_ID), span.attributes.get(keys.PROMPT_VERSION)
        read = isinstance(named, str) and keys.MEMORY_STORE in span.attributes
        if isinstance(named, str) and read and said not in templates.setdefault(named, []):
            templates[named].append(said)
    for turn in turns:
        name, version = turn.fields.get("prompt_name"), turn.fields.get("prompt_version")
        if isinstance(name, str) and version not in templates.setdefault(name, []):
            templates[name].append(version)
        system = tuple(one for one in _messages(turn.input.value) if one.get("role") in ("system", "developer"))
        if system:
            digest = "sha256:" + hashlib.sha256(canonical(system)).hexdigest()
            if digest not in fingerprints:
                fingerprints.append(digest)
    out: dict[str, Value] = {}
    if templates:
        out["templates"] = {name: tuple(found) for name, found in sorted(templates.items())}
    if fingerprints:
        out["fingerprints"] = tuple(fingerprints)
    return out


def flags(facets: Facets) -> Mapping[str, Value]:
    """Return the feature flags that the run saw: our own attributes, and the conventions' evaluation events."""
    out: dict[str, Value] = {}
    events = [
        event.attributes for span in facets.spans for event in span.events if event.name.startswith("feature_flag")
    ]
    for attributes in (*events, *(log.attributes for log in facets.logs)):
        key = attributes.get("feature_flag.key")
        for name in ("feature_flag.result.value", "feature_flag.result.variant", "feature_flag.variant"):
            if isinstance(key, str) and name in attributes:
                out[key] = attributes[name]
                break
    for attributes in facets.attributes():
        for key, value in attributes.items():
            if key.startswith(keys.FLAG_PREFIX):
                out.setdefault(key[len(keys.FLAG_PREFIX) :], value)
    return out


def service(facets: Facets) -> Mapping[str, Value]:
    """Return what ran: the resource of the root by its own names, and how to start it again."""
    found = next(facets.resources(), {})
    out = {key: value for key, value in found.items() if key.startswith(_SERVICE)}
    for name, key in (("entry", keys.AGENT_ENTRY), ("seed", keys.RUN_SEED)):
        value = facets.find(name)
        if value is not None:
            out[key] = value
    return out


def outcome(facets: Facets, *, has_root: bool, quiet: bool) -> Outcome:
    """Return how the run ended: as it says itself, else by its root's status; a root that never came is an abort."""
    said = _OUTCOMES.get(facets.text("outcome"))
    if said is not None:
        return said
    if facets.root is not None and facets.root.reading.error is not None:
        return "error"
    return "aborted" if quiet and not has_root else "ok"


_ASIDE: Final = ("llm", "memory")
"""What says nothing to or for a user by itself, where a run begins with it: a turn, or what was read before it."""


def user_input(facets: Facets, turns: Sequence[Draft]) -> Value:
    """Return what the user asked, word for word: as the run says, else the last user message of root or first call."""
    said = _said(facets, "run.user_input")
    if said is not None:
        return said
    if facets.root is not None and facets.root.kind not in _ASIDE:
        value = _spoken(facets.root.input.value, "user")
        if value is not None:
            return value
    return _spoken(turns[0].input.value, "user") if turns else None


def final_output(facets: Facets, turns: Sequence[Draft]) -> Value:
    """Return what the run answered: as it says, else the root's output, else the last answer that asks for no tool."""
    said = _said(facets, "run.final_output")
    if said is not None:
        return said
    if facets.root is not None and facets.root.kind not in _ASIDE:
        value = _spoken(facets.root.output.value, "assistant")
        if value is not None:
            return value
    for turn in reversed(turns):
        if turn.output.state == "whole" and not parts_of(turn.output, "tool_call"):
            return _spoken(turn.output.value, "assistant")
    return None


def unread(spans: Sequence[Span]) -> Iterator[str]:
    """Yield a note for each scope with spans that look like steps and are none known here: they are in no step."""
    counts: Counter[tuple[str, str]] = Counter()
    for span in spans:
        for mark in (UNKNOWN_DIALECT, UNKNOWN_OPERATION):
            if mark in span.marks and recognise(span).kind == "other":
                counts[mark, span.scope.name] += 1
    for (mark, scope), count in sorted(counts.items()):
        yield f"{mark}: {count} of the spans that {scope or 'a scope without a name'} wrote: {MEANINGS[mark]}"


def _said(facets: Facets, key: str) -> Value:
    for name in OWN.contents[key].keys:
        for attributes in facets.attributes():
            found = understand("value", attributes.get(name), "", facets.memo)
            if found.state == "whole" and found.value is not None:
                return _typed(found.value)
    return None


def _typed(value: Value) -> Value:
    """Return the value that typed JSON text stands for; any other text is the value."""
    if isinstance(value, str):
        try:
            return loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _messages(value: Value) -> list[Mapping[str, Value]]:
    found = [one for one in value if isinstance(one, Mapping)] if isinstance(value, tuple) else []
    return found if all("parts" in one for one in found) else []


def _spoken(value: Value, role: str) -> Value:
    """Return the last message of a role: its text if it is one text, else its parts. No messages: the value itself."""
    listed = _messages(value)
    if not listed:
        return value
    for one in reversed(listed):
        inner = one.get("parts")
        if one.get("role") == role and isinstance(inner, tuple):
            texts = [part.get("content") for part in inner if isinstance(part, Mapping) and part.get("type") == "text"]
            return texts[0] if len(texts) == len(inner) == 1 else inner
    return None
