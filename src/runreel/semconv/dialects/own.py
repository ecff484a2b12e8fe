"""The attributes of our own, `replay.*`: asked before any dialect, since whoever set them meant them."""

from runreel.semconv import keys
from runreel.semconv.dialect import Dialect, Source, arguments_source, result_source
from runreel.semconv.view import View
from runreel.values import Kind

_KINDS: dict[str, Kind] = {
    "agent": "agent",
    "llm": "llm",
    "tool": "tool",
    "retrieval": "retrieval",
    "decision": "decision",
    "memory": "memory",
}


def _claims(_: View) -> bool:
    return False


def _kind(view: View) -> tuple[Kind, str] | None:
    kind = _KINDS.get(view.text(keys.STEP_KIND))
    if kind is not None:
        return kind, keys.STEP_KIND
    if keys.DECISION_CHOSEN in view.span.attributes:
        return "decision", keys.DECISION_CHOSEN
    if keys.MEMORY_OP in view.span.attributes:
        return "memory", keys.MEMORY_OP
    return None


DIALECT = Dialect(
    name="replay",
    title="Own attributes",
    claims=_claims,
    kind=_kind,
    scalars={
        "step.order": (keys.SEQ,),
        "llm.params.extra": (keys.LLM_REQUEST_EXTRA,),
        "llm.prompt_name": (keys.PROMPT_ID,),
        "llm.prompt_version": (keys.PROMPT_VERSION,),
        "tool.version": (keys.TOOL_VERSION,),
        "tool.side_effect": (keys.TOOL_SIDE_EFFECT,),
        "tool.mode": (keys.TOOL_MODE,),
        "tool.args_hash": (keys.TOOL_ARGS_HASH,),
        "tool.contract.decision": (keys.TOOL_CONTRACT_DECISION,),
        "tool.contract.id": (keys.TOOL_CONTRACT_ID,),
        "tool.contract.reason": (keys.TOOL_CONTRACT_REASON,),
        "tool.contract.coerced_arguments": (keys.TOOL_CONTRACT_ARGUMENTS,),
        "retrieval.index_name": (keys.INDEX_NAME,),
        "retrieval.index_version": (keys.INDEX_VERSION,),
        "retrieval.filters": (keys.RETRIEVAL_FILTERS,),
        "decision.type": (keys.DECISION_TYPE,),
        "decision.options": (keys.DECISION_OPTIONS,),
        "decision.reason": (keys.DECISION_REASON,),
        "memory.name": (keys.MEMORY_STORE,),
        "memory.op": (keys.MEMORY_OP,),
        "memory.store": (keys.MEMORY_STORE,),
        "memory.key": (keys.MEMORY_KEY,),
        "run.run_id": (keys.RUN_ID,),
        "run.parent_run_id": (keys.RUN_PARENT_ID, "parent_run_id"),
        "run.parent_relation": (keys.RUN_PARENT_RELATION,),
        "run.replay_of": (keys.OF_RUN,),
        "run.agent_id": (keys.AGENT_ID,),
        "run.agent_version": (keys.AGENT_VERSION,),
        "run.code_version": (keys.CODE_VERSION,),
        "run.entry": (keys.AGENT_ENTRY,),
        "run.seed": (keys.RUN_SEED,),
        "run.user_ref": (keys.USER_REF,),
        "run.outcome": (keys.RUN_OUTCOME,),
    },
    contents={
        "decision.output": Source((keys.DECISION_CHOSEN,)),
        "memory.input": arguments_source(keys.MEMORY_INPUT),
        "memory.output": result_source(keys.MEMORY_OUTPUT),
        "run.user_input": Source((keys.RUN_USER_INPUT,)),
        "run.final_output": Source((keys.RUN_FINAL_OUTPUT,)),
    },
)
