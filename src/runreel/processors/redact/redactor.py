"""The redact processor: every text of every field, at every depth, before anything is written anywhere."""

from time import thread_time

from runreel.processors.redact.budget import Clock
from runreel.processors.redact.detect import Detector
from runreel.processors.redact.keys import TenantKey
from runreel.processors.redact.search import Search
from runreel.processors.redact.settings import RedactSettings
from runreel.processors.redact.texts import Texts
from runreel.processors.redact.values import Values
from runreel.processors.redact.walk import Walk
from runreel.values import CleanBatch, RawBatch


class Redactor:
    """Replaces secrets by `<SECRET:rule>` and personal data by tokens such as `<EMAIL_7f3a9c02>`.

    The same value gets the same token everywhere, as long as the tenant's key is the same. A second redaction changes
    nothing. A value whose redaction fails, or takes longer than its budget, is withheld: `<WITHHELD:redaction_failed>`
    and a mark `withheld:<path>:redaction_failed` stand in its place, and `redaction_failures` counts it.

    Thread-safe; one redactor serves all threads. Building one imports Presidio, which takes about two seconds.
    Raises ConfigError for unknown entities and regions.
    """

    def __init__(
        self,
        key: TenantKey,
        settings: RedactSettings = RedactSettings(),  # noqa: B008 - frozen
        *,
        detector: Detector | None = None,
        hyperscan: bool | None = None,
        clock: Clock = thread_time,
    ) -> None:
        """`detector`, `hyperscan` (demand it, or do without) and `clock` (CPU seconds) are what tests replace."""
        found = detector or Detector(settings.entities, settings.regions, hyperscan=hyperscan)
        search = Search(settings, found, hyperscan=hyperscan)
        self._values = Values(Texts(key.secret, settings, search), settings, clock)

    def process(self, batch: RawBatch) -> CleanBatch:
        """Return the batch redacted. Never raises for what a batch holds."""
        return Walk(self._values).batch(batch)

    def text(self, text: str) -> str:
        """Return one text redacted; `<WITHHELD:redaction_failed>` where that fails. Never raises."""
        return Walk(self._values).text(text)
