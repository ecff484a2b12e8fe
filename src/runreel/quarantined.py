"""A record in quarantine: a value that flows as those of values.py do, which names it too."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A span or log record that is kept aside instead of stored: redacted, whole, with the reason. A `batch` is several
    that no table took.

    `id` is the same whenever the same record comes again. `record` is a split batch of it alone as bytes, with the
    parts that it needs (spool/quarantine.py); empty where it was only asked what there is. `size` is its length in
    bytes, `arrived_ns` when it was put there by our clock, 0 until then. `reason` never holds payload text.
    """

    tenant: str
    id: str
    kind: Literal["span", "log", "batch"]
    reason: str
    trace_id: str
    span_id: str
    name: str = ""
    service: str = ""
    size: int = 0
    arrived_ns: int = 0
    record: bytes = field(default=b"", repr=False)
