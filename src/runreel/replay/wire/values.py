"""The values of the model boundary: an HTTP exchange, and what a provider's wire format says in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from runreel.values import Value


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as the transport was about to send it: body whole, header names as the client spelt them."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer for the transport to hand up.

    A body that is an iterator is a stream; ConnectionError out of it is a connection lost half-way, TimeoutError a
    read that took too long, and the transport raises what its own library would raise there.
    """

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | Iterator[bytes] = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What an agent asked a model, in the form that `runs.assemble` gives a recorded llm step.

    `messages` and `tool_definitions` are normalised. `params` has the record's names (`max_tokens`, `stop`...) where
    the record has one and the provider's own where it has none (`tool_choice`, `response_format`...). `body` is the
    whole request, parsed and otherwise untouched. None of it is redacted.
    """

    provider: str
    api: str
    model: str
    messages: tuple[Value, ...] = field(repr=False)
    params: Mapping[str, Value] = field(default_factory=dict, repr=False)
    tool_definitions: tuple[Value, ...] = field(default=(), repr=False)
    stream: bool = False
    body: Mapping[str, Value] = field(default_factory=dict, repr=False)
