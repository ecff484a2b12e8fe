"""The redact processor: every text of every field, at every depth, before anything is written anywhere."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from time import thread_time

from runreel.canonical.tokens import TOKEN_RE
from runreel.processors.redact.budget import Budget, Clock
from runreel.processors.redact.declared import Declared
from runreel.processors.redact.detect import Detector
from runreel.processors.redact.edits import Edits, apply
from runreel.processors.redact.keys import TenantKey
from runreel.processors.redact.search import Search
from runreel.processors.redact.settings import RedactSettings
from runreel.processors.redact.texts import Texts
from runreel.processors.redact.tokens import Sealer, Tokens
from runreel.processors.redact.traces import parted, put_together
from runreel.processors.redact.values import Values
from runreel.processors.redact.walk import Walk
from runreel.values import CleanBatch, RawBatch, Sealed

_MOST_SCOPES = 64  # runs whose tokens are made side by side; one that comes back later gets the same tokens


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
        sealer: Sealer | None = None,
    ) -> None:
        """`sealer` encrypts values for the vault, where there is one. `detector`, `hyperscan` (demand it, or do
        without) and `clock` (CPU seconds) are what tests replace."""
        found = detector or Detector(settings.entities, settings.regions, hyperscan=hyperscan)
        search = Search(settings, found, hyperscan=hyperscan)
        self._search = search
        self._key_id = key.key_id
        self._by_run = settings.scope == "run"
        self._scopes = _Scopes(key, settings, search, clock, sealer)
        self._whole = self._scopes.of("")
        self._declared = Declared(settings.classes)

    def process(self, batch: RawBatch) -> CleanBatch:
        """Return the batch redacted. Never raises for what a batch holds."""
        applied = self._declared.applied(batch, self._scope)
        if self._by_run:
            pieces = [
                (self._walked(piece, self._scope(trace_id)), order) for trace_id, piece, order in parted(applied.batch)
            ]
            clean = put_together(batch.tenant, pieces)
        else:
            clean = self._walked(applied.batch, self._whole)
        for label, count in applied.counts.items():
            applied.counts[label] = count + clean.counts.get(label, 0)
        return applied.restored(replace(clean, counts={**clean.counts, **applied.counts}))

    def text(self, text: str) -> str:
        """Return one text redacted; `<WITHHELD:redaction_failed>` where that fails. Never raises."""
        return Walk(self._whole.values).text(text)

    def tell_kept(self, listener: Callable[[str, str, str], object]) -> None:
        """Have a listener told (entity, reason, text) of what a recogniser takes and a written rule keeps. For one who
        looks at redaction, not for where it works."""
        self._search.on_kept = listener

    def edits(self, text: str) -> Edits:
        """Return what would be replaced in a text. Raises what a detector raises, and where it takes too long."""
        return self._whole.edits(text)

    def _scope(self, trace_id: str) -> "Scope":
        return self._scopes.of(trace_id) if self._by_run else self._whole

    def _walked(self, batch: RawBatch, scope: "Scope") -> CleanBatch:
        clean = Walk(scope.values, self._key_id).batch(batch)
        return replace(clean, sealed=scope.sealed(clean))


class Scope:
    """What redacts within one scope of tokens; lends itself to what declares classes."""

    def __init__(self, tokens: Tokens, settings: RedactSettings, search: Search, clock: Clock) -> None:
        self._tokens = tokens
        self._settings = settings
        self._clock = clock
        self._texts = Texts(tokens, settings, search)
        self.key_id = tokens.key_id
        self.values = Values(self._texts, settings, clock)

    def token(self, entity: str, text: str, digits: int | None = None) -> str:
        """Return the token of a value."""
        return self._tokens.token(entity, text, digits)

    def edits(self, text: str) -> Edits:
        """Return what must be replaced in a text."""
        return self._texts.edits(text, "", self._budget(text))

    def without_secrets(self, text: str) -> str:
        """Return a text without its secrets, and without base64 that holds any, or personal data."""
        return apply(text, [edit for edit in self.edits(text) if any(_is_secret(label) for label in edit.labels)])

    def whole(self, text: str) -> str | None:
        """Return the token that takes the place of a text that is one personal value and nothing else; else None."""
        edits = self.edits(text)
        if len(edits) == 1 and (edits[0].start, edits[0].end) == (0, len(text)) and TOKEN_RE.fullmatch(edits[0].text):
            return edits[0].text
        return None

    def sealed(self, clean: CleanBatch) -> tuple[Sealed, ...]:
        """Return what the vault gets of a batch."""
        return self._tokens.sealed_of(clean)

    def _budget(self, text: str) -> Budget:
        return Budget(self._settings.budget_s + self._settings.budget_s_per_mb * len(text) / 1e6, self._clock)


class _Scopes:
    """The scopes in use: one for a tenant, or one a run, made from the tenant's key."""

    def __init__(
        self, key: TenantKey, settings: RedactSettings, search: Search, clock: Clock, sealer: Sealer | None
    ) -> None:
        self._key = key
        self._settings = settings
        self._search = search
        self._clock = clock
        self._sealer = sealer
        self._made: OrderedDict[str, Scope] = OrderedDict()
        self._lock = Lock()

    def of(self, run: str) -> Scope:
        """Return the scope of a run; of the tenant for an empty name."""
        with self._lock:
            scope = self._made.pop(run, None) or self._make(run)
            self._made[run] = scope
            if len(self._made) > _MOST_SCOPES:
                self._made.popitem(last=False)
        return scope

    def _make(self, run: str) -> Scope:
        size = self._settings.memo_size // (_MOST_SCOPES if run else 1)
        settings = replace(self._settings, memo_size=max(1, size)) if run else self._settings
        key = self._key.of_run(run) if run else self._key
        tokens = Tokens(key, settings.token_digits, settings.memo_size, self._sealer)
        return Scope(tokens, settings, self._search, self._clock)


def _is_secret(label: str) -> bool:
    return label.startswith("SECRET:") or label == "base64"
