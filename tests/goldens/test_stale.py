"""What of a changed model request makes a golden stale, and what does not."""

import pytest

from runreel.goldens.stale import changed, may_be_prompt
from runreel.replay.values import Divergence, Nearest, Replayed
from runreel.values import Ref, Run, Step

MESSAGES = (
    {"role": "system", "parts": ({"type": "text", "content": "prompt v1"},)},
    {"role": "user", "parts": ({"type": "text", "content": "q"},)},
)
REF = Ref("a" * 64, 1, "whole")
STEP = Step(1, (), None, "llm", "m", input=REF)
RUN = Run("default", "r", "", (), "agent", steps=(STEP,), payloads={REF.sha256: MESSAGES})


def found(path, kind="llm", type_="input_mismatch", **rest):
    return Divergence(type_, kind=kind, name="m", recorded=1, path=path, **rest)


def told(divergence, via="wire openai.chat"):
    return changed(divergence, RUN, Replayed("r", "frozen", "diverged", coverage={1: via}))


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/model", "model"),
        ("/tools/0/name", "tools"),
        ("/tools/0/description", "tools"),
        ("/params/temperature", "parameters"),
        ("/params/tool_choice", "parameters"),
        ("/messages/0/parts/0/content", "prompt"),
        ("/messages/1/parts/0/content", ""),
        ("/messages/7", ""),
        ("", ""),
    ],
)
def test_prompt_tools_model_and_parameters_make_a_golden_stale(path, what):
    assert told(found(path)) == what


def test_a_message_of_the_system_more_or_less_is_another_prompt():
    assert told(found("/messages/1/role", was="user", now="system")) == "prompt"
    assert told(found("/messages/2", now=MESSAGES[0])) == "prompt"
    assert told(found("/messages/2", now=MESSAGES[1])) == ""


def test_a_request_that_stands_for_no_recorded_one_is_told_by_the_nearest():
    near = Nearest(1, "llm", "m", "/tools/0/name", 0.9)
    never = Replayed("r", "frozen", "diverged")

    assert changed(found("", type_="unrecorded_call", nearest=(near,)), RUN, never) == "tools"
    assert told(found("", type_="unrecorded_call")) == ""
    again = Nearest(1, "llm", "m", "/tools/0/name", 0.9, answered=True)
    assert told(found("", type_="unrecorded_call", nearest=(again,))) == ""


def test_a_call_beside_those_that_were_recorded_is_no_changed_prompt():
    near = (Nearest(1, "llm", "m", "/messages/0/parts/0/content", 0.9),)
    beside = found("", type_="unrecorded_call", nearest=near)

    assert changed(beside, RUN, Replayed("r", "frozen", "diverged", coverage={})) == "prompt"
    assert changed(beside, RUN, Replayed("r", "frozen", "diverged", coverage={1: "wire openai.chat"})) == ""


def test_what_is_no_model_call_never_makes_a_golden_stale():
    assert told(found("/model", kind="tool")) == ""
    assert told(found("/model", type_="order_mismatch")) == ""


def test_messages_are_counted_in_the_turns_of_the_protocol():
    assert told(found("/messages/0/parts/0/content"), via="wire anthropic.messages") == "prompt"


@pytest.mark.parametrize(
    ("divergence", "may"),
    [
        (found("/messages/1/parts/0/content"), True),
        (found("/messages/0/parts/0/content"), False),
        (found("/messages/7/parts/0/content"), False),
        (found("/messages"), False),
        (found("/messages/1/parts/0/content", kind="tool"), False),
        (found("/messages/1/parts/0/content", type_="unrecorded_call"), False),
    ],
)
def test_a_users_message_may_be_an_edited_template_or_wrong_data(divergence, may):
    assert may_be_prompt(divergence, RUN, Replayed("r", "frozen", "diverged", coverage={1: "recorder"})) is may
