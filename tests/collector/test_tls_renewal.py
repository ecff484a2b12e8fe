"""Certificates that are renewed while a collector runs: the next connection sees the new one, on every listener."""

import logging
import socket
import ssl
from pathlib import Path

import grpc
import pytest
from cryptography import x509

import otlp_build as build
from certificates import Authority, Pair
from collector_kit import Running, Store, collector
from runreel.collector.telemetry import RENEWALS
from tls_kit import exported, grpc_exporter, http_exporter, no_bundle, opened, text

BODY = build.req(build.agent()).SerializeToString()


@pytest.fixture(autouse=True)
def _no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    no_bundle(monkeypatch)


class Site:
    """The files that a collector is told, and who signs what is in them."""

    def __init__(self, folder: Path, *, clients: bool = False) -> None:
        self.folder = folder
        self.authority = Authority(folder / "first")
        made = self.authority.pair("server")
        self.pair = Pair(folder / "tls.pem", folder / "tls.key")
        self.ca = folder / "clients.pem" if clients else None
        self.put(made, self.authority)

    def put(self, made: Pair, authority: Authority | None = None) -> None:
        """Put a pair in the place of the one that is there, each file in one step, as renewals do."""
        files = [(made.cert, self.pair.cert), (made.key, self.pair.key)]
        if self.ca is not None and authority is not None:
            files.append((authority.cert, self.ca))
        for source, target in files:
            new = target.with_suffix(".new")
            new.write_bytes(source.read_bytes())
            new.replace(target)

    def renew(self) -> Authority:
        """Put a pair of another authority there, and that authority for clients; return it."""
        authority = Authority(self.folder / "second")
        self.put(authority.pair("server"), authority)
        return authority


def listeners(running: Running) -> dict[str, int]:
    """The port of everything that listens over TLS."""
    urls = {"grpc": running.grpc, "http": str(running.service.otlp_http), "api": running.service.api_at}
    return {name: int(url.rpartition(":")[2]) for name, url in urls.items()}


def shown(port: int, name: str | None = None) -> int:
    """The serial number of the certificate that a listener shows a client, who may name it, or not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("127.0.0.1", port), 30) as plain,
        context.wrap_socket(plain, server_hostname=name) as secure,
    ):
        found = secure.getpeercert(binary_form=True)
    assert found
    return x509.load_der_x509_certificate(found).serial_number


def serial(pair: Pair) -> int:
    return x509.load_pem_x509_certificate(pair.cert.read_bytes()).serial_number


def outcomes(running: Running) -> dict[str, int]:
    found = {"ok": 0, "failed": 0}
    for (name, labels), count in running.service.counts.counts().items():
        if name == RENEWALS:
            found[dict(labels)["outcome"]] += count
    return found


@pytest.mark.parametrize("name", [None, "server"], ids=["without a name", "with a name"])
def test_a_renewed_certificate_is_shown_to_the_next_client_of_every_listener(
    tmp_path: Path, name: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    site = Site(tmp_path)
    with collector(tmp_path / "home", Store(), text(site.pair, read_api=True)) as running:
        before = {shown(port, name) for port in listeners(running).values()}
        first = serial(site.pair)

        site.put(site.authority.pair("server"))

        after = {shown(port, name) for port in listeners(running).values()}
        again = {shown(port, name) for port in listeners(running).values()}
        counted = outcomes(running)
    assert before == {first}
    assert after == again == {serial(site.pair)} != {first}
    assert counted == {"ok": 3, "failed": 0}
    assert caplog.text.count("a new certificate is in use") == 3


def test_real_exporters_that_know_only_the_new_authority_send_after_the_renewal(tmp_path: Path) -> None:
    site, store = Site(tmp_path), Store()
    with collector(tmp_path / "home", store, text(site.pair)) as running:
        kept = grpc_exporter(running, site.authority.cert)
        assert exported(http_exporter(running, site.authority.cert), "before")

        new = site.renew()

        assert exported(http_exporter(running, new.cert), "HTTP after")
        assert exported(grpc_exporter(running, new.cert), "gRPC after")
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
            opened(str(running.service.otlp_http), site.authority.cert)
        kept.shutdown()
    assert {span.name for span in store.spans} == {"before", "HTTP after", "gRPC after"}


def test_a_connection_that_is_open_stays_so(tmp_path: Path) -> None:
    site, store = Site(tmp_path), Store()
    with collector(tmp_path / "home", store, text(site.pair)) as running:
        credentials = grpc.ssl_channel_credentials(site.authority.cert.read_bytes())
        with grpc.secure_channel(running.grpc, credentials) as channel:
            call = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
            call(BODY, timeout=30)

            site.renew()

            call(build.req(build.agent(tid="1" * 32)).SerializeToString(), timeout=30)
    assert len(store.spans) == 2


@pytest.mark.parametrize("how", ["garbage", "key of another", "gone", "half"])
def test_a_pair_that_is_no_good_is_said_and_counted_once_and_the_one_before_stays(
    tmp_path: Path, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    site = Site(tmp_path)
    with collector(tmp_path / "home", Store(), text(site.pair, read_api=True)) as running:
        first = serial(site.pair)
        match how:
            case "garbage":
                site.pair.cert.write_text("no PEM")
            case "key of another":
                site.pair.key.write_bytes(Authority(tmp_path / "other").pair("x").key.read_bytes())
            case "gone":
                site.pair.key.unlink()
            case "half":
                site.pair.cert.write_bytes(site.pair.cert.read_bytes()[:200])

        for _ in range(2):
            assert {shown(port) for port in listeners(running).values()} == {first}
        assert outcomes(running) == {"ok": 0, "failed": 3}
        assert caplog.text.count("a new certificate cannot be used") == 3
        assert "PRIVATE KEY-----\n" not in caplog.text

        site.put(site.authority.pair("server"))
        assert {shown(port) for port in listeners(running).values()} == {serial(site.pair)}
        assert outcomes(running) == {"ok": 3, "failed": 3}


def test_the_authority_of_clients_is_renewed_too_and_those_of_the_old_one_stay_outside(tmp_path: Path) -> None:
    site, store = Site(tmp_path, clients=True), Store()
    old = site.authority.pair("client")
    with collector(tmp_path / "home", store, text(site.pair, site.ca)) as running:
        assert exported(http_exporter(running, site.authority.cert, old), "HTTP before")
        assert exported(grpc_exporter(running, site.authority.cert, old), "gRPC before")

        new = site.renew()

        client = new.pair("client")
        assert exported(http_exporter(running, new.cert, client), "HTTP after")
        assert exported(grpc_exporter(running, new.cert, client), "gRPC after")
        for pair in (old, None):
            with pytest.raises((ssl.SSLError, OSError)):
                opened(f"{running.service.otlp_http}/v1/traces", new.cert, pair, BODY)
            key, chain = (pair.key.read_bytes(), pair.cert.read_bytes()) if pair else (None, None)
            credentials = grpc.ssl_channel_credentials(new.cert.read_bytes(), key, chain)
            with grpc.secure_channel(running.grpc, credentials) as channel, pytest.raises(grpc.FutureTimeoutError):
                grpc.channel_ready_future(channel).result(1)
    assert {span.name for span in store.spans} == {"HTTP before", "gRPC before", "HTTP after", "gRPC after"}


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS 1.2", "TLS 1.3"])
def test_a_session_from_before_does_not_let_a_client_of_the_old_authority_in(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    site, store = Site(tmp_path, clients=True), Store()
    old = site.authority.pair("client")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode, context.maximum_version = False, ssl.CERT_NONE, version
    context.load_cert_chain(old.cert, old.key)
    head = f"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: {len(BODY)}\r\nConnection: close\r\n"
    request = f"{head}Content-Type: application/x-protobuf\r\n\r\n".encode() + BODY
    with collector(tmp_path / "home", store, text(site.pair, site.ca)) as running:
        port = int(str(running.service.otlp_http).rpartition(":")[2])

        def posted(session: ssl.SSLSession | None) -> tuple[ssl.SSLSession | None, bool | None, bytes]:
            with (
                socket.create_connection(("127.0.0.1", port), 30) as plain,
                context.wrap_socket(plain, server_hostname="x", session=session) as secure,
            ):
                secure.sendall(request)
                answer = secure.recv(12)  # what a session is resumed with comes with it
                return secure.session, secure.session_reused, answer

        session, *_ = posted(None)
        _, reused, answer = posted(session)
        site.renew()
        try:
            after = posted(session)[1:]
        except (ssl.SSLError, OSError):
            after = (False, b"")
    assert (reused, answer, after) == (True, b"HTTP/1.1 200", (False, b""))
    assert len(store.spans) == 2


def test_a_folder_that_a_link_names_is_renewed_by_another_link(tmp_path: Path) -> None:
    """As a volume of secrets is: the files are links into a folder that one link names."""
    site = Site(tmp_path / "a")
    second = Authority(tmp_path / "b").pair("server")
    link = tmp_path / "current"
    for name, pair in (("one", site.pair), ("two", second)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tls.pem").write_bytes(pair.cert.read_bytes())
        (tmp_path / name / "tls.key").write_bytes(pair.key.read_bytes())
    link.symlink_to("one")
    with collector(tmp_path / "home", Store(), text(Pair(link / "tls.pem", link / "tls.key"))) as running:
        port = int(str(running.service.otlp_http).rpartition(":")[2])
        before = shown(port)

        (tmp_path / "new").symlink_to("two")
        (tmp_path / "new").replace(link)

        assert (before, shown(port)) == (serial(site.pair), serial(second))
