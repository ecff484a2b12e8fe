"""Writes the JSON Schema of a run document from the registry: `python -m runreel.runs.schema > docs/run.schema.json`.

A run document is what `runs show --json` prints and the read API answers. The shape around the steps is that of
`document.py`; what a step of each kind may hold is the registry's.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any, get_args

from runreel.semconv.registry import KINDS, Field, FieldType, fields_of
from runreel.values import NeededFor, Outcome, RefState, Replayable

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_TIME: Schema = {"type": ["string", "null"], "format": "date-time", "description": "Nanoseconds kept, UTC."}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_RANGES: Schema = {
    "type": "array",
    "items": {"type": "array", "items": _COUNT, "minItems": 2, "maxItems": 2},  # first and last of each range
}
_MAP: Schema = {"type": "object"}
_REF: Schema = {"$ref": "#/$defs/ref"}
_PLACE: Schema = {"type": ["integer", "null"], "minimum": 0}
_TYPES: Mapping[FieldType, Schema] = {
    "text": {"type": ["string", "null"]},
    "integer": {"type": ["integer", "null"]},
    "number": {"type": ["number", "string", "null"]},  # NaN and infinities are strings
    "boolean": {"type": ["boolean", "null"]},
    "texts": {"type": ["array", "null"], "items": {"type": ["string", "null"]}},
}


def render() -> str:
    """Return the schema as JSON text."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def schema() -> Schema:
    """Return the schema."""
    steps = [kind for kind in KINDS if kind not in ("step", "run")]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "RunReel run",
        "description": "One run as `runreel runs show --json` prints it and the read API answers it.",
        **_object(_run()),
        "$defs": {
            "ref": _object(
                {
                    "ref": {"type": ["string", "null"], "pattern": "^sha256:[0-9a-f]{64}$"},
                    "size": _COUNT,
                    "state": {"enum": list(get_args(RefState))},
                    "reason": _TEXT,
                },
                "Address of a content value: SHA-256 over its canonical form (rr-json-1).",
            ),
            "gap": _object(
                {
                    "step": _PLACE,
                    "field": _TEXT,
                    "needed_for": {"enum": list(get_args(NeededFor))},
                    "cause": _TEXT,
                    "fix": _TEXT,
                },
                "Something that the run lacks, and what to do about it.",
            ),
            "replay_result": _replay_result(),
            "usage": _object(
                {"model": _TEXT, **dict.fromkeys(("calls", "input_tokens", "output_tokens"), _COUNT)},
                "What one model was used for: calls counted once, and the known tokens. Input includes cache.",
            ),
            **{f"step_{kind}": _step(kind) for kind in steps},
        },
    }


def _run() -> dict[str, Schema]:
    steps = [kind for kind in KINDS if kind not in ("step", "run")]
    said = {"type": "array", "items": _MAP}
    return {
        **{name: _said("run", name, _TEXT) for name in ("run_id", "agent_id", "env")},
        "tenant": _TEXT,
        "revision": {**_TEXT, "description": "Names the facts that the run was put together from."},
        "trace_ids": {"type": "array", "items": {"type": "string", "pattern": "^[0-9a-f]{32}$"}},
        "started_at": _TIME,
        "ended_at": _TIME,
        "started_ns": _COUNT,
        "ended_ns": _COUNT,
        "outcome": {"enum": list(get_args(Outcome))},
        "open": {"type": "boolean"},
        **dict.fromkeys(("model_calls", "tool_calls", "retrievals"), _COUNT),
        "tools": _TEXTS,
        "replay_result": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/replay_result"}]},
        "usage": {"type": "array", "items": {"$ref": "#/$defs/usage"}},
        "replayable": {"enum": list(get_args(Replayable))},
        **{
            name: _said("run", name, {"type": ["string", "null"]})
            for name in ("parent_run_id", "parent_relation", "replay_of", "user_ref", "conversation_id")
        },
        **dict.fromkeys(("versions", "prompt_versions", "service", "flags"), _MAP),
        "user_input": _said("run", "user_input", _REF),
        "final_output": _said("run", "final_output", _REF),
        "steps": {"type": "array", "items": {"anyOf": [{"$ref": f"#/$defs/step_{kind}"} for kind in steps]}},
        "gaps": {"type": "array", "items": {"$ref": "#/$defs/gap"}},
        "notes": _TEXTS,
        "scores": said,
        "flagged": said,
        "payloads": {**_MAP, "description": "With `--payloads`: every content value by its hash."},
        "replays": {"type": "array", "items": _replay(), "description": "Where a store is asked: its last replays."},
    }


def _replay() -> Schema:
    result = {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/replay_result"}]}
    return _object({"run_id": _TEXT, "started_at": _TIME, "replay_result": result})


def _replay_result() -> Schema:
    first = {"type": ["object", "null"], "description": "type and, where they are known, step, kind, name and path."}
    fields = {"mode": _TEXT, "verdict": _TEXT, "divergences": _COUNT, "first_divergence": first}
    return _object(fields, "On a replay: what it came to.")


def _step(kind: str) -> Schema:
    error = _object({"type": _TEXT, "message": _TEXT, "stack": _TEXT})
    span = _object({"trace_id": _TEXT, "span_id": _TEXT})
    return _object(
        {
            "seq": _COUNT,
            "kind": {"const": kind},
            "name": _TEXT,
            "status": {"enum": ["ok", "error", "interrupted"]},
            "call_id": _TEXT,
            "parent": _PLACE,
            "after": {**_RANGES, "description": "The steps whose answers it could have seen."},
            "started_at": _TIME,
            "ended_at": _TIME,
            "start_ns": _COUNT,
            "end_ns": _COUNT,
            "refs": _object({"input": _REF, "output": _REF}),
            "error": {"anyOf": [{"type": "null"}, error]},
            "fields": _fields(kind),
            "dialect": _TEXT,
            "shadowed_by": _PLACE,
            "synthesised": {"type": "boolean"},
            "spans": {"type": "array", "items": span},
        }
    )


def _fields(kind: str) -> Schema:
    """Return what a step's `fields` may hold. Others may stand beside them: of a dialect, or of a later version."""
    properties: dict[str, Schema] = {}
    for one in (*fields_of("step"), *fields_of(kind)):
        if one.payload or one.name in ("name", "call_id"):
            continue
        group, _, member = one.name.partition(".")
        if member:
            holder = properties.setdefault(group, {"type": ["object", "null"], "properties": {}})
            holder["properties"][member] = _typed(one)
        else:
            properties[one.name] = _typed(one)
    return {"type": "object", "properties": dict(sorted(properties.items()))}


def _typed(field: Field) -> Schema:
    return {**_TYPES.get(field.type, {}), "description": field.doc}


def _said(kind: str, name: str, schema: Schema) -> Schema:
    doc = next((one.doc for one in fields_of(kind) if one.name == name), None)
    return {**schema, "description": doc} if doc else schema


def _object(properties: Mapping[str, Schema], description: str = "") -> Schema:
    required = [name for name in properties if name not in ("payloads", "replays")]
    out: Schema = {"type": "object", "properties": dict(properties), "required": required}
    return {**out, "description": description} if description else out


if __name__ == "__main__":
    sys.stdout.write(render())
