"""OTLP export of a stored run is what came in, redaction aside."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from e2e_kit import CAPTURES, runreel, serving
from runreel import otlp
from runreel.processors.chain import default_chain
from runreel.values import RawBatch, Span

NAMES = (
    "otel-genai-openai/content-span",
    "otel-genai-openai/scenario-secret",
    "otel-genai-openai/scenario-toolerror",
    "openinference-openai/content-on",
    "openinference-openai/image",
    "langgraph/openinference",
    "pydantic-ai/content-on",
)


def sent(name: str) -> tuple[Span, ...]:
    """Return the spans of a capture as their sender sent them."""
    files = sorted((CAPTURES / name).glob("*-traces.bin"))
    return tuple(
        span for file in files for span in otlp.decode("traces", file.read_bytes(), "protobuf", "default").spans
    )


def plain(spans: tuple[Span, ...]) -> dict[str, Span]:
    """Return spans by id, without what the store adds."""
    return {span.key.span_id: replace(span, key=replace(span.key, copy=""), marks=()) for span in spans}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("exported") / "home"
    runreel(folder, "runs", "import", *(CAPTURES / name for name in NAMES))
    with serving(folder):
        yield folder


@pytest.mark.parametrize("format_", ["otlp", "otlp-json"])
def test_every_span_comes_out_as_it_was_redacted(format_: str, home: Path, tmp_path: Path) -> None:
    chain = default_chain(home)

    for name in NAMES:
        spans = sent(name)
        redacted = chain.clean(RawBatch("default", spans)).spans
        file = tmp_path / "exported"
        runreel(home, "runs", "export", spans[0].key.trace_id, "--format", format_, "--output", file)
        line = file.read_bytes() if format_ == "otlp" else file.read_bytes().splitlines()[0]
        exported = otlp.decode("traces", line, "protobuf" if format_ == "otlp" else "json", "default").spans

        assert plain(exported) == plain(redacted), name
