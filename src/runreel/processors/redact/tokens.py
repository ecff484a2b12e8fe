"""Makes the tokens of one key: longer ones where two values would share one, and what the vault gets of each value."""

import hmac
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import Any, NamedTuple, Protocol

from runreel.canonical.tokens import TOKEN_RE, token_digest
from runreel.processors.redact.keys import TenantKey
from runreel.values import CleanBatch, Sealed

_LONGEST = 64
_MORE = 4  # digits that are added where two values share a token
_NEVER_SEALED = frozenset({"HASH"})


class Sealer(Protocol):
    """Encrypts values so that who has sealed them cannot open them again. Thread-safe."""

    key_id: str

    def seal(self, token: str, text: str) -> bytes: ...


class _Known(NamedTuple):
    digest: str
    sealed: bytes | None


class Tokens:
    """Makes tokens with one key. Thread-safe.

    The same value is the same token wherever the key is the same. Two values under one token are told apart by more
    digits as long as the first of them is remembered; what is remembered are keyed hashes, never values.
    """

    def __init__(self, key: TenantKey, digits: int, memo_size: int, sealer: Sealer | None = None) -> None:
        self.key_id = key.key_id
        self._keyed = hmac.new(key.secret, digestmod="sha256")
        self._digits = digits
        self._size = memo_size
        self._sealer = sealer
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._new: set[str] = set()
        self._lock = Lock()

    def token(self, entity: str, text: str, digits: int | None = None) -> str:
        """Return the token of a value; `digits` asks for more than the setting."""
        digest = token_digest(self._keyed, entity, text)
        with self._lock:
            length = max(digits or 0, self._digits)
            while True:
                token = f"<{entity}_{digest[:length]}>"
                known = self._known.get(token)
                if known is None:
                    break
                if known.digest == digest:
                    self._known.move_to_end(token)
                    return token
                while length < _LONGEST and digest[:length] == known.digest[:length]:
                    length += _MORE  # so many that the other value would not have this token either
            self._known[token] = _Known(digest, self._seal(entity, token, text))
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        return token

    def sealed_of(self, batch: CleanBatch) -> tuple[Sealed, ...]:
        """Return what the vault gets for the tokens in a batch, and for those made since it was last asked."""
        if self._sealer is None:
            return ()
        tenant = batch.tenant
        tokens = {match[0] for text in _texts((batch.spans, batch.logs)) for match in TOKEN_RE.finditer(text)}
        with self._lock:
            tokens |= self._new
            self._new.clear()
            found = [(token, known.sealed) for token in sorted(tokens) if (known := self._known.get(token))]
        sealer = self._sealer
        return tuple(Sealed(tenant, token, self.key_id, sealer.key_id, body) for token, body in found if body)

    def _seal(self, entity: str, token: str, text: str) -> bytes | None:
        if self._sealer is None or entity in _NEVER_SEALED:
            return None
        self._new.add(token)
        return self._sealer.seal(token, text)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value, with tokens or not."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode(errors="replace")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _texts(item)
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item)
    elif is_dataclass(value):
        for one in fields(value):
            yield from _texts(getattr(value, one.name))
