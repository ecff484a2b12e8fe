"""TLS on receivers and read API, with the exporters that agents have; and what is said of files that are no good."""

import json
import os
import ssl
import subprocess
import sys
from pathlib import Path

import grpc
import pytest

import otlp_build as build
from certificates import Authority, Pair
from collector_kit import CONFIG, Store, ask, collector
from e2e_kit import runreel
from runreel.collector import config
from runreel.collector.settings import TlsConfig
from runreel.collector.tls import load
from runreel.errors import ConfigError, StoreError
from tls_kit import exported, grpc_exporter, http_exporter, no_bundle, opened, text


@pytest.fixture(autouse=True)
def _no_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    no_bundle(monkeypatch)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="module")
def server(authority: Authority) -> Pair:
    return authority.pair("server")


@pytest.fixture(scope="module")
def client(authority: Authority) -> Pair:
    return authority.pair("client")


def test_real_exporters_send_over_tls(tmp_path: Path, authority: Authority, server: Pair) -> None:
    store = Store()
    with collector(tmp_path, store, text(server)) as running:
        assert str(running.service.otlp_http).startswith("https://127.0.0.1:")
        assert exported(grpc_exporter(running, authority.cert), "by gRPC")
        assert exported(http_exporter(running, authority.cert), "by HTTP")

    assert {span.name for span in store.spans} == {"by gRPC", "by HTTP"}


def test_who_does_not_know_the_authority_sends_nothing(tmp_path: Path, server: Pair) -> None:
    other = Authority(tmp_path / "other").cert
    store = Store()
    with collector(tmp_path / "home", store, text(server)) as running:
        with pytest.raises(ssl.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
            opened(str(running.service.otlp_http), other)
        with pytest.raises(grpc.FutureTimeoutError):
            channel = grpc.secure_channel(running.grpc, grpc.ssl_channel_credentials(other.read_bytes()))
            grpc.channel_ready_future(channel).result(1)

    assert store.spans == []


def test_with_a_client_authority_only_its_clients_are_let_in(
    tmp_path: Path, authority: Authority, server: Pair, client: Pair
) -> None:
    stranger = Authority(tmp_path / "other").pair("stranger")
    body = build.req(build.agent()).SerializeToString()
    store = Store()
    with collector(tmp_path / "home", store, text(server, authority.cert)) as running:
        url = f"{running.service.otlp_http}/v1/traces"
        for pair in (None, stranger):
            with pytest.raises((ssl.SSLError, OSError)):
                opened(url, authority.cert, pair, body)
        refused = [
            grpc.channel_ready_future(
                grpc.secure_channel(
                    running.grpc,
                    grpc.ssl_channel_credentials(
                        authority.cert.read_bytes(),
                        pair.key.read_bytes() if pair else None,
                        pair.cert.read_bytes() if pair else None,
                    ),
                )
            )
            for pair in (None, stranger)
        ]
        for future in refused:
            with pytest.raises(grpc.FutureTimeoutError):
                future.result(1)
        assert store.spans == []

        assert exported(grpc_exporter(running, authority.cert, client), "by gRPC")
        assert exported(http_exporter(running, authority.cert, client), "by HTTP")

    assert {span.name for span in store.spans} == {"by gRPC", "by HTTP"}


def test_commands_of_this_machine_send_through_the_read_api_with_their_token(tmp_path: Path, server: Pair) -> None:
    store = Store()
    body = build.req(build.agent()).SerializeToString()
    with collector(tmp_path, store, text(server)) as running:
        url = f"{running.at.otlp_http}/v1/traces"
        without = ask(url, body)
        sent = ask(url, body, authorization=f"Bearer {running.at.token}")

    assert running.at.otlp_http == running.at.api
    assert (without.status, sent.status) == (401, 200)
    assert len(store.spans) == 1


def test_the_read_api_over_tls_is_asked_by_a_command_that_knows_the_authority(
    tmp_path: Path, authority: Authority, server: Pair
) -> None:
    with collector(tmp_path / "home", Store(), text(server, read_api=True)) as running:
        api, token = running.service.api_at, running.at.token
        document = json.loads(opened(f"{api}/api/v1/health", authority.cert, token=token))
        named = {"RUNREEL_COLLECTOR": api, "RUNREEL_TOKEN": token, "SSL_CERT_FILE": str(authority.cert)}
        listed = runreel(tmp_path / "none", "runs", "ls", "--json", env=named)
        unknown = runreel(tmp_path / "none", "runs", "ls", env={**named, "SSL_CERT_FILE": os.devnull}, code=None)

    assert document["status"] == "ok"
    assert listed.json() == []
    assert unknown.code == 1
    assert "certificate" in unknown.err.lower()


# --- what the configuration allows ---


def problems(made: str) -> str:
    with pytest.raises(ConfigError) as caught:
        config.parse(made, "test", {})
    return str(caught.value)


def test_a_clients_certificate_is_authentication_and_a_servers_alone_is_none(
    authority: Authority, server: Pair
) -> None:
    abroad = text(server, authority.cert).replace("127.0.0.1:0", "0.0.0.0:0")
    config.parse(abroad.replace('read_api: {endpoint: "0.0.0.0:0"', 'read_api: {endpoint: "127.0.0.1:0"'), "test", {})

    said = problems(text(server).replace("127.0.0.1:0", "0.0.0.0:0"))

    assert "without authentication" in said


def test_the_read_api_listens_elsewhere_over_tls_only(server: Pair) -> None:
    config.parse(
        text(server, read_api=True).replace('read_api: {endpoint: "127.0.0.1:0"', 'read_api: {endpoint: "0.0.0.0:0"'),
        "t",
        {},
    )

    assert "loopback" in problems(CONFIG.replace("read_api: ", 'read_api: {endpoint: "0.0.0.0:0"}'))


def test_keys_that_are_missing_or_unknown_are_said(server: Pair) -> None:
    assert "key_file" in problems(text(server).replace(f", key_file: '{server.key}'", ""))
    assert "min_version" in problems(text(server).replace("cert_file:", "min_version: '1.0', cert_file:"))


# --- files that are no good ---


@pytest.fixture
def bad(tmp_path: Path, authority: Authority, server: Pair) -> dict[str, Path]:
    garbage, empty = tmp_path / "garbage.pem", tmp_path / "empty.pem"
    garbage.write_bytes(b"\xff\x00 no PEM")
    empty.write_bytes(b"")
    broken = tmp_path / "broken.key"
    broken.write_text("-----BEGIN PRIVATE KEY-----\nbm8ga2V5\n-----END PRIVATE KEY-----\n")
    return {
        "good": server.cert,
        "good key": server.key,
        "missing": tmp_path / "nowhere.pem",
        "folder": tmp_path,
        "garbage": garbage,
        "empty": empty,
        "broken": broken,
        "other key": authority.pair("other").key,
        "locked": authority.pair("locked", b"secret").key,
        "locked cert": authority.pair("locked", b"secret").cert,
    }


@pytest.mark.parametrize(
    ("cert", "key", "ca", "says"),
    [
        ("missing", "good key", None, "x::cert_file: cannot read .*nowhere.pem: No such file"),
        ("folder", "good key", None, "x::cert_file: cannot read .*: Is a directory"),
        ("garbage", "good key", None, "x::cert_file: .*garbage.pem holds no certificate in PEM"),
        ("empty", "good key", None, "x::cert_file: .*empty.pem holds no certificate in PEM"),
        ("good key", "good key", None, "x::cert_file: .*server.key holds no certificate"),
        ("good", "missing", None, "x::key_file: cannot read"),
        ("good", "good", None, "x::key_file: .* holds no private key in PEM"),
        ("good", "broken", None, "x::key_file: .*broken.key is no private key that can be used"),
        ("good", "other key", None, "x::key_file: .*other.key is not the key of the certificate in .*server.pem"),
        ("good", "locked", None, "x::key_file: .*locked.key needs a password"),
        ("good", "good key", "missing", "x::client_ca_file: cannot read"),
        ("good", "good key", "garbage", "x::client_ca_file: .*garbage.pem holds no certificate"),
    ],
)
def test_a_bad_file_is_said_with_its_key_and_what_is_wrong(
    bad: dict[str, Path], cert: str, key: str, ca: str | None, says: str
) -> None:
    settings = TlsConfig(cert_file=str(bad[cert]), key_file=str(bad[key]), client_ca_file=str(bad[ca]) if ca else None)

    with pytest.raises(StoreError, match=says):
        load(settings, "x")


def test_a_collector_with_a_bad_file_does_not_start_and_leaves_nothing(tmp_path: Path, server: Pair) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(text(Pair(server.cert, tmp_path / "nowhere.key")))
    home = tmp_path / "home"

    done = subprocess.run(
        [sys.executable, "-m", "runreel", "serve", "--home", str(home), "--config", str(file)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 1
    assert "protocols::grpc::tls::key_file: cannot read" in done.stderr
    assert not (home / "collector.json").exists()
