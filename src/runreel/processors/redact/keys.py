"""The key of a tenant: what makes its tokens stable, and worthless without it."""

import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp

from runreel.disk import flush_folder
from runreel.errors import ConfigError

VARIABLE = "RUNREEL_TENANT_KEY"
_BYTES = 32
_TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")


@dataclass(frozen=True, slots=True)
class TenantKey:
    """A tenant's secret. `key_id` names it without giving it away, so that tokens of two keys can be told apart.
    `older` are those that it has taken the place of: no token is made with them any more, but those there are are
    proved."""

    key_id: str
    secret: bytes = field(repr=False)
    older: tuple["TenantKey", ...] = field(default=(), repr=False)

    def of_run(self, run: str) -> "TenantKey":
        """Return the key of one run: its tokens say nothing about any other run. The id stays that of the tenant's."""
        return TenantKey(self.key_id, hmac.digest(self.secret, b"runreel run\0" + run.encode(), "sha256"))

    def proving(self, traces: Iterable[str] = ()) -> tuple[bytes, ...]:
        """Return every secret that a token of these traces may have been made with."""
        every = (self, *self.older)
        runs = (key.of_run(trace_id) for key in every for trace_id in traces)
        return tuple(key.secret for key in (*every, *runs))

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all keys."""
        return frozenset((self.key_id, *(key.key_id for key in self.older)))


def load_key(home: Path, tenant: str) -> TenantKey:
    """Return the tenant's key: from the variable RUNREEL_TENANT_KEY (64 hexadecimal digits, for collectors that share
    a key; older ones behind it, with commas), else from HOME/keys/<tenant>.json, which is made on first use.

    Raises ConfigError for a key that is malformed, a file that cannot be read or made, or a file that others may read.
    """
    if not _TENANT.match(tenant):
        raise ConfigError("tenant", [f"{tenant!r}: a tenant's name has letters, digits, '.', '_' and '-', at most 64"])
    written = os.environ.get(VARIABLE)
    if written is not None:
        return _ring(written.split(","), f"variable {VARIABLE}")
    path = home / "keys" / f"{tenant}.json"
    try:
        return _read(path) if path.exists() else _make(path)
    except OSError as error:
        raise ConfigError(str(path), [f"the tenant's key cannot be read or made: {error.strerror}"]) from error


def _ring(written: Sequence[str], source: str) -> TenantKey:
    first, *rest = (_from_hex(text.strip(), source) for text in written)
    return replace(first, older=tuple(rest))


def _from_hex(text: str, source: str) -> TenantKey:
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        secret = b""
    if len(secret) < _BYTES:
        # Nothing of the text is shown: it may be the key with a typing mistake in it.
        raise ConfigError(
            source, [f"a key is {2 * _BYTES} hexadecimal digits or more; make one with: openssl rand -hex 32"]
        )
    return TenantKey(sha256(b"runreel key id\0" + secret).hexdigest()[:16], secret)


def _read(path: Path) -> TenantKey:
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise ConfigError(str(path), [f"other users may read this key (mode {mode:o}); run: chmod 600 {path}"])
    try:
        document = json.loads(path.read_bytes())
        written = [document["key"], *document.get("older", ())]
        if not all(isinstance(one, str) for one in written):
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            str(path),
            ['it is no key file (JSON with a "key"); with a new one, tokens differ from those already stored'],
        ) from error
    return _ring(written, str(path))


def _make(path: Path) -> TenantKey:
    """Make the key file, whole or not at all; where two processes make it at once, both get the first one's key."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = mkstemp(dir=path.parent, prefix=".key-")  # mode 0600
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump({"key": secrets.token_hex(_BYTES)}, file)
            file.flush()
            os.fsync(file.fileno())
        try:
            Path(path).hardlink_to(name)
        except FileExistsError:
            pass  # another process was quicker: its key counts
    finally:
        Path(name).unlink()
    flush_folder(path.parent)
    return _read(path)
