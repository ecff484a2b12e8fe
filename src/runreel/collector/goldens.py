"""Registers goldens for who asks the read API, and lists them: redacted, and durable before they are acknowledged."""

from collections.abc import Callable
from typing import Any

from runreel.runs import kept
from runreel.storage import GoldenRegister, KeptGolden


class Goldens:
    """The goldens of a collector's store. Reads and writes block: call it from a thread.

    Args:
        register: The store.
        redact: Redacts one text. Raises what a detector raises.
    """

    def __init__(self, register: GoldenRegister, redact: Callable[[str], str]) -> None:
        self._register = register
        self._redact = redact

    def keep(self, tenant: str, golden: KeptGolden) -> dict[str, Any]:
        """Register a golden and return it as it is stored.

        Raises StoreError where it cannot be redacted, ConsumeError where the store fails.
        """
        clean = kept.redacted(golden, self._redact)
        self._register.keep_golden(tenant, clean)
        return kept.document(clean)

    def list(self, tenant: str) -> dict[str, Any]:
        """Return every golden that is registered. Raises StoreError."""
        return {"goldens": [kept.document(one) for one in self._register.goldens(tenant)]}
