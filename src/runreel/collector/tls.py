"""Certificates of what listens: read and checked before anything starts, in words that say what to do; read again when
their files change, so that a renewal needs no restart."""

import logging
import ssl
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runreel.collector import telemetry
from runreel.collector.telemetry import Telemetry
from runreel.errors import StoreError

if TYPE_CHECKING:
    from runreel.collector.settings import TlsConfig

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its key, and the authority that clients' certificates must be of: PEM files that were read
    once and fit together. `context` has them for a server."""

    context: ssl.SSLContext = field(repr=False)
    chain: bytes
    key: bytes = field(repr=False)
    client_ca: bytes | None = None


class Renewed:
    """The certificate of one listener as its files have it now. They are looked at with each new connection: what was
    renewed holds from then on; what cannot be used is said and counted, and the one before stays. Thread-safe.

    Args:
        settings: The keys of `tls`.
        where: Their path in the configuration, for what is said.
        counts: Where renewals are counted.

    Raises:
        StoreError: as `load`.
    """

    def __init__(self, settings: "TlsConfig", where: str, counts: Telemetry) -> None:
        self._settings = settings
        self._where = where
        self._counts = counts
        self._lock = threading.Lock()
        self._seen = self._look()
        self._held = load(settings, where)

    def now(self) -> Certificate:
        """Return the certificate; where its files have changed since, the new one."""
        with self._lock:
            seen = self._look()
            if seen != self._seen:
                self._seen = seen  # a pair that is no good is said once, and looked at again when it changes
                self._renew()
            return self._held

    def _renew(self) -> None:
        try:
            self._held = load(self._settings, self._where)
        except StoreError as error:
            self._counts.add(telemetry.RENEWALS, where=self._where, outcome="failed")
            _log.error("a new certificate cannot be used, the one before stays", extra={"error": str(error)})
        else:
            self._counts.add(telemetry.RENEWALS, where=self._where, outcome="ok")
            _log.info("a new certificate is in use", extra={"where": self._where})

    def _look(self) -> tuple[object, ...]:
        """Return what tells one state of the files from another."""
        return tuple(map(_state, (self._settings.cert_file, self._settings.key_file, self._settings.client_ca_file)))

    def grpc(self) -> Any:
        """Return what has gRPC ask for it with each new connection."""
        import grpc  # type: ignore[import-untyped]

        def configured(one: Certificate) -> Any:
            return grpc.ssl_server_certificate_configuration([(one.key, one.chain)], root_certificates=one.client_ca)

        given = self.now()

        def asked() -> Any:
            nonlocal given
            now = self.now()
            if now is given:
                return None
            given = now
            return configured(now)

        required = given.client_ca is not None
        return grpc.dynamic_ssl_server_credentials(configured(given), asked, require_client_authentication=required)

    def context(self) -> ssl.SSLContext:
        """Return what gives each new connection the context of the certificate as it is then."""
        made = _Newest(ssl.PROTOCOL_TLS_SERVER)
        made.renewed = self
        return made

    def uvicorn(self) -> dict[str, Any]:
        """Return it as the HTTP server takes it."""
        return {
            "ssl_certfile": self._settings.cert_file,
            "ssl_keyfile": self._settings.key_file,
            "ssl_ca_certs": self._settings.client_ca_file,
            "ssl_cert_reqs": ssl.CERT_REQUIRED if self._settings.client_ca_file else ssl.CERT_NONE,
        }


class _Newest(ssl.SSLContext):
    """A context that hands connections to others. One that a callback exchanges during a handshake would let sessions
    be resumed that began before: with the certificate of a client whose authority is gone since."""

    renewed: Renewed

    def wrap_bio(self, *args: Any, **more: Any) -> ssl.SSLObject:
        return self.renewed.now().context.wrap_bio(*args, **more)


def load(settings: "TlsConfig", where: str) -> Certificate:
    """Read what the settings name.

    Args:
        settings: The keys of `tls`.
        where: Their path in the configuration, for what is said.

    Raises:
        StoreError: a file cannot be read, is no PEM of its kind, or key and certificate are no pair.
    """
    cert, key = Path(settings.cert_file), Path(settings.key_file)
    chain, secret = _read(cert, f"{where}::cert_file"), _read(key, f"{where}::key_file")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _check_certificates(chain, cert, f"{where}::cert_file")
    if b"PRIVATE KEY-----" not in secret:
        raise StoreError(f"{where}::key_file: {key} holds no private key in PEM (-----BEGIN PRIVATE KEY-----)")
    try:
        # Without an answer of ours, a key with a password would be asked for on the terminal.
        context.load_cert_chain(cert, key, password=_no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            why = f"{key} is not the key of the certificate in {cert}"
        elif b"ENCRYPTED" in secret:
            why = f"{key} needs a password: store it without one, readable by this user alone"
        else:
            why = f"{key} is no private key that can be used"
        raise StoreError(f"{where}::key_file: {why}") from None
    except OSError as error:  # replaced this moment
        raise StoreError(f"{where}: cannot read {cert} or {key}: {error.strerror}") from None
    client_ca = None
    if settings.client_ca_file is not None:
        client_ca = _read(Path(settings.client_ca_file), f"{where}::client_ca_file")
        _check_certificates(client_ca, Path(settings.client_ca_file), f"{where}::client_ca_file")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=client_ca.decode("ascii"))
    return Certificate(context, chain, secret, client_ca)


def _state(path: str | None) -> tuple[int, int, int] | None:
    try:
        seen = Path(path).stat() if path else None
    except OSError:
        return None  # that it is not there is a state, too
    return seen and (seen.st_mtime_ns, seen.st_ino, seen.st_size)


def _read(path: Path, where: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"{where}: cannot read {path}: {error.strerror}") from None


def _check_certificates(data: bytes, path: Path, where: str) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=data.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError, ValueError):
        raise StoreError(f"{where}: {path} holds no certificate in PEM (-----BEGIN CERTIFICATE-----)") from None


def _no_password() -> str:
    return ""
