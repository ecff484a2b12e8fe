"""What RunReel is held against: Presidio as it comes, `otel_traces` as the OpenTelemetry exporter lays it out, and a
store that keeps each attribute whole."""

import hashlib
import importlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import traffic
import zstandard

from runreel.processors.redact.recognisers import PRESIDIO_NAMES
from runreel.values import Span

STOCK_REGIONS = ("US", "GB", "DE", "FR", "IL", "IN", "CA", "BR")
"""The phone regions that Presidio looks for when nobody says otherwise (it writes GB as UK, and France as FE)."""


class Presidio:
    """The stock analyser with the recognisers of RunReel's seven default entities only: without NLP, or with the
    language model that a spaCy package holds."""

    def __init__(self, regions: Sequence[str], model: str = "") -> None:
        """Raises ImportError where the model's package is not installed."""
        import tldextract.tldextract
        from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
        from presidio_analyzer import predefined_recognizers as predefined
        from presidio_analyzer.nlp_engine import NoOpNlpEngine

        # As shipped it asks the network for a list; the one in the package does.
        tldextract.tldextract.TLD_EXTRACTOR.suffix_list_urls = ()
        registry = RecognizerRegistry(
            recognizers=[
                predefined.EmailRecognizer(),
                predefined.PhoneRecognizer(supported_regions=regions),
                predefined.CreditCardRecognizer(),
                predefined.IbanRecognizer(),
                predefined.IpRecognizer(),
                predefined.UsSsnRecognizer(),
                predefined.CryptoRecognizer(),
            ],
            supported_languages=["en"],
        )
        nlp = _spacy(model) if model else NoOpNlpEngine([{"lang_code": "en", "model_name": "none"}])
        self._engine = AnalyzerEngine(registry=registry, nlp_engine=nlp, supported_languages=["en"])
        self._entities = list(PRESIDIO_NAMES.values())
        self.find("warm: dana@example.com")

    def find(self, text: str) -> list[Any]:
        """Return Presidio's results for a text."""
        found: list[Any] = self._engine.analyze(text, language="en", entities=self._entities)
        return found

    def findings(self, text: str) -> set[tuple[str, int, int, float]]:
        """Return (our entity, start, end, score) of each result."""
        ours = {theirs: ours for ours, theirs in PRESIDIO_NAMES.items()}
        return {(ours[result.entity_type], result.start, result.end, result.score) for result in self.find(text)}

    def redact(self, text: str) -> str:
        """Return the text with each finding replaced by the name of its entity."""
        out: list[str] = []
        last = 0
        for result in sorted(self.find(text), key=lambda result: (result.start, -result.end)):
            if result.start >= last:
                out += [text[last : result.start], f"<{result.entity_type}>"]
                last = result.end
        return "".join([*out, text[last:]])


def _spacy(model: str) -> Any:
    """Return Presidio's engine for spaCy with the model of an installed package, which it would download by a name of
    its own."""
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    loaded = importlib.import_module(model).load()
    engine = SpacyNlpEngine([{"lang_code": "en", "model_name": model}])
    vars(engine)["nlp"] = {"en": loaded}
    return engine


class WholeAttributes:
    """Content-addressed files, one for each attribute value: SHA-256, zstd level 3, written aside and renamed.

    Nothing is flushed to the disk: this side does not promise that what it took is durable, and is the quicker for it.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._compressor = zstandard.ZstdCompressor(level=3)
        root.mkdir(parents=True, exist_ok=True)

    def put(self, text: str) -> str:
        """Store a value; return its address."""
        data = text.encode()
        name = hashlib.sha256(data).hexdigest()
        folder = self._root / name[:2]
        file = folder / name
        if not file.exists():
            folder.mkdir(exist_ok=True)
            descriptor, aside = tempfile.mkstemp(dir=self._root)
            with os.fdopen(descriptor, "wb") as out:
                out.write(self._compressor.compress(data))
            os.replace(aside, file)
        return name


class OtelTraces:
    """Table `otel_traces` with the columns, codecs, indexes and order of OpenTelemetry's exporter for ClickHouse, in a
    database of its own in an open chDB folder."""

    DATABASE = "bench"
    _DDL = """
        CREATE TABLE bench.{table} (
            Timestamp DateTime64(9) CODEC(Delta, ZSTD(1)),
            TraceId String CODEC(ZSTD(1)),
            SpanId String CODEC(ZSTD(1)),
            ParentSpanId String CODEC(ZSTD(1)),
            TraceState String CODEC(ZSTD(1)),
            SpanName LowCardinality(String) CODEC(ZSTD(1)),
            SpanKind LowCardinality(String) CODEC(ZSTD(1)),
            ServiceName LowCardinality(String) CODEC(ZSTD(1)),
            ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
            ScopeName String CODEC(ZSTD(1)),
            ScopeVersion String CODEC(ZSTD(1)),
            SpanAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
            Duration UInt64 CODEC(ZSTD(1)),
            StatusCode LowCardinality(String) CODEC(ZSTD(1)),
            StatusMessage String CODEC(ZSTD(1)),
            Events Nested (
                Timestamp DateTime64(9),
                Name LowCardinality(String),
                Attributes Map(LowCardinality(String), String)
            ) CODEC(ZSTD(1)),
            INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
            INDEX idx_res_attr_key mapKeys(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
            INDEX idx_res_attr_value mapValues(ResourceAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
            INDEX idx_span_attr_key mapKeys(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
            INDEX idx_span_attr_value mapValues(SpanAttributes) TYPE bloom_filter(0.01) GRANULARITY 1,
            INDEX idx_duration Duration TYPE minmax GRANULARITY 1
        ) ENGINE = MergeTree PARTITION BY toDate(Timestamp)
        ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))
    """

    def __init__(self, folder: Path, table: str = "otel_traces") -> None:
        from clickhouse_connect import get_client

        self.table = table

        self._client = get_client(interface="chdb", path=str(folder))
        self._client.command(f"CREATE DATABASE IF NOT EXISTS {self.DATABASE}")
        self._client.command(self._DDL.format(table=table))

    def insert(self, spans: Sequence[Span], replaced: Mapping[str, str] | None = None) -> None:
        """Insert spans. `replaced` maps values to what the table holds in their place."""
        put = replaced or {}
        rows = [_otel_row(span, put) for span in spans]
        names = list(rows[0])
        columns = [[row[name] for row in rows] for name in names]
        self._client.insert(self.table, columns, column_names=names, database=self.DATABASE, column_oriented=True)

    def close(self) -> None:
        self._client.close()


def _otel_row(span: Span, put: Mapping[str, str]) -> dict[str, Any]:
    resource = {key: str(value) for key, value in span.resource.attributes.items()}
    return {
        "Timestamp": span.start_ns,
        "TraceId": span.key.trace_id,
        "SpanId": span.key.span_id,
        "ParentSpanId": span.parent_id or "",
        "TraceState": span.trace_state,
        "SpanName": span.name,
        "SpanKind": str(span.kind),
        "ServiceName": resource.get("service.name", ""),
        "ResourceAttributes": resource,
        "ScopeName": span.scope.name,
        "ScopeVersion": span.scope.version,
        "SpanAttributes": {key: put.get(text, text) for key, text in texts_of(span).items()},
        "Duration": max(0, span.end_ns - span.start_ns),
        "StatusCode": str(span.status),
        "StatusMessage": span.message,
        "Events.Timestamp": [event.time_ns for event in span.events],
        "Events.Name": [event.name for event in span.events],
        "Events.Attributes": [{key: str(value) for key, value in event.attributes.items()} for event in span.events],
    }


def texts_of(span: Span) -> dict[str, str]:
    """Return the attributes of a span as text, as a map of strings holds them."""
    return {key: value if isinstance(value, str) else str(value) for key, value in span.attributes.items()}


def contents(span: Span) -> list[str]:
    """Return the values of a span's attributes that carry content."""
    return [value for key in traffic.PAYLOAD_KEYS if isinstance(value := span.attributes.get(key), str)]
