"""schema, redact and split as one step: collector, import and replay run the same chain."""

from pathlib import Path

from runreel.component import RedactProcessor, SchemaProcessor, SplitProcessor
from runreel.processors.redact import Redactor, RedactSettings, load_key
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.values import DEFAULT_TENANT, CleanBatch, RawBatch, SplitBatch


class Chain:
    """The processors in their one order. Thread-safe where they are; ours are."""

    def __init__(self, schema: SchemaProcessor, redact: RedactProcessor, split: SplitProcessor) -> None:
        self._schema = schema
        self._redact = redact
        self._split = split

    def clean(self, batch: RawBatch) -> CleanBatch:
        """Return the batch with facts, redacted and still whole."""
        return self._redact.process(self._schema.process(batch))

    def text(self, text: str) -> str:
        """Return one text redacted. Raises what a detector raises: the caller must withhold the text then."""
        return self._redact.text(text)

    def process(self, batch: RawBatch) -> SplitBatch:
        """Return the batch as it may be stored."""
        return self._split.process(self.clean(batch))


def default_chain(
    home: Path,
    tenant: str = DEFAULT_TENANT,
    settings: RedactSettings = RedactSettings(),  # noqa: B008 - frozen
    *,
    threshold_bytes: int = 256,
) -> Chain:
    """Build the chain with the tenant's key (see `load_key`), which is made on first use.

    Takes about two seconds: it imports the detectors. Raises ConfigError for a key that is malformed or cannot be
    read, and for unknown entities or regions.
    """
    return Chain(Schema(), Redactor(load_key(home, tenant), settings), Split(threshold=threshold_bytes))
