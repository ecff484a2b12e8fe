"""What the redactor is told: which entities, which phone regions, which profile, how much time."""

from dataclasses import dataclass
from typing import Literal

from runreel.processors.redact.classes import Rule
from runreel.processors.redact.detect import DEFAULT_ENTITIES, DEFAULT_REGIONS
from runreel.processors.redact.own import Recogniser

RULES_VERSION = "1"
"""Raised with any change of what is found or how it is replaced: memos of other versions do not count."""


@dataclass(frozen=True, slots=True)
class RedactSettings:
    """Settings of one redactor.

    Attributes:
        entities: Of `detect.DEFAULT_ENTITIES`. Secrets are always removed.
        regions: Countries whose national phone numbers are recognised; international ones always are.
        profile: `default`, or `presidio` for exactly what Presidio finds: no folding, no suppression, no extras.
        mask_private_addresses: Mask addresses of private networks too; loopback never is.
        token_digits: Hexadecimal digits of a token, 8 to 64.
        budget_s, budget_s_per_mb: CPU time that one value may take, and what a megabyte of it adds. A value that needs
            more is withheld. Ordinary text needs 0.1 s per megabyte, a table of nothing but phone numbers 10 s.
        allow: Values that stay wherever they stand alone: a published support address, the dummy key of a test.
        scope: Where the same value is the same token: in all runs of a tenant, or within a run (a trace) only.
        recognizers: What a user wants found beside the entities.
        ner: Of `ner.LABELS`: what a language model finds, which must be installed. Slow.
        classes: What is declared about values of tools, attributes and sources.
        memo_size: How many texts the edits are remembered of; and how many places and edits of histories that grow.
    """

    entities: tuple[str, ...] = DEFAULT_ENTITIES
    regions: tuple[str, ...] = DEFAULT_REGIONS
    profile: Literal["default", "presidio"] = "default"
    mask_private_addresses: bool = False
    token_digits: int = 8
    budget_s: float = 5.0
    budget_s_per_mb: float = 60.0
    allow: tuple[str, ...] = ()
    scope: Literal["tenant", "run"] = "tenant"
    classes: tuple[Rule, ...] = ()
    recognizers: tuple[Recogniser, ...] = ()
    ner: tuple[str, ...] = ()
    memo_size: int = 100_000
