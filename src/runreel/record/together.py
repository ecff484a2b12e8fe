"""Keep a run together where it goes on elsewhere: in a thread, in another process, in an MCP server.

What a run takes along is the W3C trace context and its baggage: the run's id, and a seed of its own for each place.
"""

import contextvars
import os
import random
import secrets
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from opentelemetry import baggage, context, trace
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from runreel.record.losses import safely
from runreel.semconv import keys

P = ParamSpec("P")
R = TypeVar("R")

# The names of the fields in an environment, as OpenTelemetry has them.
_FIELDS: Final = ("traceparent", "tracestate", "baggage")
_SEEDS: Final = contextvars.ContextVar[Callable[[], int] | None]("runreel_seeds", default=None)


@contextmanager
def seeding(draw: Callable[[], int] | None) -> Iterator[None]:
    """Say where the seeds come from that are given to the places in which the run goes on."""
    token = _SEEDS.set(draw)
    try:
        yield
    finally:
        _SEEDS.reset(token)


def carrier() -> dict[str, str]:
    """Return what another process needs to go on with this run, by header name: `traceparent`, `baggage`.

    For the headers of a request, or for `_meta` of an MCP request; the other side says `joined(...)`.
    """
    fields: dict[str, str] = {}
    safely("carrier", lambda: _inject(fields), None)
    return fields


def _inject(fields: MutableMapping[str, str]) -> None:
    here, draw = context.get_current(), _SEEDS.get()
    if draw is not None:
        here = baggage.set_baggage(keys.RUN_SEED, str(draw()), here)
    TraceContextTextMapPropagator().inject(fields, here)
    W3CBaggagePropagator().inject(fields, here)


def environment() -> dict[str, str]:
    """Return this process's environment and in it what a program that it starts needs to go on with this run.

    `subprocess.run(command, env=rr.environment())`: there, `rr.run` is a step of this run, not a run of its own.
    """
    return {**os.environ, **{name.upper(): value for name, value in carrier().items()}}


@contextmanager
def joined(fields: Mapping[str, Any] | None) -> Iterator[None]:
    """Go on, in the block, with the run that a `carrier` came from: a request's headers, an MCP request's `_meta`.

    Without one (None, or nothing of it in the map) the block runs as if this were not here.
    """
    there = safely("carrier", lambda: _extracted(fields or {}), None)
    with entered(there):
        yield


@contextmanager
def entered(there: Context | None) -> Iterator[None]:
    """Go on in another place's context, with the seeds that it was given; None is where we are."""
    if there is None:
        yield
        return
    given = baggage.get_baggage(keys.RUN_SEED, there)
    drawing = random.Random(given) if isinstance(given, str) else None  # noqa: S311  to be drawn again
    token = context.attach(there)
    try:
        with seeding((lambda: drawing.getrandbits(63)) if drawing is not None else None):
            yield
    finally:
        context.detach(token)


def drawn_seed() -> int:
    """Return a seed for another place of the run: the same one in a replay, where the run has one."""
    draw = _SEEDS.get()
    return draw() if draw is not None else secrets.randbits(63)


def _extracted(fields: Mapping[str, Any]) -> Context | None:
    lowered = {str(name).lower(): value for name, value in fields.items() if isinstance(value, str)}
    known = {name: lowered[name] for name in _FIELDS if name in lowered}
    there = TraceContextTextMapPropagator().extract(known, Context())
    there = W3CBaggagePropagator().extract(known, there)
    return there if trace.get_current_span(there).get_span_context().is_valid else None


def inherited() -> Context | None:
    """Return the run of the process that started this one, where it handed one over and no other is going on here."""
    if trace.get_current_span().get_span_context().is_valid or baggage.get_baggage(keys.RUN_ID) is not None:
        return None
    there = safely("carrier", lambda: _extracted(os.environ), None)
    return there if there is not None and isinstance(baggage.get_baggage(keys.RUN_ID, there), str) else None


def carry(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function as one that goes on with this run wherever it is called: in a thread, in an executor."""
    here = contextvars.copy_context()

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return here.copy().run(function, *args, **kwargs)

    return call
