"""The record's fields: the one place that says what they are, which are needed, and for what.

Dialects say where a field is found (`dialects/`), `reading` takes it from there, `runs.verdict` names what is missing,
`docs/record.md` is written from here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from runreel.semconv import keys
from runreel.values import NeededFor

Requirement = Literal["required", "recommended", "optional"]
FieldType = Literal[
    "text", "integer", "number", "boolean", "texts", "json", "messages", "definitions", "value", "documents"
]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the record.

    `kind` is the step's kind, `step` for every kind, `run` for the run. `payload` fields are content and stand behind
    a ref; `sensitive` ones may hold personal data. A `derived` field has no attribute: it is worked out.
    """

    kind: str
    name: str
    type: FieldType
    doc: str
    requirement: Requirement = "optional"
    needed_for: NeededFor = "diagnose"
    payload: bool = False
    sensitive: bool = False
    derived: bool = False

    @property
    def key(self) -> str:
        """The field's name in dialect tables: `llm.model`, `run.user_ref`."""
        return f"{self.kind}.{self.name}"


def _content(
    kind: str,
    name: str,
    type_: FieldType,
    doc: str,
    requirement: Requirement = "required",
    needed_for: NeededFor = "frozen",
) -> Field:
    return Field(kind, name, type_, doc, requirement, needed_for, payload=True, sensitive=True)


def _derived(kind: str, name: str, type_: FieldType, doc: str) -> Field:
    return Field(kind, name, type_, doc, derived=True)


_STEP = (
    _derived("step", "instrumentation", "text", "Name and version of the scope that wrote the span."),
    _derived("step", "dropped_attributes", "integer", "How many attributes the sender says it left out."),
    _derived("step", "missing_parent", "text", "Span id of a parent that never arrived."),
    _derived("step", "marks", "texts", "What was noticed about the span when it was taken in."),
    _derived("step", "process", "json", "The process it happened in, where that is another one than the run's."),
    _derived("step", "unknown", "texts", "What of the span is not known here, kept as it came: `part hologram`."),
    _derived("step", "replay", "json", "Any other `replay.*` attribute, by its name without the prefix."),
    Field("step", "order", "integer", "The sender's own sequence number; breaks ties between equal times."),
)

_AGENT = (
    Field("agent", "name", "text", "Name of the agent, workflow or chain.", "recommended"),
    _content("agent", "input", "value", "What the agent was given.", "optional", "diagnose"),
    _content("agent", "output", "value", "What the agent answered.", "optional", "diagnose"),
)

_LLM = (
    _content("llm", "input", "messages", "The messages as sent, system instructions first."),
    _content("llm", "output", "messages", "The messages as answered, each with its finish reason."),
    Field(
        "llm",
        "tool_definitions",
        "definitions",
        "The tools as shown to the model: type, name, description, parameters.",
        "recommended",
        "live",
        payload=True,
        sensitive=True,
    ),
    Field("llm", "model", "text", "The exact model that answered.", "required", "live"),
    Field("llm", "model_requested", "text", "The model that was asked for.", "recommended", "live"),
    Field("llm", "provider", "text", "Who serves the model, by its name in the conventions.", "recommended", "live"),
    Field("llm", "operation", "text", "chat, text_completion, generate_content, embeddings and the like."),
    Field("llm", "params.temperature", "number", "Sampling temperature.", "optional", "live"),
    Field("llm", "params.top_p", "number", "Nucleus sampling.", "optional", "live"),
    Field("llm", "params.top_k", "number", "Sampling from the k most likely.", "optional", "live"),
    Field("llm", "params.max_tokens", "integer", "Most tokens to answer with.", "optional", "live"),
    Field("llm", "params.seed", "integer", "The model's sampling seed.", "optional", "live"),
    Field("llm", "params.stop", "texts", "Stop sequences.", "optional", "live"),
    Field("llm", "params.frequency_penalty", "number", "Penalty on frequent tokens.", "optional", "live"),
    Field("llm", "params.presence_penalty", "number", "Penalty on tokens that occurred.", "optional", "live"),
    Field("llm", "params.n", "integer", "How many answers were asked for.", "optional", "live"),
    Field("llm", "params.reasoning_level", "text", "Reasoning effort.", "optional", "live"),
    Field("llm", "params.output_type", "text", "text, json, image or speech.", "optional", "live"),
    Field("llm", "params.tool_choice", "json", "Which tools the model may or must call.", "optional", "live"),
    Field("llm", "params.service_tier", "text", "Service tier that was asked for.", "optional", "live"),
    Field(
        "llm", "params.extra", "json", "Any other request parameter; merged into `params` by name.", "optional", "live"
    ),
    Field("llm", "usage.input_tokens", "integer", "Tokens read, cached ones included."),
    Field("llm", "usage.output_tokens", "integer", "Tokens written, reasoning included."),
    Field("llm", "usage.cache_read", "integer", "Of the tokens read: from the cache."),
    Field("llm", "usage.cache_write", "integer", "Of the tokens read: written to the cache."),
    Field("llm", "usage.reasoning", "integer", "Of the tokens written: reasoning."),
    Field("llm", "finish_reasons", "texts", "The provider's own words, one an answer."),
    Field("llm", "response_id", "text", "The provider's id of the answer."),
    Field("llm", "system_fingerprint", "text", "The provider's fingerprint of what answered."),
    Field("llm", "service_tier", "text", "Service tier that answered."),
    Field("llm", "created", "integer", "The answer's own time stamp, seconds."),
    Field("llm", "stream", "boolean", "The answer was streamed."),
    Field("llm", "time_to_first_chunk", "number", "Seconds until the first chunk."),
    Field("llm", "server_address", "text", "Host that was called."),
    Field("llm", "server_port", "integer", "Port that was called."),
    Field("llm", "prompt_name", "text", "Name of the prompt template."),
    Field("llm", "prompt_version", "text", "Version of the prompt template."),
    Field(
        "llm",
        "previous_response_id",
        "text",
        "The answer that this request continues at the provider.",
        "optional",
        "live",
    ),
    Field(
        "llm",
        "response_raw",
        "json",
        "Ref of the provider's own answer, where the sender kept it.",
        payload=True,
        sensitive=True,
    ),
    _derived("llm", "interrupted", "boolean", "The stream was left before its end."),
    _derived(
        "llm",
        "decision",
        "json",
        "What the answer decided: `type` (tool_choice, handoff, retry, give_up) and, in `chosen`, the names it called.",
    ),
    _derived("llm", "tool_definitions_hash", "text", "Ref of the tool definitions as shown."),
    _derived(
        "llm", "tool_call_texts", "texts", "Arguments of each tool call in the answer, exactly as the model wrote them."
    ),
)

_TOOL = (
    Field("tool", "name", "text", "Name of the tool.", "required", "frozen"),
    Field("tool", "call_id", "text", "Id that the model gave the call.", "recommended"),
    _content("tool", "input", "value", "The arguments: an object where they are one, else the text as it was."),
    _content("tool", "output", "value", "The result as recorded; text stays text. Not needed where an error is."),
    Field("tool", "type", "text", "function, extension or datastore."),
    Field("tool", "description", "text", "What the tool says about itself."),
    Field("tool", "version", "text", "Version of the tool."),
    Field("tool", "side_effect", "boolean", "It changes the world; unknown counts as true."),
    Field("tool", "mode", "text", "live or shadow."),
    Field("tool", "args_hash", "text", "The sender's own hash of the arguments."),
    Field("tool", "contract.decision", "text", "admit, reject or coerce."),
    Field("tool", "contract.id", "text", "The contract that decided."),
    Field("tool", "contract.reason", "text", "Why."),
    Field("tool", "contract.coerced_arguments", "json", "The arguments as executed.", sensitive=True),
    _derived("tool", "arguments_text", "text", "The arguments exactly as recorded, where they were text."),
    _derived("tool", "pairing", "text", "How it was found which model call asked: call_id, inferred or ambiguous."),
    _derived("tool", "asked_by", "integer", "The step that asked for the call."),
    _derived("tool", "output_source", "text", "`next_model_call` where the result was read from the next request."),
    _derived("tool", "input_source", "text", "`model_call` where the arguments were read from the model's answer."),
)

_RETRIEVAL = (
    Field("retrieval", "name", "text", "Name of the retriever."),
    _content("retrieval", "input", "value", "The query."),
    _content("retrieval", "output", "documents", "The documents: id, score, content, and what else came."),
    Field("retrieval", "index_name", "text", "Index or data source.", "recommended"),
    Field("retrieval", "index_version", "text", "Version of the index.", "recommended"),
    Field("retrieval", "top_k", "integer", "How many documents were asked for."),
    Field("retrieval", "filters", "json", "Filters of the query.", sensitive=True),
)

_DECISION = (
    Field("decision", "name", "text", "Name of the decision."),
    Field("decision", "type", "text", "route, handoff, tool_choice, retry, give_up or escalate."),
    Field("decision", "options", "json", "What could have been chosen."),
    Field("decision", "reason", "text", "Why.", sensitive=True),
    _content("decision", "input", "value", "What the decision looked at.", "optional", "diagnose"),
    _content("decision", "output", "value", "What was chosen.", "recommended", "diagnose"),
)

_MEMORY = (
    Field("memory", "name", "text", "Name of the store, else of the operation."),
    Field("memory", "op", "text", "search, create, update, upsert or delete.", "required", "frozen"),
    Field("memory", "store", "text", "The memory store."),
    Field("memory", "key", "text", "The record.", sensitive=True),
    _content("memory", "input", "value", "The query, or what was written; the arguments by name.", "optional"),
    _content("memory", "output", "value", "The records.", "recommended"),
)

_RUN = (
    Field("run", "run_id", "text", "The run; the trace id where nobody says."),
    Field("run", "parent_run_id", "text", "The run that this one came from; a trace id where only that is known."),
    Field("run", "parent_relation", "text", "sub_agent, handoff or retry."),
    Field("run", "replay_of", "text", "On a replay: the run that it replays."),
    Field("run", "agent_id", "text", "Which agent."),
    Field("run", "agent_version", "text", "Version of the agent."),
    Field("run", "service_version", "text", "Version of the service."),
    Field("run", "code_version", "text", "Commit of the code.", "required", "diagnose"),
    _derived("run", "tool_definitions", "texts", "Refs of the tool definitions that its model calls were shown."),
    Field("run", "entry", "text", "Where the agent starts: `module:callable`, or a script."),
    Field("run", "seed", "integer", "Seed of the run's randomness."),
    Field("run", "env", "text", "Deployment environment."),
    Field("run", "conversation_id", "text", "The conversation that the run belongs to."),
    Field("run", "user_ref", "text", "The user, as a token.", sensitive=True),
    Field("run", "outcome", "text", "ok, error, aborted or user_flagged."),
    _content("run", "user_input", "value", "What the user asked, word for word.", "recommended"),
    _content("run", "final_output", "value", "What the run answered.", "optional", "diagnose"),
)

FIELDS: tuple[Field, ...] = (*_STEP, *_AGENT, *_LLM, *_TOOL, *_RETRIEVAL, *_DECISION, *_MEMORY, *_RUN)
BY_KEY: Mapping[str, Field] = {field.key: field for field in FIELDS}
KINDS: tuple[str, ...] = ("step", "agent", "llm", "tool", "retrieval", "decision", "memory", "run")


def fields_of(kind: str) -> Iterator[Field]:
    """Yield the fields of one kind, in the order of the record."""
    return (field for field in FIELDS if field.kind == kind)


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of ours. `values` are all that it may be; a `prefix` stands for any name that begins with it."""

    key: str
    type: FieldType
    doc: str
    values: tuple[str, ...] = ()
    note: str = ""
    prefix: bool = False


_JSON = "JSON text."
ATTRIBUTES: tuple[Attribute, ...] = (
    Attribute(keys.RUN_OUTCOME, "text", "How the run ended.", ("ok", "error", "aborted", "user_flagged")),
    Attribute(
        keys.RUN_PARENT_RELATION, "text", "How the run follows from its parent.", ("sub_agent", "handoff", "retry")
    ),
    Attribute(keys.LINK_KIND, "text", "On a span link: how this run follows from the linked one."),
    Attribute(keys.FLAG_REASON, "text", "On a flag: why somebody was not content with the run."),
    Attribute(keys.REPLAY_MODE, "text", "On a replay's result: what was recorded and what was live.", ("frozen",)),
    Attribute(
        keys.REPLAY_VERDICT,
        "text",
        "On a replay's result: whether it went the same way.",
        ("same", "diverged", "not_comparable"),
    ),
    Attribute(keys.REPLAY_DIVERGENCES, "integer", "On a replay's result: how many divergences it has."),
    Attribute(keys.FIRST_TYPE, "text", "On a replay's result: what sort of divergence the first one is."),
    Attribute(keys.FIRST_STEP, "integer", "On a replay's result: the recorded step at which it first diverged."),
    Attribute(keys.FIRST_KIND, "text", "On a replay's result: the kind of the call that diverged first."),
    Attribute(keys.FIRST_NAME, "text", "On a replay's result: the name of the call that diverged first."),
    Attribute(keys.FIRST_PATH, "text", "On a replay's result: the field that differs, as a JSON pointer."),
    Attribute(
        keys.FLAG_PREFIX.rstrip("."), "text", "The value that a feature flag had, by the flag's key.", prefix=True
    ),
    Attribute(
        keys.STEP_KIND,
        "text",
        "What the span is, whatever else it says of itself.",
        ("agent", "llm", "tool", "retrieval", "decision", "memory"),
    ),
    Attribute(
        keys.RESULT_TYPE, "text", "What a result's text is: the JSON of a value, or the value.", ("json", "text")
    ),
    Attribute(
        keys.RESULT_VALUE, "json", "The result as typed JSON, where the conventions' text does not say it.", (), _JSON
    ),
    Attribute(keys.UNRECORDED, "texts", "What could not be recorded, each as `field: type`."),
    Attribute(
        keys.SENSITIVE,
        "texts",
        "JSON pointers into arguments and result: the values there are sensitive. Each may have a class before it, as "
        "in `regulated:/customer`.",
    ),
    Attribute(
        keys.SENSITIVE_TOOLS,
        "texts",
        "The same of all tools that the process has, each as `tool pointer`: for the messages that quote their calls.",
    ),
    Attribute(keys.ERROR_ARGUMENTS, "json", "What the exception of a failed call was made with, a list.", (), _JSON),
    Attribute(keys.BYPASSED, "texts", "On a run: hosts that were connected to outside of any recorded call."),
    Attribute(keys.RECORDER_LOSSES, "text", "What the recorder says that it could not do."),
    Attribute(keys.TOOL_MODE, "text", "Whether the tool ran for real.", ("live", "shadow")),
    Attribute(keys.TOOL_CONTRACT_DECISION, "text", "What a contract said of the call.", ("admit", "reject", "coerce")),
    Attribute(
        keys.DECISION_TYPE,
        "text",
        "What sort of decision it was.",
        ("route", "handoff", "tool_choice", "retry", "give_up", "escalate"),
    ),
    Attribute(
        keys.MEMORY_OP, "text", "What was done to the memory.", ("search", "create", "update", "upsert", "delete")
    ),
)
"""Attributes of ours that carry no field of the record, and those with a closed list of values. All others have the
type and text of the field that they carry."""
