"""A run while it happens: its span, its id, and randomness that a replay draws again."""

import random
import secrets
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar

from opentelemetry import baggage, context, trace
from opentelemetry.trace import Link, Span, SpanKind
from opentelemetry.util.types import AttributeValue

from runreel.record import _active, bypass, setup
from runreel.record.boundaries import DecisionType, decide
from runreel.record.calls import failed, tracer
from runreel.record.convert import plain
from runreel.record.losses import losses, safely
from runreel.record.strip import to_json
from runreel.record.together import drawn_seed, entered, inherited, seeding
from runreel.semconv import keys
from runreel.values import Value

T = TypeVar("T")

LOSSES: Final = "replay.recorder.losses"


class RunHandle:
    """One run, as `run` hands it out.

    `id` names it in every command. `random` is a seeded generator; the seed is recorded, so that a replay draws the
    same numbers, as it does from `uuid()`. `now()` is the time: in a replay that of the record.
    """

    def __init__(self, run_id: str, seed: int, span: Span) -> None:
        self.id = run_id
        self.random = random.Random(seed)  # noqa: S311  to be drawn again, not to be secret
        self._ids = random.Random(f"{seed}:uuid")  # noqa: S311
        self._places = random.Random(f"{seed}:places")  # noqa: S311
        self._span = span

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return datetime.now(UTC)

    def uuid(self) -> uuid.UUID:
        """Return a random UUID (version 4) of this run."""
        return uuid.UUID(int=self._ids.getrandbits(128), version=4)

    def place(self) -> int:
        """Return a seed for another place where the run goes on: a process of its own draws other numbers."""
        return self._places.getrandbits(63)

    def decide(
        self,
        name: str,
        chosen: T,
        *,
        options: Sequence[object] = (),
        reason: str = "",
        type: DecisionType = "route",  # noqa: A002
    ) -> T:
        """Record a decision (see `runreel.record.decide`), and return what was chosen."""
        return decide(name, chosen, options=options, reason=reason, type=type)

    def answer(self, output: object) -> None:
        """Record what the run answered."""
        said = safely("answer", lambda: _messages("assistant", plain(output)), "")
        if said:
            self._span.set_attribute("gen_ai.output.messages", said)


@contextmanager
def run(
    user_input: object = None,
    *,
    user: str | None = None,
    parent: str | None = None,
    relation: str = "sub_agent",
    conversation: str | None = None,
) -> Iterator[RunHandle]:
    """Record the block as one run of the agent.

    Inside of a run it is a sub-agent's: a step of that run, replayed with it. So it is in a program that a run started
    (`environment`) and in a server that a run asked (`joined`). A hand-off or a retry is a run of its own.

    Args:
        user_input: What the user asked: text, or any value that has a recorded form.
        user: Who asked; stored as a token.
        parent: Id of the run that this one came from, which makes it a run of its own. Default: the run around it.
        relation: How it came from it: `sub_agent`, `handoff` or `retry`.
        conversation: The conversation that the run belongs to.
    """
    handed_over = inherited()
    if handed_over is not None or (parent is None and relation == "sub_agent" and _is_inside()):
        with entered(handed_over), agent(setup.settings().agent, user_input) as step:
            yield step
        return
    above = baggage.get_baggage(keys.RUN_ID)
    here = _active.identity
    nested = isinstance(above, str)
    run_id = here.run_id if here and not nested else str(uuid.UUID(int=secrets.randbits(128), version=4))
    seed = here.seed if here and not nested and here.seed is not None else secrets.randbits(63)
    told = setup.settings()
    attributes: dict[str, AttributeValue] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": told.agent,
        keys.RUN_ID: run_id,
        keys.RUN_SEED: seed,
    }
    optional = {
        "user.id": user,
        "gen_ai.conversation.id": conversation,
        keys.RUN_PARENT_ID: parent or (above if nested else None),
        keys.OF_RUN: here.of_run if here and not nested else None,
        keys.CODE_VERSION: told.code_version,
        keys.AGENT_ENTRY: setup.entry(),
    }
    attributes.update({name: value for name, value in optional.items() if isinstance(value, str) and value})
    if keys.RUN_PARENT_ID in attributes:
        attributes[keys.RUN_PARENT_RELATION] = relation
    title = f"invoke_agent {told.agent}"
    with bypass.noting() as hosts, _spanned(title, attributes, run_id, relation if nested else "") as span:
        handle = RunHandle(run_id, seed, span)
        _ask(span, user_input)
        with seeding(handle.place):
            yield handle
        safely("bypassed", lambda: _bypassed(span, hosts), None)


@contextmanager
def agent(name: str, user_input: object = None) -> Iterator[RunHandle]:
    """Record the block as a sub-agent: a step of the run that is going on, and replayed with it.

    What `rr.run` is in a program that the run started, too. Outside of any run it is a step of the trace.

    Args:
        name: Name of the sub-agent.
        user_input: What it was given.
    """
    above = baggage.get_baggage(keys.RUN_ID)
    run_id, seed = above if isinstance(above, str) else "", drawn_seed()
    attributes: dict[str, AttributeValue] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    with _spanned(f"invoke_agent {name}", attributes, run_id, "") as span:
        handle = RunHandle(run_id, seed, span)
        _ask(span, user_input)
        with seeding(handle.place):
            yield handle


def _is_inside() -> bool:
    """Say whether a run is going on here: one of this process, or one that a request belongs to."""
    return isinstance(baggage.get_baggage(keys.RUN_ID), str)


def _ask(span: Span, user_input: object) -> None:
    if user_input is not None:
        safely("user_input", lambda: span.set_attributes(_asked(plain(user_input))), None)


def _bypassed(span: Span, hosts: bypass.Hosts) -> None:
    found = hosts.found()
    if found:
        span.set_attribute(keys.BYPASSED, found)


@contextmanager
def _spanned(name: str, attributes: dict[str, AttributeValue], run_id: str, nested: str) -> Iterator[Span]:
    around, before = context.get_current(), losses()
    links = []
    if nested:
        # One run, one trace: a run inside a run starts its own, and a link leads back.
        links = [Link(trace.get_current_span().get_span_context(), {keys.LINK_KIND: nested})]
        around = context.Context()
    inside = baggage.set_baggage(keys.RUN_ID, run_id, around) if run_id else around
    no_span: Span = trace.INVALID_SPAN
    span = safely(
        "span",
        lambda: tracer().start_span(name, inside, SpanKind.INTERNAL, attributes, links),
        no_span,
    )
    token = context.attach(trace.set_span_in_context(span, inside))
    try:
        yield span
    except BaseException as error:
        if not (
            isinstance(error, SystemExit) and error.code in (None, 0)
        ):  # the agent ends the program, and is content
            safely("span", partial(failed, span, error), None)
        raise
    finally:
        context.detach(token)
        lost = losses(before)
        if lost:
            span.set_attribute(LOSSES, to_json(dict(lost)))
        safely("span", span.end, None)


def _asked(value: Value) -> dict[str, AttributeValue]:
    said: dict[str, AttributeValue] = {"gen_ai.input.messages": _messages("user", value)}
    if not isinstance(value, str):
        said[keys.RUN_USER_INPUT] = to_json(value)
    return said


def _messages(role: str, value: Value) -> str:
    content = value if isinstance(value, str) else to_json(value)
    message: dict[str, Any] = {"role": role, "parts": ({"type": "text", "content": content},)}
    if role == "assistant":
        message["finish_reason"] = "stop"
    return to_json((message,))
