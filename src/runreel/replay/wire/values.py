"""The values of the model boundary: an HTTP exchange, and what a provider's wire format says in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from runreel.values import Value


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as the transport was about to send it: body whole, header names as the client spelt them."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer for the transport to hand up.

    A body that is an iterator is a stream; ConnectionError out of it is a connection lost half-way, TimeoutError a
    read that took too long, and the transport raises what its own library would raise there.
    """

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | Iterator[bytes] = b""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What an agent asked a model, in the form that `runs.assemble` gives a recorded llm step.

    `messages` and `tool_definitions` are normalised; `params` has OpenTelemetry's names (`temperature`, `max_tokens`,
    `stop_sequences`...) where it has one and the provider's where it has none (`tool_choice`, `response_format`...);
    `body` is the whole request, parsed and otherwise untouched.
    """

    provider: str
    api: str
    model: str
    messages: tuple[Value, ...]
    params: Mapping[str, Value] = field(default_factory=dict)
    tool_definitions: tuple[Value, ...] = ()
    stream: bool = False
    body: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelError:
    """How a recorded call failed: an HTTP status, or no answer at all (`lost`, `timeout`)."""

    status: int = 0
    message: str = ""
    cause: Literal["status", "lost", "timeout"] = "status"


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What a model answered, as recorded: enough to write the provider's own bytes again.

    `messages` are normalised output messages. `abandoned`: the caller walked away from the stream. `interrupted`: the
    stream broke under it, with what had come by then in `messages`. `argument_texts` maps a call id to the text of its
    arguments as the model wrote it, where the record knows it. `created_ns` is the recorded start.
    """

    messages: tuple[Value, ...] = ()
    model: str = ""
    response_id: str = ""
    usage: Mapping[str, Value] = field(default_factory=dict)
    finish_reasons: tuple[str, ...] = ()
    created_ns: int = 0
    abandoned: bool = False
    interrupted: bool = False
    error: ModelError | None = None
    argument_texts: Mapping[str, str] = field(default_factory=dict)
