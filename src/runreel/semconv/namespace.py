"""Writes our attributes as a registry in OpenTelemetry's own file format, for tools that read such files.

`python -m runreel.semconv.namespace > docs/replay-registry.yaml`. Types and texts are those of the record's fields;
which attribute carries which field is the own dialect's; attributes without a field stand in `registry.ATTRIBUTES`.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Final

from runreel.semconv import keys
from runreel.semconv.dialects import OWN
from runreel.semconv.registry import ATTRIBUTES, BY_KEY, Attribute, FieldType

_TYPES: Final[Mapping[FieldType, str]] = {
    "text": "string",
    "integer": "int",
    "number": "double",
    "boolean": "boolean",
    "texts": "string[]",
}
_GROUPS: Final = {
    "run": "The run: whose it is, where it came from, what was asked and answered.",
    "agent": "The agent that ran.",
    "code": "The code that ran.",
    "user": "The user, as a token.",
    "flag": "Feature flags that the run saw.",
    "link": "Links from one run to another.",
    "step": "Any step of a run.",
    "llm": "Model calls.",
    "prompt": "Prompt templates.",
    "tool": "Tool calls: what the conventions have no word for.",
    "retrieval": "Retrievals.",
    "decision": "Decisions of an agent.",
    "memory": "Reads and writes of a memory.",
}

_EVENTS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    keys.FLAG_EVENT: (
        "Somebody was not content with the run that replay.run.id names.",
        {keys.RUN_ID: "required", keys.FLAG_REASON: "recommended"},
    ),
    keys.RESULT_EVENT: (
        "What the replay came to that replay.run.id names.",
        {
            **dict.fromkeys((keys.RUN_ID, keys.OF_RUN, keys.REPLAY_MODE, keys.REPLAY_VERDICT), "required"),
            keys.REPLAY_DIVERGENCES: "required",
            **dict.fromkeys(
                (keys.FIRST_TYPE, keys.FIRST_STEP, keys.FIRST_KIND, keys.FIRST_NAME, keys.FIRST_PATH), "recommended"
            ),
        },
    ),
}

# The format wants an example of every text.
EXAMPLES: Final[Mapping[str, str]] = {
    keys.RUN_ID: "run-2026-11-29-7f3a",
    keys.RUN_PARENT_ID: "run-2026-11-29-01c2",
    keys.OF_RUN: "run-2026-11-28-9b10",
    keys.RUN_USER_INPUT: "Where is my order A-1?",
    keys.RUN_FINAL_OUTPUT: "It left on Tuesday.",
    keys.FLAG_REASON: "It named the wrong day.",
    keys.FIRST_TYPE: "input_mismatch",
    keys.FIRST_KIND: "tool",
    keys.FIRST_NAME: "search",
    keys.FIRST_PATH: "/query",
    keys.AGENT_ID: "billing",
    keys.AGENT_VERSION: "7",
    keys.AGENT_ENTRY: "billing.agent:main",
    keys.CODE_VERSION: "9c41e7d",
    keys.USER_REF: "u-812",
    keys.FLAG_PREFIX.rstrip("."): "on",
    keys.LINK_KIND: "handoff",
    keys.RESULT_VALUE: '{"cents":4900}',
    keys.UNRECORDED: "result: Cursor",
    keys.SENSITIVE: "/customer/iban",
    keys.SENSITIVE_TOOLS: "refund /customer/iban",
    keys.ERROR_ARGUMENTS: "[7,5]",
    keys.BYPASSED: "api.example.org",
    keys.RECORDER_LOSSES: "2 results of type Cursor were not recorded",
    keys.LLM_REQUEST_EXTRA: '{"tool_choice":"auto"}',
    keys.PROMPT_ID: "planner",
    keys.PROMPT_VERSION: "v7",
    keys.TOOL_VERSION: "3",
    keys.TOOL_ARGS_HASH: "sha256:0f3c",
    keys.TOOL_CONTRACT_ID: "refunds",
    keys.TOOL_CONTRACT_REASON: "more than was paid",
    keys.TOOL_CONTRACT_ARGUMENTS: '{"cents":4900}',
    keys.INDEX_NAME: "kb",
    keys.INDEX_VERSION: "e5-2026-10",
    keys.RETRIEVAL_FILTERS: '{"lang":"en"}',
    keys.DECISION_CHOSEN: "refund",
    keys.DECISION_OPTIONS: '["refund","escalate"]',
    keys.DECISION_REASON: "the parcel is lost",
    keys.MEMORY_STORE: "preferences",
    keys.MEMORY_KEY: "u-812/language",
    keys.MEMORY_INPUT: '{"user":"u-812"}',
    keys.MEMORY_OUTPUT: '{"language":"en"}',
}


def attributes() -> list[Attribute]:
    """Return every attribute of ours, by name."""
    found = {one.key: one for one in ATTRIBUTES}
    for field, names in (*OWN.scalars.items(), *((field, one.keys) for field, one in OWN.contents.items())):
        for name in names:
            if name.startswith(keys.PREFIX) and name not in found:
                found[name] = Attribute(name, BY_KEY[field].type, BY_KEY[field].doc)
    return [found[name] for name in sorted(found)]


def render() -> str:
    """Return the registry as YAML text."""
    head = "# Written by `python -m runreel.semconv.namespace`; a test compares. Change semconv/registry.py instead.\n"
    return head + "\n".join(["groups:", *_lines()]) + "\n"


def _lines() -> Iterator[str]:
    groups: dict[str, list[Attribute]] = {name: [] for name in _GROUPS}
    for one in attributes():
        name = one.key.split(".")[1]
        groups[name if name in groups else "run" if one.key == keys.OF_RUN else "step"].append(one)
    for name, members in groups.items():
        yield f"  - id: registry.replay.{name}"
        yield "    type: attribute_group"
        yield f"    display_name: {_text(f'Replay {name} attributes')}"
        yield f"    brief: {_text(_GROUPS[name])}"
        yield "    attributes:"
        for one in members:
            yield from _attribute(one)
    for name, (brief, needed) in _EVENTS.items():
        yield f"  - id: event.{name}"
        yield "    type: event"
        yield f"    name: {name}"
        yield "    stability: development"
        yield f"    brief: {_text(brief)}"
        yield "    attributes:"
        for key, level in needed.items():
            yield f"      - ref: {key}"
            yield f"        requirement_level: {level}"


def _attribute(one: Attribute) -> Iterator[str]:
    yield f"      - id: {one.key}"
    if one.values:
        yield "        type:"
        yield "          members:"
        for value in one.values:
            yield f"            - id: {value}"
            yield f"              value: {_text(value)}"
            yield "              stability: development"
    else:
        yield f"        type: {_type(one)}"
    yield "        stability: development"
    yield f"        brief: {_text(one.doc)}"
    if (example := EXAMPLES.get(one.key)) is not None:
        yield f"        examples: [{json.dumps([example]) if one.type == 'texts' else _text(example)}]"
    if one.note:
        yield f"        note: {_text(one.note)}"


def _type(one: Attribute) -> str:
    # JSON travels as text; what is a template there is a prefix here.
    plain = _TYPES.get(one.type, "string")
    return f"template[{plain}]" if one.prefix else plain


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a JSON string is a YAML string


if __name__ == "__main__":
    sys.stdout.write(render())
