"""What a user may write in the configuration file: one frozen model per component type, and the table of types.

Every model refuses unknown keys and wrong types. docs/configuration.md describes every key; a test compares.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from runreel.collector.redaction import RedactConfig, VaultConfig
from runreel.collector.strict import Strict, as_tuple
from runreel.processors import required
from runreel.runs.discovery import is_loopback

MIB = 1024 * 1024


def split_endpoint(endpoint: str) -> tuple[str, int]:
    """Split `host:port` (IPv6 in brackets). An empty host means every address. Raises ValueError."""
    host, colon, port = endpoint.rpartition(":")
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{endpoint!r} is not host:port")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{endpoint!r}: write an IPv6 address in brackets, [::1]:{port}")
    return host, int(port)


def _endpoint(value: str) -> str:
    split_endpoint(value)
    return value


def _loopback(value: str) -> str:
    host, port = split_endpoint(value)
    if not is_loopback(host):
        raise ValueError(
            f"{value!r} is reachable from other machines, and without authentication a collector listens on loopback "
            f"only: anybody could write runs. Write 127.0.0.1:{port}, or auth: {{authenticator: bearertokenauth}}"
        )
    return value


def _on_where_null(value: object) -> object:
    """`grpc:` with nothing after it means: on, with defaults (as in every collector configuration)."""
    if isinstance(value, dict):
        return {key: {} if part is None else part for key, part in value.items()}
    return value


Endpoint = Annotated[str, AfterValidator(_endpoint)]
Texts = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]


class AuthConfig(Strict):
    """Who may send: what the named extension lets in."""

    authenticator: str


class TlsConfig(Strict):
    """The certificate of what listens; with `client_ca_file` only clients that bring one of that authority."""

    cert_file: str = Field(min_length=1)
    key_file: str = Field(min_length=1)
    client_ca_file: str | None = Field(default=None, min_length=1)


class _Listening(Strict):
    """What listens. Without authentication, by a token or a client's certificate, on loopback only."""

    auth: AuthConfig | None = None  # before the endpoint, which is judged by it
    tls: TlsConfig | None = None
    endpoint: Endpoint = ""

    @field_validator("endpoint")
    @classmethod
    def _check_loopback(cls, value: str, info: ValidationInfo) -> str:
        tls = info.data.get("tls")
        return value if info.data.get("auth") or (tls and tls.client_ca_file) else _loopback(value)


class GrpcConfig(_Listening):
    """OTLP over gRPC."""

    endpoint: Endpoint = "127.0.0.1:4317"
    max_recv_msg_size_mib: int = Field(default=64, ge=1, le=1024)


class HttpConfig(_Listening):
    """OTLP over HTTP, protobuf and JSON. The size limit is in bytes and holds after decompression."""

    endpoint: Endpoint = "127.0.0.1:4318"
    max_request_body_size: int = Field(default=64 * MIB, ge=1024, le=1024 * MIB)


class ProtocolsConfig(Strict):
    """A protocol is on when its key is there, even with nothing after it."""

    grpc: GrpcConfig | None = None
    http: HttpConfig | None = None


class AdmissionConfig(Strict):
    """How many bytes of requests may be in memory at once; above it clients are told to come back."""

    request_limit_mib: int = Field(default=256, ge=1, le=64 * 1024)


class OtlpConfig(Strict):
    """The receiver `otlp`."""

    protocols: Annotated[ProtocolsConfig, BeforeValidator(_on_where_null)] = ProtocolsConfig(
        grpc=GrpcConfig(), http=HttpConfig()
    )
    admission: AdmissionConfig = AdmissionConfig()

    @model_validator(mode="after")
    def _check(self) -> "OtlpConfig":
        grpc, http = self.protocols.grpc, self.protocols.http
        if grpc is None and http is None:
            raise ValueError("protocols names no protocol: write grpc:, http: or both")
        if grpc and http and grpc.endpoint == http.endpoint and not grpc.endpoint.endswith(":0"):
            raise ValueError(f"grpc and http both listen on {grpc.endpoint}: give each a port of its own")
        largest = max(grpc.max_recv_msg_size_mib * MIB if grpc else 0, http.max_request_body_size if http else 0)
        if largest > self.admission.request_limit_mib * MIB:
            raise ValueError(
                f"admission::request_limit_mib is {self.admission.request_limit_mib}, less than one request of the "
                f"permitted size ({-(-largest // MIB)} MiB)"
            )
        return self


class HealthCheckConfig(Strict):
    """The extension `health_check`: GET answers 200 once the collector is ready. Shows nothing else."""

    endpoint: Endpoint = "127.0.0.1:13133"
    path: str = Field(default="/", pattern="^/")


class ReadApiConfig(Strict):
    """The extension `read_api`: where the command line asks for runs. Always on; port 0 takes a free one. With `tls` it
    may be reached from other machines: every request needs the token."""

    tls: TlsConfig | None = None  # before the endpoint, which is judged by it
    endpoint: Endpoint = "127.0.0.1:0"

    @field_validator("endpoint")
    @classmethod
    def _check_loopback(cls, value: str, info: ValidationInfo) -> str:
        return value if info.data.get("tls") else _loopback(value)


class BearerTokenAuthConfig(Strict):
    """The extension `bearertokenauth`: lets in who brings one of the tokens."""

    token: str | None = Field(default=None, min_length=16, repr=False)
    filename: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _check(self) -> "BearerTokenAuthConfig":
        if (self.token is None) == (self.filename is None):
            raise ValueError("write token or filename, one of them")
        return self


class RunListConfig(Strict):
    """The extension `run_list`: keeps the table of runs up to date, for dashboards that read tables."""

    interval_s: float = Field(default=10.0, ge=1, le=3600)


class SpoolConfig(Strict):
    """The extension `spool`: requests are acknowledged once they are flushed to this folder, and stored from there."""

    path: str | None = Field(default=None, min_length=1)
    limit_mib: int = Field(default=2048, ge=16, le=1024 * 1024)
    fsync: bool = True


class LogsConfig(Strict):
    """The collector's own log, on stderr."""

    level: Literal["debug", "info", "warn", "error"] = "info"
    encoding: Literal["console", "json"] = "console"


class MetricsConfig(Strict):
    """What the collector counts, for Prometheus, at /metrics of an address; without one it is logged at the end."""

    address: Endpoint | None = None


class TelemetryConfig(Strict):
    """What the collector says about itself."""

    logs: LogsConfig = LogsConfig()
    metrics: MetricsConfig = MetricsConfig()


class RunsConfig(Strict):
    """When a run counts as over: seconds without news, where its root has come (`quiet_s`) and where it never did."""

    quiet_s: float = Field(default=30.0, ge=1, le=86_400)
    idle_s: float = Field(default=600.0, ge=1, le=7 * 86_400)

    @model_validator(mode="after")
    def _check(self) -> "RunsConfig":
        if self.idle_s < self.quiet_s:
            raise ValueError(f"idle_s {self.idle_s:g} must be at least quiet_s {self.quiet_s:g}")
        return self


class PipelineConfig(Strict):
    """The way of one signal: component ids, in order."""

    receivers: Texts = Field(min_length=1)
    processors: Texts = Field(min_length=1)
    exporters: Texts = Field(min_length=1)


class ServiceConfig(Strict):
    """What of the declared is started. The file is checked pipeline by pipeline, so `pipelines` stays empty here."""

    pipelines: dict[str, PipelineConfig] = Field(default_factory=dict)
    extensions: Texts = ()
    telemetry: TelemetryConfig = TelemetryConfig()
    runs: RunsConfig = RunsConfig()


class BasePathConfig(Strict):
    """References that start with `from` are read below the local folder `to`. A folder alone is both."""

    sent: str = Field(alias="from", min_length=1)
    to: str = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _folder_alone(cls, body: object) -> object:
        return {"from": body, "to": body} if isinstance(body, str) else body

    @model_validator(mode="after")
    def _check(self) -> "BasePathConfig":
        if not PurePosixPath(self.to).is_absolute() or not PurePosixPath(self.to).parts[1:]:
            raise ValueError(f"{self.to!r} must be an absolute path to a folder, and not the root of all files")
        return self


def _required(value: dict[str, str]) -> dict[str, str]:
    known = (*required.OF_EVERY_SPAN, *required.OF_AGENTS, *required.CONTENT)
    for name, action in value.items():
        if name not in known:
            raise ValueError(f"{name!r} is no field that can be required: {', '.join(known)}")
        if name in required.FLAGGED_ONLY and action != "flag":
            raise ValueError(f"{name} can only be flagged: a model call without any is one without tools")
        if name in required.CONTENT and action == "reject":
            raise ValueError(f"{name} is content, which may come after its span: it can be flagged or quarantined")
    return value


class SchemaConfig(Strict):
    """The processor `schema`."""

    external_base_paths: Annotated[tuple[BasePathConfig, ...], BeforeValidator(as_tuple)] = ()
    required_fields: dict[str, Annotated[dict[str, required.Action], AfterValidator(_required)]] = Field(
        default_factory=dict
    )


class SplitConfig(Strict):
    """The processor `split`: strings of this many bytes or more are stored once, by their hash."""

    threshold_bytes: int = Field(default=256, ge=64, le=64 * 1024)


class FilesConfig(Strict):
    """The exporter `files`: heavy parts in a directory."""

    path: str | None = Field(default=None, min_length=1)
    inline_kib: int = Field(default=32, ge=1, le=64 * 1024)


class S3Config(Strict):
    """The exporter `s3`: heavy parts in a bucket of anything that speaks S3."""

    endpoint: str = Field(pattern=r"^https?://[^/]+/?$")
    bucket: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")
    prefix: str | None = None
    region: str | None = None
    access_key_id: str | None = None
    secret_access_key: str | None = Field(default=None, repr=False)
    credentials_file: str | None = None
    profile: str | None = None
    ca_file: str | None = None
    timeout_s: float = Field(default=10.0, gt=0, le=600)
    inline_kib: int = Field(default=32, ge=1, le=64 * 1024)

    @model_validator(mode="after")
    def _check(self) -> "S3Config":
        if bool(self.access_key_id) != bool(self.secret_access_key):
            raise ValueError("access_key_id and secret_access_key belong together: write both, or neither")
        if self.access_key_id and self.credentials_file:
            raise ValueError("write access_key_id or credentials_file, not both")
        return self


class ClickHouseConfig(Strict):
    """The exporter `clickhouse`: on the embedded engine in a directory, or on a server or cluster."""

    path: str | None = Field(default=None, min_length=1)
    endpoint: str | None = Field(default=None, pattern=r"^https?://[^/@]+/?$")
    username: str = "default"
    password: str | None = Field(default=None, repr=False)
    cluster_name: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")
    ca_file: str | None = None
    timeout_s: float = Field(default=60.0, gt=0, le=3600)
    quarantine_days: float = Field(default=30.0, gt=0, le=3650)
    quarantine_limit_mib: int = Field(default=1024, ge=1, le=1024 * 1024)

    @model_validator(mode="after")
    def _check(self) -> "ClickHouseConfig":
        if self.endpoint and self.path:
            raise ValueError("write path for the embedded engine or endpoint for a server, not both")
        of_a_server = self.model_fields_set - {"path", "endpoint", "quarantine_days", "quarantine_limit_mib"}
        if of_a_server and not self.endpoint:
            raise ValueError(f"{min(of_a_server)} belongs to a server: write its endpoint, too")
        return self


Role = Literal["receivers", "processors", "exporters", "extensions"]
Types = Mapping[Role, Mapping[str, type[Strict]]]

TYPES: Types = MappingProxyType(
    {
        "receivers": {"otlp": OtlpConfig},
        "processors": {"schema": SchemaConfig, "redact": RedactConfig, "split": SplitConfig},
        "exporters": {"files": FilesConfig, "s3": S3Config, "clickhouse": ClickHouseConfig, "vault": VaultConfig},
        "extensions": {
            "bearertokenauth": BearerTokenAuthConfig,
            "health_check": HealthCheckConfig,
            "read_api": ReadApiConfig,
            "run_list": RunListConfig,
            "spool": SpoolConfig,
        },
    }
)
"""Role -> component type -> what may be written for it."""
