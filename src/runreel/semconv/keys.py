"""The attributes of our own that say what the conventions cannot, and the few standard names that many parts use.

All of ours stand under one prefix, on spans, resources or span links. Any sender may set them by hand.
"""

from typing import Final

PREFIX: Final = "replay."

# the run
RUN_ID: Final = "replay.run.id"
ROOT_RUN_IDS: Final = ("gen_ai.agent.call.id",)  # not ours: a framework's own id of a run, where its root span has it
RUN_PARENT_ID: Final = "replay.run.parent_id"
RUN_PARENT_RELATION: Final = "replay.run.parent_relation"  # sub_agent, handoff, retry
RUN_OUTCOME: Final = "replay.run.outcome"  # ok, error, aborted, user_flagged
RUN_USER_INPUT: Final = "replay.run.user_input"
RUN_FINAL_OUTPUT: Final = "replay.run.final_output"
RUN_SEED: Final = "replay.run.seed"
OF_RUN: Final = "replay.of_run"  # on a replay: the run that it replays
AGENT_ID: Final = "replay.agent.id"
AGENT_VERSION: Final = "replay.agent.version"
AGENT_ENTRY: Final = "replay.agent.entry"  # module:callable, or the path of a script
CODE_VERSION: Final = "replay.code.version"
USER_REF: Final = "replay.user.ref"
FLAG_PREFIX: Final = "replay.flag."  # replay.flag.<key>: the value a feature flag had
FLAG_EVENT: Final = "replay.run.flag"  # a log event: somebody was not content with the run
FLAG_REASON: Final = "replay.run.flag.reason"  # on such an event: why
RESULT_EVENT: Final = "replay.run.replayed"  # a log event: what a replay came to
REPLAY_MODE: Final = "replay.run.mode"  # on such an event: frozen
REPLAY_VERDICT: Final = "replay.run.verdict"  # on such an event: same, diverged, not_comparable
REPLAY_DIVERGENCES: Final = "replay.run.divergences"  # on such an event: how many
FIRST_TYPE: Final = "replay.run.divergence.type"  # on such an event: the first of them, and where it is
FIRST_STEP: Final = "replay.run.divergence.step"
FIRST_KIND: Final = "replay.run.divergence.kind"
FIRST_NAME: Final = "replay.run.divergence.name"
FIRST_PATH: Final = "replay.run.divergence.path"
LINK_KIND: Final = "replay.link.kind"  # on a span link: how this run follows from the linked one

# any step
STEP_KIND: Final = "replay.kind"  # agent, llm, tool, retrieval, decision or memory: overrides what we would find
SEQ: Final = "replay.seq"  # breaks ties between equal times

# tools and retrievers of the recorder: what the conventions' text does not say about what was returned
RESULT_TYPE: Final = "replay.result.type"  # json: the result's text is the JSON of a value; text: it is the value
RESULT_VALUE: Final = "replay.result.value"  # the value as typed JSON, where it is not what the conventions carry
UNRECORDED: Final = "replay.unrecorded"  # what could not be recorded, as texts `field: type`
ERROR_ARGUMENTS: Final = "replay.error.arguments"  # typed JSON: what a failed call's exception was made with
BYPASSED: Final = "replay.run.bypassed"  # hosts that were connected to outside of any boundary
RECORDER_LOSSES: Final = "replay.recorder.losses"  # what the recorder says that it could not do
SENSITIVE: Final = "replay.sensitive"  # JSON pointers into arguments and result: these values are sensitive
SENSITIVE_TOOLS: Final = (
    "replay.sensitive.tools"  # the same of an agent's tools, as texts `tool pointer`, on every span
)

# model calls
LLM_REQUEST_EXTRA: Final = "replay.llm.request.extra"  # JSON object: request parameters the conventions lack
PROMPT_ID: Final = "replay.prompt.id"
PROMPT_VERSION: Final = "replay.prompt.version"

# tools
TOOL_VERSION: Final = "replay.tool.version"
TOOL_SIDE_EFFECT: Final = "replay.tool.side_effect"
TOOL_MODE: Final = "replay.tool.mode"  # live or shadow
TOOL_ARGS_HASH: Final = "replay.tool.args_hash"
TOOL_CONTRACT_DECISION: Final = "replay.tool.contract.decision"  # admit, reject or coerce
TOOL_CONTRACT_ID: Final = "replay.tool.contract.id"
TOOL_CONTRACT_REASON: Final = "replay.tool.contract.reason"
TOOL_CONTRACT_ARGUMENTS: Final = "replay.tool.contract.coerced_arguments"

# retrieval
INDEX_NAME: Final = "replay.retrieval.index.name"
INDEX_VERSION: Final = "replay.retrieval.index.version"
RETRIEVAL_FILTERS: Final = "replay.retrieval.filters"

# decisions and memory
DECISION_TYPE: Final = "replay.decision.type"  # route, handoff, tool_choice, retry, give_up, escalate
DECISION_CHOSEN: Final = "replay.decision.chosen"
DECISION_OPTIONS: Final = "replay.decision.options"
DECISION_REASON: Final = "replay.decision.reason"
MEMORY_OP: Final = "replay.memory.op"
MEMORY_STORE: Final = "replay.memory.store"
MEMORY_KEY: Final = "replay.memory.key"
MEMORY_INPUT: Final = "replay.memory.input"  # typed JSON: the arguments of the read or write, by name
MEMORY_OUTPUT: Final = "replay.memory.output"  # what came of it, as `replay.result.type` says
