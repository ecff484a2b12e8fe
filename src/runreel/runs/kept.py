"""Goldens as a store is told of them: as JSON, checked, and redacted before they are stored."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from runreel.errors import StoreError
from runreel.storage import KeptGolden

_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MOST: Final[Mapping[str, int]] = {"run_id": 500, "name": 200, "ticket": 2000}


def document(golden: KeptGolden) -> dict[str, Any]:
    """Return a golden as a JSON document with stable field names."""
    return asdict(golden)


def from_document(found: Any) -> KeptGolden:
    """Return what `document` made; other fields are left out. Raises ValueError, without a word of what it says."""
    if not isinstance(found, Mapping):
        raise ValueError("a golden is a map with run_id, name, ticket and sha256")
    texts = {name: found.get(name, "") for name in _MOST}
    for name, most in _MOST.items():
        if not isinstance(texts[name], str) or len(texts[name]) > most or (name != "ticket" and not texts[name]):
            raise ValueError(f"{name} of a golden is a text of at most {most} characters")
    sha256, at = found.get("sha256"), found.get("registered_ns", 0)
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise ValueError("sha256 of a golden is 64 digits, 0 to f")
    if not isinstance(at, int) or not 0 <= at < 2**64:
        raise ValueError("registered_ns of a golden is a time in nanoseconds since 1970")
    return KeptGolden(texts["run_id"], texts["name"], texts["ticket"], sha256, at)


def redacted(golden: KeptGolden, redact: Callable[[str], str]) -> KeptGolden:
    """Return the golden with its name and ticket redacted: people write both. The run's id is as the store has it.

    Raises StoreError where a detector fails: what cannot be redacted is not stored.
    """
    try:
        return replace(golden, name=redact(golden.name), ticket=redact(golden.ticket))
    except Exception:  # noqa: BLE001 - a detector may raise anything, and its text may quote what it read
        failed = "the golden's name and ticket could not be redacted: it is not registered"
    raise StoreError(failed)
