"""Seals values for the vault: who seals needs a public key only, and cannot open again what another process sealed.

A sealed value is `rrv1`, the sealing process's own public key (32 bytes), a nonce (12), and the value under AES-256-GCM
with its token as associated data. The key comes from X25519 and HKDF-SHA256.
"""

import json
import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock

from runreel.errors import ConfigError, CorruptError

_MAGIC = b"rrv1"
_KEY, _NONCE = 32, 12
_PER_PAIR = 10_000  # values sealed with one pair of keys: then the process can open none of them any more


@dataclass(frozen=True, slots=True)
class VaultKey:
    """The key that opens a vault. Whoever has it and the vault has the values."""

    key_id: str
    private: bytes = field(repr=False)


class Box:
    """Seals values under a public key (see `tokens.Sealer`). Thread-safe."""

    def __init__(self, public: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

        self.key_id = key_id(public)
        self._public = public
        self._theirs: X25519PublicKey = X25519PublicKey.from_public_bytes(public)
        self._lock = Lock()
        self._left = 0
        self._ours = self._key = b""

    def seal(self, token: str, text: str) -> bytes:
        """Return a value sealed; it opens together with its token only."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        with self._lock:
            if self._left == 0:
                self._renew()
            self._left -= 1
            ours, key = self._ours, self._key
        nonce = os.urandom(_NONCE)
        sealed = AESGCM(key).encrypt(nonce, text.encode(errors="surrogatepass"), token.encode())
        return _MAGIC + ours + nonce + sealed

    def _renew(self) -> None:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

        pair = X25519PrivateKey.generate()
        self._ours = pair.public_key().public_bytes_raw()
        self._key = _derived(pair.exchange(self._theirs), self._ours, self._public)
        self._left = _PER_PAIR


def key_id(public: bytes) -> str:
    """Return the name of a vault key."""
    return sha256(b"runreel vault key id\0" + public).hexdigest()[:16]


def opened(key: VaultKey, token: str, body: bytes) -> str:
    """Return a sealed value. Raises CorruptError where it was sealed for another key or token, or is damaged."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    start = len(_MAGIC) + _KEY
    if not body.startswith(_MAGIC) or len(body) < start + _NONCE:
        raise CorruptError(f"what the vault holds for {token} is no sealed value: take it from a copy of the vault")
    pair: X25519PrivateKey = X25519PrivateKey.from_private_bytes(key.private)
    theirs = body[len(_MAGIC) : start]
    secret = _derived(
        pair.exchange(X25519PublicKey.from_public_bytes(theirs)), theirs, pair.public_key().public_bytes_raw()
    )
    try:
        value = AESGCM(secret).decrypt(body[start : start + _NONCE], body[start + _NONCE :], token.encode())
    except InvalidTag:
        raise CorruptError(f"what the vault holds for {token} does not open with key {key.key_id}") from None
    return value.decode(errors="surrogatepass")


def _derived(shared: bytes, ours: bytes, theirs: bytes) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(SHA256(), _KEY, None, b"runreel vault 1" + ours + theirs).derive(shared)


# --- files ------------------------------------------------------------------------------------------------------------


def make_keys(private: Path, public: Path) -> VaultKey:
    """Make a pair of keys, the private file for its owner only. Raises ConfigError where a file is there already or
    cannot be made."""
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    pair = X25519PrivateKey.generate()
    shown = pair.public_key().public_bytes_raw()
    for path, document in (
        (private, {"private_key": pair.private_bytes_raw().hex(), "public_key": shown.hex()}),
        (public, {"public_key": shown.hex()}),
    ):
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                json.dump(document, file)
                file.flush()
                os.fsync(file.fileno())
        except FileExistsError:
            why = "there is a key already; what was sealed for it opens with no other. Name another file"
            raise ConfigError(str(path), [why]) from None
        except OSError as error:
            raise ConfigError(str(path), [f"the key cannot be written: {error.strerror}"]) from None
    return VaultKey(key_id(shown), pair.private_bytes_raw())


def read_public(path: Path) -> bytes:
    """Return a public key. Raises ConfigError."""
    return _read(path, "public_key", "make one with: runreel vault init")


def read_private(path: Path) -> VaultKey:
    """Return a private key. Raises ConfigError, also where others may read the file."""
    private = _read(path, "private_key", "it is the file that `runreel vault init` made with --private")
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise ConfigError(str(path), [f"other users may read this key (mode {mode:o}); run: chmod 600 {path}"])
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    return VaultKey(key_id(X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()), private)


def _read(path: Path, name: str, advice: str) -> bytes:
    try:
        key = bytes.fromhex(json.loads(path.read_bytes())[name])
    except OSError as error:
        raise ConfigError(str(path), [f"the vault's key cannot be read: {error.strerror}; {advice}"]) from None
    except (ValueError, KeyError, TypeError):
        key = b""
    if len(key) != _KEY:
        # Nothing of the file is shown: it may be the other key.
        raise ConfigError(str(path), [f'it is no file with a "{name}" of {2 * _KEY} hexadecimal digits; {advice}'])
    return key
