"""Carries a sender's value limit from where it shows to where it does not.

A cut message value is plainly no JSON; a cut tool result may be anything. Where a run holds cut messages, a result
that starts as JSON and is none to its end was cut by the same limit. Alone it proves nothing: tools return such text.
"""

from collections.abc import Sequence
from dataclasses import replace

from runreel.runs.draft import Draft
from runreel.semconv.view import Found, Memo, looks_like_json

_NOT_JSON = "not_json: "


def spread_cuts(drafts: Sequence[Draft], memo: Memo) -> None:
    """Mark results as cut that share the fate of the run's messages."""
    if not any(found.reason.startswith(_NOT_JSON) for one in drafts for found in (one.input, one.output)):
        return
    for one in drafts:
        if one.kind != "llm" and _suspect(one.output, memo):
            reason = _NOT_JSON + "the text starts as JSON and is none to its end, as other values of this run"
            one.output = replace(one.output, state="cut", reason=reason)


def _suspect(found: Found, memo: Memo) -> bool:
    text = found.value
    return found.state == "whole" and isinstance(text, str) and looks_like_json(text) and not memo.parse(text)[0]
