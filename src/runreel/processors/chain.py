"""The way of every batch, from whatever side it comes: schema, then redact, then split. The order is a promise."""

from pathlib import Path

from runreel.component import RedactProcessor, SchemaProcessor, SplitProcessor
from runreel.processors.redact.settings import RedactSettings
from runreel.processors.schema import Schema
from runreel.processors.split import Split
from runreel.values import DEFAULT_TENANT, CleanBatch, RawBatch, SplitBatch


class Chain:
    """The three processors as one step. As thread-safe as they are."""

    def __init__(self, schema: SchemaProcessor, redact: RedactProcessor, split: SplitProcessor) -> None:
        self._schema = schema
        self._redact = redact
        self._split = split

    def process(self, batch: RawBatch) -> SplitBatch:
        """Return the batch as it may be stored."""
        return self._split.process(self.clean(batch))

    def clean(self, batch: RawBatch) -> CleanBatch:
        """Return the batch redacted, and still whole."""
        return self._redact.process(self._schema.process(batch))


def default_chain(home: Path, tenant: str = DEFAULT_TENANT, settings: RedactSettings | None = None) -> Chain:
    """Return the chain with the tenant's key of a data folder, made there if missing.

    Raises:
        ConfigError: the key is there and cannot be used, or the settings make no sense.
    """
    from runreel.processors.redact.keys import load_key
    from runreel.processors.redact.redactor import Redactor

    return Chain(Schema(), Redactor(load_key(home, tenant), settings or RedactSettings()), Split())
