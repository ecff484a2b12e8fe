"""A ClickHouse server over HTTP or HTTPS: the same tables and the same client as the embedded engine."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from runreel.errors import ConsumeError, StoreError
from runreel.exporters import cluster, schema
from runreel.exporters.connection import Connection, describe, quiet


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the server is, and as whom it is used.

    Attributes:
        endpoint: `http://host:8123` or `https://host:8443`.
        cluster_name: The cluster's name: tables are replicated and distributed over it. Empty: one server.
        ca_file: Certificates of the authority that signed the server's; empty: the system's.
        timeout_s: How long an answer may take.
    """

    endpoint: str
    username: str = "default"
    password: str = field(default="", repr=False)
    cluster_name: str = ""
    ca_file: str = ""
    timeout_s: float = 60.0


class Server(Connection):
    """A connection to a server. Thread-safe. Make it with `connect`; `close` is safe twice.

    A server that goes away is not missed until something is asked of it: that raises RetryableError (an insert) or
    StoreError (a read), and the next one connects again.
    """

    over_network = True

    def __init__(self, settings: ServerSettings) -> None:
        super().__init__(settings.endpoint)
        self.cluster = settings.cluster_name

    @classmethod
    def connect(cls, settings: ServerSettings) -> "Server":
        """Connect, and bring the tables up to date.

        Raises:
            StoreError: the server does not answer, does not know the user, or its tables are of a newer RunReel.
        """
        from clickhouse_connect.driver.exceptions import ClickHouseError

        quiet()
        server = cls(settings)
        failure = ""
        try:
            server._writer = _client(settings)
            server._reader = _client(settings)
            schema.migrate(server, cluster.ddl(settings.cluster_name) if settings.cluster_name else None)
        except ClickHouseError as error:
            failure = _why(error)
        except ConsumeError as error:
            failure = str(error)
        except BaseException:
            server.close()
            raise
        if failure:
            server.close()
            raise StoreError(f"cannot use the ClickHouse server {settings.endpoint}: {failure}")
        return server


def _client(settings: ServerSettings) -> Any:
    from clickhouse_connect import get_client

    where = urlsplit(settings.endpoint)
    if where.scheme not in ("http", "https") or not where.hostname or where.path not in ("", "/") or where.username:
        raise StoreError(
            f"{settings.endpoint!r} is no ClickHouse endpoint: write http://host:8123 or https://host:8443"
        )
    return get_client(
        interface=where.scheme,
        host=where.hostname,
        port=where.port or (8443 if where.scheme == "https" else 8123),
        username=settings.username,
        password=settings.password,
        ca_cert=settings.ca_file or None,
        connect_timeout=min(settings.timeout_s, 10),
        send_receive_timeout=settings.timeout_s,
        # Several threads share a client: a session would let one query at a time.
        autogenerate_session_id=False,
        # A lost answer leaves it open whether the insert was taken; whoever sends it again uses its token.
        query_retries=0,
        show_clickhouse_errors="scrub",
    )


def _why(error: Exception) -> str:
    code = getattr(error, "code", None)
    if code == 516:
        return "it does not know this user or password (engine error 516)"
    if code == 497:
        return "this user may not make its tables (engine error 497): `runreel db migrate` as one who may"
    return f"{describe(error)}. Is it running, and is the address right?" if code is None else describe(error)
