"""Judges whether a run can be replayed, and names everything that it lacks, with what to do about it.

`full`: a frozen replay needs nothing more. `partial`: some of it is there. `none`: no model call could be answered.
"""

from collections.abc import Iterator, Mapping

from runreel.runs.loose_ends import loose_ends
from runreel.runs.missing import missing_model_calls, missing_tool_calls
from runreel.runs.signatures import unsigned
from runreel.semconv.registry import Field, fields_of
from runreel.semconv.switches import content_switch, model_switch
from runreel.values import Gap, NeededFor, Ref, Replayable, Run, Step, Value

_BOUNDARIES = ("llm", "tool", "retrieval", "memory")
LENGTH_FIX = (
    "unset OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT, OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT and "
    "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT at the sender"
)
_COUNT = "raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT at the sender (its default is 128), for instance to 10000"
_FLUSH = "flush the sender's exporter before its process ends; spans that it dropped cannot be had back"
_UPLOAD = (
    "let the collector read the folder (processors::schema::external_base_paths), or unset "
    "OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK at the sender, so that content comes with the spans, and "
)
_DOCUMENTS = (
    "wrap the retriever with runreel.record, or put each document's text under `content` in gen_ai.retrieval.documents "
    "(OpenInference sends it by itself)"
)
_WITHOUT_EMBEDDINGS = frozenset({"otel", "otel_legacy", "openllmetry"})
_EMBEDDINGS = (
    "nothing to switch on: this instrumentation has no place for texts and their vectors; wrap the retriever above it "
    "with runreel.record, so that a replay answers there (OpenInference sends them by itself)"
)
_UNRECORDED = "return and take plain values, dataclasses or pydantic models at the boundary"
_LOSSES = "read the agent's log for what the recorder could not do"
_BYPASSED = "put what connects there behind a tool (runreel.record.tool): no record holds what it was told"
CODE_FIX = "set service.version or vcs.ref.head.revision to the commit, in OTEL_RESOURCE_ATTRIBUTES"
_ALIAS = "pin the model to a dated snapshot, and use an instrumentation that records the model that answered"


def judge(run: Run) -> tuple[Replayable, tuple[Gap, ...]]:
    """Return the verdict and the gaps, in the order of the steps, those of the whole run last."""
    gaps = [gap for step in run.steps if step.shadowed_by is None for gap in _step_gaps(step)]
    gaps += missing_model_calls(run)
    gaps += missing_tool_calls(run)
    gaps += loose_ends(run)
    gaps += unsigned(run)
    gaps += _run_gaps(run)
    gaps.sort(key=lambda gap: (gap.step is None, gap.step or 0))
    return _verdict(run, gaps), tuple(gaps)


def _verdict(run: Run, gaps: list[Gap]) -> Replayable:
    lacking = [gap for gap in gaps if gap.needed_for == "frozen"]
    if not lacking:
        return "full"
    broken = {gap.step for gap in lacking}
    boundaries = [step for step in run.steps if step.kind in _BOUNDARIES and step.shadowed_by is None]
    models = [step for step in boundaries if step.kind == "llm"]
    return "partial" if any(step.seq not in broken for step in models or boundaries) else "none"


def _step_gaps(step: Step) -> Iterator[Gap]:
    dropped = step.fields.get("dropped_attributes")
    if isinstance(dropped, int) and step.kind in _BOUNDARIES:
        cause = f"dropped_attributes: the sender left out {dropped} attributes of the span, nobody knows which"
        yield Gap(step.seq, "attributes", "frozen", cause, _COUNT)
    for wanted in fields_of(step.kind):
        if wanted.requirement == "required" and wanted.name in ("input", "output"):
            yield from _content_gap(step, wanted)
        elif wanted.requirement == "required" and wanted.name != "name" and not step.fields.get(wanted.name):
            yield from _scalar_gap(step, wanted)
    yield from _unrecorded(step)


def _unrecorded(step: Step) -> Iterator[Gap]:
    """Yield what the sender says it could not record, and tool definitions that came without being whole."""
    own = step.fields.get("replay")
    listed = own.get("unrecorded") if isinstance(own, Mapping) else None
    for what in listed if isinstance(listed, tuple) else ():
        if isinstance(what, str):
            field, _, type_ = what.partition(": ")
            # Arguments without a recorded form have a stand-in that a replay gives as well; a result has none.
            needed: NeededFor = "diagnose" if field == "arguments" else "frozen"
            yield Gap(step.seq, field, needed, f"unrecorded: a value of type {type_}", _UNRECORDED)
    if step.fields.get("pairing") == "ambiguous":
        cause = "ambiguous: several tool calls of one answer fit this step equally well; which it was is a guess"
        yield Gap(step.seq, "call_id", "diagnose", cause, "set gen_ai.tool.call.id on tool spans")
    missing = step.fields.get("tool_definitions_missing")
    if isinstance(missing, str):
        state, _, reason = missing.partition(": ")
        ref = Ref(state="cut" if state == "cut" else "external" if state == "external" else "withheld", reason=reason)
        yield Gap(step.seq, "tool_definitions", "live", _cause(step, "input", ref), _fix(step, "input", ref))


def _content_gap(step: Step, wanted: Field) -> Iterator[Gap]:
    ref = step.input if wanted.name == "input" else step.output
    if ref.state == "whole" or (wanted.name == "output" and step.error is not None):
        return
    if wanted.name == "output" and step.status == "interrupted" and ref.state == "absent":
        return
    yield Gap(step.seq, wanted.name, wanted.needed_for, _cause(step, wanted.name, ref), _fix(step, wanted.name, ref))


def _cause(step: Step, name: str, ref: Ref) -> str:
    if ref.state != "absent":
        return ref.reason if ref.reason.startswith(ref.state) else f"{ref.state}: {ref.reason}"
    if ref.reason:
        return ref.reason
    told = (
        "no span, and no later model call, says it" if step.kind == "tool" and name == "output" else "the span has none"
    )
    return f"content_off: {told}"


def _fix(step: Step, name: str, ref: Ref) -> str:
    instrumentation = str(step.fields.get("instrumentation") or "")
    if ref.state == "cut":
        return _COUNT if "missing_index" in ref.reason else LENGTH_FIX
    if "no_document_text" in ref.reason:
        return _DOCUMENTS
    if step.fields.get("operation") == "embeddings" and step.dialect in _WITHOUT_EMBEDDINGS:
        return _EMBEDDINGS
    switch = content_switch(instrumentation, name)
    return _UPLOAD + switch if ref.state == "external" else switch


def _scalar_gap(step: Step, wanted: Field) -> Iterator[Gap]:
    if wanted.name == "model":
        asked = step.fields.get("model_requested")
        known = isinstance(asked, str) and asked
        alias = f"only the model that was asked for is known ({asked!r})" if known else "no model is named"
        if step.error is None and step.status != "interrupted":
            yield Gap(step.seq, "model", wanted.needed_for, f"model_alias: {alias}", _ALIAS)
        return
    fix = f"set {wanted.name} on the span, or wrap the call with runreel.record"
    yield Gap(step.seq, wanted.name, wanted.needed_for, f"absent: the span has no {wanted.name}", fix)


def _run_gaps(run: Run) -> Iterator[Gap]:
    if not any(step.kind in _BOUNDARIES and step.shadowed_by is None for step in run.steps):
        cause = "no_calls: there is no model, tool or retrieval step"
        fix = "instrument the model client: without its spans there is nothing to replay"
        yield Gap(None, "steps", "frozen", cause, fix)
    yield from _no_model_calls(run)
    missing = [(step, parent) for step in run.steps if isinstance(parent := step.fields.get("missing_parent"), str)]
    for step, parent in missing:
        needed: NeededFor = "frozen" if step.kind == "tool" and step.fields.get("asked_by") is None else "diagnose"
        cause = f"missing_parent: span {parent}, above this step, never arrived"
        yield Gap(step.seq, "parent", needed, cause, _FLUSH)
    for step in run.steps:
        own = step.fields.get("replay")
        if isinstance(own, Mapping) and isinstance(lost := own.get("recorder.losses"), str):
            yield Gap(step.seq, "recorder", "diagnose", f"recorder_losses: {lost}", _LOSSES)
    for step in run.steps:
        own = step.fields.get("replay")
        hosts = own.get("run.bypassed") if isinstance(own, Mapping) else None
        for host in hosts if isinstance(hosts, tuple) else ():
            yield Gap(step.seq, "boundary", "diagnose", f"bypassed_boundary({host!s})", _BYPASSED)
    if run.open:
        yield Gap(None, "root", "diagnose", "open: the run has not ended yet", "wait until it has, then look again")
    if not _text(run.versions, "code_version"):
        yield Gap(None, "code_version", "diagnose", "absent: no commit is named", CODE_FIX)


def _no_model_calls(run: Run) -> Iterator[Gap]:
    """Yield the model calls that tool calls must have come from. Some frameworks' instrumentations are known to leave
    model spans to another one: there the calls are missing for sure, else the tools may be called by plain code."""
    kinds = {step.kind for step in run.steps if step.shadowed_by is None}
    if "tool" in kinds and "llm" not in kinds:
        wrote = dict.fromkeys(str(step.fields.get("instrumentation") or "") for step in run.steps)
        known = next((fix for one in wrote if (fix := model_switch(one))), "")
        needed: NeededFor = "frozen" if known else "diagnose"
        cause = "no_model_calls: there are tool calls and no model call"
        fix = "if the agent uses a model, instrument the model client too: some agent frameworks leave that to it"
        yield Gap(None, "model_call", needed, cause, known or fix)


def _text(values: Mapping[str, Value], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""
