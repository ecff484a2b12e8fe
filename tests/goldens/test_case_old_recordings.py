"""Old recordings, new code: what changed since a golden was made is said as what it is, and never passed over."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest

from golden_tape import asked, judged
from otlp_build import ROOT, agent, call, llm, msg, req, tool
from runreel import otlp
from runreel.goldens.values import Golden
from runreel.replay import tape
from runreel.runs.assemble import assemble
from runreel.values import SplitBatch

V1 = {
    "type": "function",
    "name": "search",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
}
V2 = copy.deepcopy(V1)
V2["parameters"]["properties"]["limit"] = {"type": "integer", "default": 10}
V3 = V1 | {"description": "Search the web."}
OTHER = {"type": "function", "name": "fetch", "parameters": {"type": "object", "properties": {}}}


def golden(tools=(V1,), **attributes):
    about = {"gen_ai.tool.definitions": json.dumps(tools), "gen_ai.request.seed": 7, **attributes}
    spans = req(
        agent(**{"service.version": "git-aaa"}),
        llm(
            "00000000000000b1",
            ROOT,
            [msg("system", "prompt v1"), msg("user", "q")],
            [msg("assistant", call("search", {"q": "x"}))],
            **about,
        ),
        tool("00000000000000c1", ROOT, "search", {"q": "x"}, ["r1"], at=20),
    )
    run = assemble(otlp.decode("traces", spans.SerializeToString(), "protobuf", "default").spans)
    return Golden(Path("goldens/search"), run, SplitBatch("default"))


def frozen(value):
    """Return JSON as requests hold it."""
    if isinstance(value, dict):
        return {name: frozen(held) for name, held in value.items()}
    return tuple(map(frozen, value)) if isinstance(value, list | tuple) else value


def replayed(kept, *lines, arguments=None, defaults=None, **changes):
    """Judge the golden with an agent whose model request and tool arguments changed so."""
    model, search = tape.build(kept.run).entries
    request = search.request if arguments is None else arguments
    calls = [asked(model, **changes), replace(asked(search), request=request, defaults=defaults or {})]
    return judged(kept, [model, search], calls, *lines)


def test_an_argument_at_its_declared_default_is_the_same_call_and_any_other_is_not():
    kept = golden()

    assert replayed(kept, arguments={"q": "x", "limit": 10}, defaults={"limit": 10}).verdict == "passed"
    for arguments, defaults, path in (
        ({"q": "x", "limit": 10}, {}, "/limit"),  # nothing declares it
        ({"q": "x", "limit": 20}, {"limit": 10}, "/limit"),
        ({"q": "x", "debug": None}, {"limit": 10}, "/debug"),
    ):
        result = replayed(kept, arguments=arguments, defaults=defaults)
        assert (result.verdict, [(one.type, one.path) for one in result.findings]) == (
            "failed",
            [("input_mismatch", path)],
        )


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("prompt", {"messages": frozen([msg("system", "prompt v2"), msg("user", "q")])}),
        ("prompt", {"messages": frozen([msg("user", "q")])}),
        ("model", {"model": "gpt-4o-mini-2025-07-18"}),
        ("tools", {"tools": frozen([V2, OTHER])}),
        ("tools", {"tools": frozen([V3, OTHER])}),
        ("tools", {"tools": frozen([OTHER, V1])}),
        ("tools", {"tools": frozen([V1])}),
        ("parameters", {"params": {"temperature": 0.2, "seed": 7}}),
        ("parameters", {"params": {"temperature": 0.0, "seed": 8}}),
        ("parameters", {"params": {"temperature": 0.0}}),
    ],
)
def test_whatever_changed_in_what_the_model_is_asked_is_a_typed_difference_at_the_first_call_and_stale(what, changes):
    kept = golden([V1, OTHER])
    assert replayed(kept, "outcome is ok").verdict == "passed"

    result = replayed(kept, "outcome is ok", **changes)

    assert result.verdict == "stale"
    assert result.reason.startswith(f"the {what} changed")
    assert (result.findings[0].type, result.findings[0].kind, result.findings[0].recorded) == (
        "input_mismatch",
        "llm",
        tape.build(kept.run).entries[0].seq,
    )


def test_a_parameter_that_the_record_holds_is_compared_whatever_it_is():
    kept = golden()
    model, search = tape.build(kept.run).entries
    params = {"temperature": 0.0, "seed": 7, "tool_choice": {"name": "search"}}
    record = [replace(model, request=model.request | {"params": params}), search]

    same = judged(kept, record, [asked(model, params=params), asked(search)])
    other = judged(kept, record, [asked(model, params=params | {"tool_choice": "required"}), asked(search)])

    assert (same.verdict, other.verdict, other.findings[0].path) == ("passed", "stale", "/params/tool_choice")


def test_what_else_is_said_to_the_model_is_a_finding():
    result = replayed(golden(), messages=frozen([msg("system", "prompt v1"), msg("user", "another q")]))

    assert (result.verdict, result.findings[0].path) == ("failed", "/messages/1/parts/0/content")


def test_a_key_of_an_older_scheme_is_no_difference_since_what_was_asked_for_is_kept():
    kept = golden()
    model, search = tape.build(kept.run).entries
    old = replace(search, key="v0:deadbeef")

    assert judged(kept, [model, old], [asked(model), asked(search)]).verdict == "passed"


def test_an_agent_that_asks_for_less_or_more_than_it_did_is_no_pass():
    kept = golden()
    model, search = tape.build(kept.run).entries

    less = judged(kept, [model, search], [asked(model)])
    more = judged(kept, [model, search], [asked(model), asked(search), asked(search)])

    assert [(one.verdict, one.findings[0].type) for one in (less, more)] == [
        ("failed", "missing_call"),
        ("failed", "unrecorded_call"),
    ]
    assert judged(kept, [], []).reason.startswith("it compares nothing")
