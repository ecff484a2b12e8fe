"""Certificates of what listens: read and checked before anything starts, in words that say what to do."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runreel.errors import StoreError

if TYPE_CHECKING:
    from runreel.collector.settings import TlsConfig


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate with its key, and the authority that clients' certificates must be of: PEM files that were read
    once and fit together."""

    cert_file: Path
    key_file: Path
    client_ca_file: Path | None = None
    chain: bytes = b""
    key: bytes = field(default=b"", repr=False)
    client_ca: bytes | None = None

    def grpc(self) -> Any:
        """Return it as gRPC takes it."""
        import grpc  # type: ignore[import-untyped]

        return grpc.ssl_server_credentials(
            [(self.key, self.chain)], root_certificates=self.client_ca, require_client_auth=self.client_ca is not None
        )

    def uvicorn(self) -> dict[str, Any]:
        """Return it as the HTTP server takes it."""
        return {
            "ssl_certfile": str(self.cert_file),
            "ssl_keyfile": str(self.key_file),
            "ssl_ca_certs": str(self.client_ca_file) if self.client_ca_file else None,
            "ssl_cert_reqs": ssl.CERT_REQUIRED if self.client_ca_file else ssl.CERT_NONE,
        }


def load(settings: "TlsConfig | None", where: str) -> Certificate | None:
    """Read what the settings name; None where there are none.

    Args:
        settings: The keys of `tls`.
        where: Their path in the configuration, for what is said.

    Raises:
        StoreError: a file cannot be read, is no PEM of its kind, or key and certificate are no pair.
    """
    if settings is None:
        return None
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
    client_ca = None
    if settings.client_ca_file is not None:
        client_ca = _read(Path(settings.client_ca_file), f"{where}::client_ca_file")
        _check_certificates(client_ca, Path(settings.client_ca_file), f"{where}::client_ca_file")
    ca_file = Path(settings.client_ca_file) if settings.client_ca_file else None
    return Certificate(cert, key, ca_file, chain, secret, client_ca)


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
