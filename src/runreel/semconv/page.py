"""Writes docs/record.md from the registry and the dialects: `python -m runreel.semconv.page > docs/record.md`."""

import sys
from collections.abc import Iterator

from runreel.semconv.dialect import Dialect
from runreel.semconv.dialects import DIALECTS, OWN
from runreel.semconv.registry import KINDS, Field, fields_of

_TITLES = {
    "step": "Every step",
    "agent": "agent",
    "llm": "llm: a model call",
    "tool": "tool: a tool call",
    "retrieval": "retrieval",
    "decision": "decision",
    "memory": "memory",
    "run": "The run",
}

_HEAD = """\
# The record

<!-- Written by `python -m runreel.semconv.page`; a test compares. Change src/runreel/semconv/registry.py instead. -->

What RunReel makes of an agent's spans: a **run** is a tree of **steps**, each of one kind. Span rows are stored as they
came and never change; the record is derived from them on every read, by `runs.assemble`.

Every sender's spelling of a field is listed beside it; the first one that says something wins. Attributes of our own
start with `replay.` and come first: set them by hand where the conventions have no word for a thing. Anything else that
starts with `replay.` is kept in the step's field `replay`.

- **need**: `required` fields are named as gaps where they are missing; the others are not.
- **for**: what a gap stands in the way of: `frozen` replay, `live` model replay, or only the `diagnosis` of a run.
- **content** stands behind a ref (`sha256:` over the canonical form of the redacted value, with its size and state:
  whole, withheld, cut, external, absent). **personal** fields may hold personal data and are redacted like all text.
- Members of `params`, `usage` and `contract` are gathered into one map of that name.
"""

_TAIL = """\
## Messages

A message is `{"role", "parts", "name"?, "finish_reason"?}`. Parts are `text` (`content`), `tool_call` (`id`, `name`,
`arguments`: the object where the model's text is one, else that text), `tool_call_response` (`id`, `response`),
`reasoning` (`content`), `blob` (`modality`, `mime_type`, `content` in base64), `uri` (`modality`, `uri`),
`embeddings` (`content`: a vector for each text); any other part is kept as it came. System instructions that came
apart stand first, as a message of role `system`.

A document is `{"id", "score", "content", "metadata", ...}`; a tool definition `{"type", "name", "description",
"parameters"}`; each key only where it came.

## Order and causes

Steps are ordered by start, then the longer first, then the sender's own number (`replay.seq`), then span id; but no
step comes before its cause. A step's causes are its parent; for a tool call the model call that asked for it; for a
model call the tool calls whose results its request holds. Causes outrank clocks: a child of another host may start
before its parent.

`after` lists the steps whose answers a step could have seen: those that ended before it started, its causes other than
its parents, and what these could have seen. Tool calls that one answer of a model asked for are not ordered among each
other, and neither is what happens inside them. Written out, it is a list of ranges, first and last step of each.

## Which model call asked for which tool call

By the id that the model gave; where a tool span has none, by name and equal arguments; else the next call of that name
(`pairing` says which: `call_id`, `inferred`, or `ambiguous` where several calls of one answer fit equally well). An
interrupted answer asked for nothing. Where no tool span exists, a tool step is made from the model's call and the next
request, which holds the result: it is marked `synthesised`, and its time is what lies between the two.

## What is not known here

A scope, an attribute, an operation, a part, a role or an event that nobody here has seen is never an error. A span is
read by what else it says: without an operation that is known, by the first telling key that it has (a tool's name, a
model, documents, messages, usage). What is new is kept as it came; a step lists it in `unknown` (`operation converse`,
`key gen_ai.request.mood`, `part hologram`, `role narrator`, `event gen_ai.mood.changed`, `schema` with its URL), as do
`runs show` and `runreel doctor`, and `runreel_unusual_items` counts it by its sort. Spans that look like steps and are
none known here are said in the run's notes.

## Copies

Equal copies of a span are one. A copy that another one contains, such as a span exported at its start and again at its
end, gives way to it. Different spans under one id are both stored; the one that started first is read, and the run's
notes count the clash. Of two nested model spans for one model call the inner one stands, since it is nearest to the
wire; of two nested tool spans for one tool call the outer one, since that is what the agent called. The other one is
kept and marked `shadowed_by`.

A model span around several model calls is their sum and no call. A model span directly around another one, where one
of the two has neither usage nor a response id, is the caller's view of that call.

## One run in several traces

A run is one trace, or all traces whose spans name the same `replay.run.id`. Two instrumentations that do not share a
context tear a run apart: the client's calls become traces of their own. Such a trace, which has model calls and no
other steps, belongs to another run if each of its calls lies within the time of one of that run's, came from the same
`service.instance.id` but another scope, and says the same: the same response id, or else the same answer to the same
last message. Of several such runs the closest takes it. A trace whose only step is `create_agent` is no run.

## Steps of other processes

A run in one trace may span processes: a sub-agent behind HTTP, MCP or a queue. Steps that happened in another process
than the run's root have a field `process`, with what their resource says it is (`service.name`, `service.instance.id`,
`host.name`, `process.pid`), and `runs show` says where. Processes are told apart by their pids, else by their
instances, else by their services. A model call that was made here and recorded again by a proxy is here. A sub-agent
with a trace of its own is a run of its own, which names its parent run and how it follows from it.

## Decisions

A span is a decision if it says so (`replay.decision.chosen`, the operations `plan`, `handoff`, `goto`, `decide`), if it
hands over to an agent of the run (`transfer_to_NAME`, `transfer_to_agent`, `handoff to NAME`: without that agent it is
a tool like any other), or if it does nothing but to name the step that comes next, or `__end__`. A decision is no
boundary: a replay lets the agent decide again. What an answer of a model decided stands in the step's field `decision`.
A call is a `retry` where the same tool failed before; an answer after nothing but failures is `give_up`.

## Scores and flags

`gen_ai.evaluation.result` events, on spans or as log events, are the run's `scores`: name, value, label, the step that
they stand on. Bad feedback of a user (a name with `feedback` or `thumb` in it, a label such as `bad`, or a value of 0
or below) makes the outcome of a run that looked well `user_flagged`. `runreel runs flag RUN` adds a log event
`replay.run.flag`; a person's flag counts always, and all of them are listed in `flagged`.

`docs/run.schema.json` is the JSON Schema of a run document, `docs/replay-registry.yaml` has the `replay.*` names in
OpenTelemetry's registry format. Both are written from the same registry as this page.

## Gaps

Each gap names step, field, cause, what it stands in the way of, and what to do. Causes start with one of these words.

| cause | meaning |
|---|---|
| `content_off` | the instrumentation does not send content |
| `placeholder`, `redaction_failed` | withheld: by the sender, or because it could not be redacted |
| `not_json`, `missing_index`, `said_truncated` | cut by the sender: no end, holes in indexed keys, a remark |
| `external` | the content was stored elsewhere, and the span only names the place |
| `empty` | an empty list where messages are wanted |
| `no_document_text` | documents without their text |
| `unrecorded` | the recorder met a value that has no recorded form |
| `dropped_attributes` | the sender says that it left attributes out |
| `missing_model_call` | a request or a tool step shows a model call that was not recorded |
| `missing_tool_call` | a model asked for a tool, and the instrumentation is known to leave tools out |
| `missing_parent` | the span above never arrived |
| `no_calls`, `no_model_calls` | nothing to answer from; tool calls without any model call |
| `model_alias` | the exact model is not known |
| `no_signature` | reasoning that its provider takes back with a signature only came without one |
| `ambiguous` | which of several equal tool calls this was is a guess |
| `absent` | a field is not there |
| `bypassed_boundary` | the run connected to this host outside of any recorded call |
| `open`, `recorder_losses` | the run has not ended; what the recorder says it lost |

A run is `full` where nothing is missing for a frozen replay, `none` where no model call could be answered (or, without
model calls, no step at all), else `partial`.
"""


def render() -> str:
    """Return the page."""
    tables = [f"## {_TITLES[kind]}\n\n{_table(kind)}" for kind in KINDS]
    return "\n".join([_HEAD, *tables, _dialects(), _switches(), _TAIL])


def _table(kind: str) -> str:
    lines = ["| field | type | need | for | found in |", "|---|---|---|---|---|"]
    lines += [_row(field) for field in fields_of(kind)]
    return "\n".join(lines) + "\n"


def _row(field: Field) -> str:
    marks = [word for word, on in (("content", field.payload), ("personal", field.sensitive)) if on]
    type_ = ", ".join([field.type, *marks])
    needed = "diagnosis" if field.needed_for == "diagnose" else field.needed_for
    return f"| `{field.name}`: {field.doc} | {type_} | {field.requirement} | {needed} | {_sources(field)} |"


def _sources(field: Field) -> str:
    found = [text for dialect in (OWN, *DIALECTS) if (text := _source(dialect, field))]
    return "<br>".join([*found, *(["derived"] if field.derived or not found else [])])


def _source(dialect: Dialect, field: Field) -> str:
    content = dialect.contents.get(field.key)
    keys = (
        *dialect.scalars.get(field.key, ()),
        *(content.keys if content is not None else ()),
        *dialect.coded.get(field.key, ()),
    )
    return f"{dialect.title}: {', '.join(f'`{key}`' for key in keys)}" if keys else ""


def _dialects() -> str:
    """Say of each way of writing spans whether real exports back what is said of it here."""
    lines = ["## Dialects", "", "In the order in which they are asked; what none of them claims is structure.", ""]
    lines += ["| name in a step's `dialect` | what writes it | backed by |", "|---|---|---|"]
    for one in DIALECTS[:-1]:
        backed = "real exports, kept as tests" if one.verified else "**unverified**: documentation and source only"
        lines.append(f"| `{one.name}` | {one.title} | {backed} |")
    return "\n".join(lines) + "\n"


def _switches() -> str:
    lines = ["## Switching content on", "", "| instrumentation | requests | answers |", "|---|---|---|"]
    lines += list(_switch_rows())
    return "\n".join(lines) + "\n"


def _switch_rows() -> Iterator[str]:
    for dialect in DIALECTS:
        for switch in dialect.switches:
            name = f"`{switch.scope}*`" if switch.scope else "spans written by hand"
            same = switch.inputs == switch.outputs
            yield f"| {name} | {switch.inputs} | {'the same' if same else switch.outputs} |"


if __name__ == "__main__":
    sys.stdout.write(render())
