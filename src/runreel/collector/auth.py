"""The extension `bearertokenauth`: lets in who brings a token that is in the configuration, or in a file of tokens."""

import hashlib
import hmac
import logging
from pathlib import Path

from runreel.collector.settings import BearerTokenAuthConfig
from runreel.errors import StoreError

LEAST_CHARS = 16
_SCHEME = "bearer"
_log = logging.getLogger(__name__)


class BearerTokens:
    """Checks `authorization` headers. Holds hashes of the tokens only; reads the file again when it changes.

    Raises:
        StoreError: the file cannot be read, or holds no token.
    """

    def __init__(self, settings: BearerTokenAuthConfig) -> None:
        self._file = Path(settings.filename) if settings.filename else None
        self._known = frozenset({_hash(settings.token)}) if settings.token else frozenset()
        self._read_at: tuple[int, int] | None = None
        if self._file is not None:
            self._read(self._file)

    def allows(self, header: str) -> bool:
        """Say whether an `authorization` header brings a token that is let in."""
        if self._file is not None:
            self._renew(self._file)
        scheme, _, token = header.strip().partition(" ")
        given = _hash(token.strip())
        # All of them are compared, each in constant time: how long it takes tells nothing.
        found = [hmac.compare_digest(given, known) for known in self._known]
        return scheme.lower() == _SCHEME and any(found)

    def _renew(self, file: Path) -> None:
        try:
            seen = file.stat()
            if (seen.st_mtime_ns, seen.st_ino) != self._read_at:
                self._read(file)
        except (OSError, StoreError) as error:
            # A file that is being replaced: those who were let in stay so until it can be read.
            _log.warning("the file of tokens cannot be read again", extra={"error": str(error)})

    def _read(self, file: Path) -> None:
        try:
            seen = file.stat()
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"cannot read the tokens in {file}: {getattr(error, 'strerror', 'not UTF-8')}") from None
        lines = [line.strip() for line in text.splitlines()]
        tokens = [line for line in lines if line and not line.startswith("#")]
        short = [number for number, line in enumerate(lines, 1) if line in tokens and len(line) < LEAST_CHARS]
        if short:
            raise StoreError(f"{file}, line {short[0]}: a token has at least {LEAST_CHARS} characters")
        if not tokens:
            raise StoreError(f"there is no token in {file}: write one a line")
        self._known = frozenset(_hash(token) for token in tokens)
        self._read_at = (seen.st_mtime_ns, seen.st_ino)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
