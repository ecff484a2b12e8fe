"""What is said of tokens that broke a parser: from which step, and what to do."""

from dataclasses import replace

from otlp_build import call, msg
from recorded_runs import model_step, run_of, tool_step
from runreel.replay import broken, tape
from runreel.values import StepError

EMAIL = "<EMAIL_7f3a9c02>"
RUN = run_of(
    model_step(1, [msg("user", "q")], [call("lookup", {"id": 7})], at=0),
    tool_step(1, "lookup", {"id": 7}, {"email": EMAIL}, at=20, call_id="call_1"),
)
STACK = f"""Traceback (most recent call last):
  File "/app/agent.py", line 12, in use
    domain = email.split("@")[1]
ValueError: no domain in {EMAIL}
"""
FACTS = {
    "token": EMAIL,
    "expression": "int(x)",
    "file": "/app/agent.py",
    "line": 3,
    "function": "f",
    "error_type": "ValueError",
}


def test_the_step_that_gave_a_token_is_the_last_that_was_answered_with_it() -> None:
    arranged = tape.build(RUN)
    seqs = [entry.seq for entry in arranged.entries]

    gave = broken.giver(arranged, EMAIL, seqs)

    assert gave is not None
    assert gave.name == "lookup"
    assert broken.giver(arranged, EMAIL, []) is None
    assert broken.giver(arranged, "<EMAIL_00000000>", seqs) is None


def test_an_exception_that_a_library_recorded_is_told_with_its_place() -> None:
    error = StepError("ValueError", f"no domain in {EMAIL}", STACK)
    own = replace(
        RUN, steps=(replace(RUN.steps[0], error=error), replace(RUN.steps[1], error=StepError("X", "no token", STACK)))
    )

    (told,) = broken.recorded_errors(own)

    assert told == {
        "token": EMAIL, "expression": 'domain = email.split("@")[1]', "file": "/app/agent.py", "line": 12,
        "function": "use", "error_type": "ValueError",
    }  # fmt: skip
    assert list(broken.recorded_errors(None)) == []


def test_an_address_that_somebody_wrote_into_the_code_is_not_shown() -> None:
    said = broken.sentence({**FACTS, "expression": 'check("dana@example.com", x)'}, None)

    assert "dana" not in said
    assert said.endswith(f"(agent.py:3, in f) raised ValueError: it was given {EMAIL}, a token")
