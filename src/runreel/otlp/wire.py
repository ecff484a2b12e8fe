"""Protobuf's wire format by hand, for the requests that a strict parser refuses or that nobody has named yet."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError as ProtobufDecodeError
from google.protobuf.message import Message

from runreel.errors import DecodeError
from runreel.otlp.common import Signal, UnfitError, repair

VARINT, I64, LEN, I32 = 0, 1, 2, 5
_FIXED = {I64: 8, I32: 4}
_MAX_NESTING = 100  # what protobuf runtimes take

_WIRE_TYPES = {
    FieldDescriptor.TYPE_STRING: LEN,
    FieldDescriptor.TYPE_BYTES: LEN,
    FieldDescriptor.TYPE_MESSAGE: LEN,
    FieldDescriptor.TYPE_FIXED64: I64,
    FieldDescriptor.TYPE_DOUBLE: I64,
    FieldDescriptor.TYPE_FIXED32: I32,
}


class Field(NamedTuple):
    """One field on the wire: where its tag, its content and its end stand."""

    number: int
    wire_type: int
    start: int
    content: int
    end: int


class MessageClass(Protocol):
    """A generated message class."""

    DESCRIPTOR: Descriptor

    def FromString(self, s: bytes, /) -> Message: ...  # noqa: N802


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Read one varint; return it and the position behind it. Raises DecodeError."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise DecodeError(f"not a protobuf message: a number ends in the middle at byte {at}")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def to_varint(value: int) -> bytes:
    """Write one varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data: bytes, clip: bool = False) -> Iterator[Field]:
    """Walk the fields of one message. Raises DecodeError where the bytes are none.

    With `clip`, a last field whose content is cut off ends where the bytes end.
    """
    at = 0
    while at < len(data):
        start = at
        tag, at = varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        content = at
        if wire_type == VARINT:
            at = varint(data, at)[1]
        elif wire_type == LEN:
            length, content = varint(data, at)
            at = min(content + length, len(data)) if clip else content + length
        elif wire_type in _FIXED:
            at += _FIXED[wire_type]
        else:
            raise DecodeError(f"not a protobuf message: unknown wire type {wire_type} at byte {start}")
        if not number or at > len(data):
            raise DecodeError(f"not a protobuf message: a field runs past the end at byte {start}")
        yield Field(number, wire_type, start, content, at)


class Salvage:
    """Rewrites a request that the strict parser refused, so that it takes the rest of it.

    Strings that are not UTF-8 are repaired; `repaired` names, by position in what remains, the records which that
    touches, in their own text or in their resource's or scope's. A record that cannot be parsed at all is left out and
    listed in `unfit`. Raises DecodeError where the request around the records is broken.
    """

    def __init__(self, request: MessageClass, record: MessageClass) -> None:
        self.repaired: set[int] = set()
        self.unfit: list[UnfitError] = []
        self._request = request.DESCRIPTOR
        self._record = record
        self._count = 0
        resource = _inner(self._request.fields_by_number[1])
        self._envelopes = (resource, _inner(resource.fields_by_number[2]))

    def rewrite(self, data: bytes) -> bytes:
        """Return the request in a form that the strict parser takes."""
        try:
            return self._envelope(data, self._request)
        except UnfitError as error:  # not about one record, which would be in `unfit`
            raise DecodeError(f"a resource or scope cannot be taken: {error.detail}") from None

    def _envelope(self, data: bytes, descriptor: Descriptor) -> bytes:
        first = self._count
        dirty = False
        out = _Rewriter(data)
        for field in fields(data):
            known = descriptor.fields_by_number.get(field.number)
            if known is None or field.wire_type != LEN:
                continue
            content = data[field.content : field.end]
            if known.message_type in self._envelopes:
                out.put(field, self._envelope(content, _inner(known)))
            elif known.message_type is self._record.DESCRIPTOR:
                out.put(field, self._take(content))
            else:
                fixed = _repaired(content, known, 0)
                dirty = dirty or fixed != content
                out.put(field, fixed)
        if dirty:
            self.repaired.update(range(first, self._count))
        return out.bytes()

    def _take(self, content: bytes) -> bytes | None:
        try:
            fixed = _repaired_message(content, self._record.DESCRIPTOR, 0)
            self._record.FromString(fixed)
        except UnfitError as error:
            self.unfit.append(error)
            return None
        except (DecodeError, ProtobufDecodeError):
            self.unfit.append(UnfitError("malformed", "the record is not a protobuf message of its type"))
            return None
        if fixed != content:
            self.repaired.add(self._count)
        self._count += 1
        return fixed


class _Rewriter:
    """Copies a message, with the content of some fields replaced."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._pieces: list[bytes] = []
        self._done = 0

    def put(self, field: Field, content: bytes | None) -> None:
        """Replace a length-delimited field's content; None leaves the field out."""
        if content is not None and content == self._data[field.content : field.end]:
            return
        self._pieces.append(self._data[self._done : field.start])
        if content is not None:
            self._pieces += (to_varint(field.number << 3 | LEN), to_varint(len(content)), content)
        self._done = field.end

    def bytes(self) -> bytes:
        return b"".join((*self._pieces, self._data[self._done :])) if self._pieces else self._data


def _inner(field: FieldDescriptor) -> Descriptor:
    assert field.message_type is not None
    return field.message_type


def _repaired(content: bytes, field: FieldDescriptor, depth: int) -> bytes:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return _repaired_message(content, _inner(field), depth + 1)
    if field.type != FieldDescriptor.TYPE_STRING:
        return content
    try:
        content.decode()
    except UnicodeDecodeError:
        return repair(content.decode(errors="surrogateescape")).encode()
    return content


def _repaired_message(data: bytes, descriptor: Descriptor, depth: int) -> bytes:
    if depth > _MAX_NESTING:
        raise UnfitError("too_deep", f"messages are nested more than {_MAX_NESTING} deep")
    out = _Rewriter(data)
    for field in fields(data):
        known = descriptor.fields_by_number.get(field.number)
        if known is not None and field.wire_type == LEN:
            out.put(field, _repaired(data[field.content : field.end], known, depth))
    return out.bytes()


def sniff(data: bytes, span: Descriptor, log: Descriptor) -> Signal | None:
    """Say whether bytes are a request of spans or of log records; None for anything else.

    Traces, logs and metrics have the same shape down to the record; there the wire types differ. A request that breaks
    off behind its first record is still named, so that the decoder can say what is wrong with it.
    """
    try:
        for resource in _contents(data, 1):
            for scope in _contents(resource, 2):
                for record in _contents(scope, 2):
                    found = _signal(record, span, log)
                    if found is not None:
                        return found
    except DecodeError:
        return None
    return None


def _contents(data: bytes, number: int) -> Iterator[bytes]:
    for field in fields(data, clip=True):
        if field.wire_type != LEN:
            raise DecodeError("not an OTLP request")
        if field.number == number:
            yield data[field.content : field.end]


def _signal(record: bytes, span: Descriptor, log: Descriptor) -> Signal | None:
    seen = {(field.number, field.wire_type): field.end - field.content for field in fields(record, clip=True)}
    if {(7, I64), (8, I64)} & seen.keys() and _fits(seen, span):
        return "traces"
    if {(1, I64), (11, I64)} & seen.keys() and _fits(seen, log):
        return "logs"
    return None


def _fits(seen: dict[tuple[int, int], int], descriptor: Descriptor) -> bool:
    known = descriptor.fields_by_number
    return all(number not in known or _WIRE_TYPES.get(known[number].type, VARINT) == kind for number, kind in seen)
