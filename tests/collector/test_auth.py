"""Who may send: tokens over gRPC and HTTP, from the configuration and from a file."""

import os
from pathlib import Path

import grpc
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult

import otlp_build as build
from collector_kit import CONFIG, Running, Store, ask, collector
from e2e_kit import CAPTURES, runreel
from runreel.collector.auth import BearerTokens
from runreel.collector.settings import BearerTokenAuthConfig
from runreel.errors import StoreError
from serve_kit import serve

TOKEN = "correct-horse-battery-staple"
BODY = build.req(build.agent()).SerializeToString()
PROTECTED = (
    CONFIG.replace('{endpoint: "127.0.0.1:0"}', '{endpoint: "127.0.0.1:0", auth: {authenticator: bearertokenauth}}')
    .replace("{read_api: }", f"{{read_api: , bearertokenauth: {{token: {TOKEN}}}}}")
    .replace("[read_api]", "[read_api, bearertokenauth]")
)


def over_grpc(running: Running, **headers: str) -> str:
    """The status of one export: OK, or the code's name."""
    channel = grpc.insecure_channel(running.grpc)
    call = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
    try:
        call(BODY, metadata=tuple(headers.items()), timeout=30)
    except grpc.RpcError as error:
        return str(error.code().name)
    finally:
        channel.close()
    return "OK"


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer wrong-horse-battery-staple", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer \u00e9"],
)
def test_nobody_is_let_in_without_the_token(tmp_path: Path, header: str) -> None:
    store = Store()
    with collector(tmp_path, store, PROTECTED) as running:
        given = {"authorization": header} if header else {}
        over_http = ask(
            f"{running.service.otlp_http}/v1/traces",
            BODY,
            **{name: value.encode().decode("latin-1") for name, value in given.items()},
        )
        by_grpc = over_grpc(running, **given) if header.isascii() else "UNAUTHENTICATED"

        assert (over_http.status, over_http.headers["www-authenticate"]) == (401, "Bearer")
        assert "OTEL_EXPORTER_OTLP_HEADERS" in over_http.json()["message"]
        assert by_grpc == "UNAUTHENTICATED"
        assert running.counts["runreel_refused_requests{reason=unauthenticated,transport=http}"] == 1
    assert store.batches == []
    assert TOKEN not in over_http.body.decode()


def test_who_brings_the_token_is_let_in(tmp_path: Path) -> None:
    with collector(tmp_path, Store(), PROTECTED) as running:
        http = running.service.otlp_http
        assert ask(f"{http}/v1/traces", BODY, authorization=f"Bearer {TOKEN}").status == 200
        assert ask(f"{http}/v1/traces", BODY, authorization=f"bearer  {TOKEN} ").status == 200
        assert over_grpc(running, authorization=f"Bearer {TOKEN}") == "OK"


def test_real_exporters_bring_it_as_their_headers_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization=Bearer%20{TOKEN}")
    store = Store()
    with collector(tmp_path, store, PROTECTED) as running:
        exporters = [HttpExporter(f"{running.service.otlp_http}/v1/traces"), GrpcExporter(running.grpc, insecure=True)]
        for exporter in exporters:
            tracer = TracerProvider().get_tracer("test")
            span = tracer.start_span("chat m")
            span.end()
            assert exporter.export([span]) is SpanExportResult.SUCCESS  # type: ignore[list-item]
            exporter.shutdown()
    assert len(store.spans) == 2


@pytest.mark.parametrize("named", [False, True], ids=["of this folder", "named"])
def test_a_command_imports_and_lists_with_the_token_that_reads_runs_and_the_receivers_is_another(
    tmp_path: Path, named: bool
) -> None:
    with serve(tmp_path / "home", PROTECTED) as serving:
        env = {"RUNREEL_COLLECTOR": serving.at.api, "RUNREEL_TOKEN": serving.at.token} if named else {}
        home = tmp_path / ("none" if named else "home")
        capture = CAPTURES / "otel-genai-openai" / "content-off"

        imported = runreel(home, "runs", "import", capture, "--json", env=env).json()

        listed = runreel(home, "runs", "ls", "--json", env=env).json()
        http = serving.ready.partition(" http ")[2].partition(" ")[0]
        refused = ask(f"{http}/v1/traces", BODY, authorization=f"Bearer {serving.at.token}")
        theirs = ask(f"{serving.at.api}/v1/traces", BODY, authorization=f"Bearer {TOKEN}")
    assert (imported["failed"], len(listed)) == ([], 1)
    assert (refused.status, theirs.status) == (401, 401)


def test_a_command_without_a_token_is_told_what_to_set(tmp_path: Path) -> None:
    with serve(tmp_path / "home", PROTECTED) as serving:
        words = ("runs", "import", CAPTURES / "otel-genai-openai" / "content-off", "--collector", serving.at.api)
        without = runreel(tmp_path / "none", *words, code=64)
        wrong = runreel(tmp_path / "none", *words, env={"RUNREEL_TOKEN": TOKEN}, code=1)

    assert "RUNREEL_TOKEN" in without.err
    assert "RUNREEL_TOKEN" in wrong.err
    assert TOKEN not in without.err + wrong.err


# --- the tokens ---


def test_a_file_of_tokens_is_read_again_when_it_changes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"# team one\n{TOKEN}\n\nanother-token-of-many\n")
    tokens = BearerTokens(BearerTokenAuthConfig(filename=str(file)))
    assert tokens.allows(f"Bearer {TOKEN}")
    assert tokens.allows("Bearer another-token-of-many")
    assert not tokens.allows("Bearer # team one")

    new = tmp_path / "new"
    new.write_text("only-this-token-now\n")
    os.replace(new, file)
    assert tokens.allows("Bearer only-this-token-now")
    assert not tokens.allows(f"Bearer {TOKEN}")

    file.unlink()
    assert tokens.allows("Bearer only-this-token-now")  # while it is being replaced
    file.write_text("short\n")
    assert tokens.allows("Bearer only-this-token-now")
    assert "the file of tokens cannot be read again" in caplog.text
    assert "only-this-token-now" not in caplog.text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "there is no token in .*: write one a line"),
        (b"# nothing\n", "there is no token"),
        (b"long-enough-to-be-one\ntoo-short\n", "line 2: a token has at least 16 characters"),
        (b"\xff", "not UTF-8"),
        (None, "No such file"),
    ],
)
def test_a_file_that_holds_no_tokens_is_said(tmp_path: Path, text: bytes | None, said: str) -> None:
    file = tmp_path / "tokens"
    if text is not None:
        file.write_bytes(text)

    with pytest.raises(StoreError, match=said):
        BearerTokens(BearerTokenAuthConfig(filename=str(file)))
