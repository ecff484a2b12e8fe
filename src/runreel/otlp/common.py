"""What the two codings of OTLP share: limits, the repair of text, and how a record is found unfit."""

import re
from collections.abc import Iterable
from typing import Literal

from runreel.values import Rejection

Signal = Literal["traces", "logs"]
Encoding = Literal["protobuf", "json"]

MAX_DEPTH = 30
"""Lists and maps inside each other in one attribute. Protobuf runtimes end near 31 maps; one limit for both codings, so
that what was taken in one can be sent on in the other."""

MAX_U64 = 2**64 - 1
MAX_U32 = 2**32 - 1
MIN_I64, MAX_I64 = -(2**63), 2**63 - 1

UTF8_REPAIRED = "utf8_repaired"
DUPLICATE_KEY = "duplicate_key"

_SURROGATE = re.compile("[\ud800-\udfff]")


class UnfitError(Exception):
    """One record cannot be taken; its neighbours can. `reason` and `detail` hold no text of the record."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"{reason}: {detail}")


def rejection(signal: Signal, error: UnfitError) -> Rejection:
    """Describe an unfit record for the reply."""
    return Rejection("span" if signal == "traces" else "log", error.reason, error.detail)


def repair(text: str) -> str:
    """Replace each lone surrogate by U+FFFD: OTLP strings are UTF-8, which cannot carry one.

    Bytes that are not UTF-8 get here as surrogates (`errors="surrogateescape"`), one a byte.
    """
    return _SURROGATE.sub("\ufffd", text)


def too_deep() -> UnfitError:
    """Say that an attribute is nested beyond the limit."""
    return UnfitError("too_deep", f"a value is nested more than {MAX_DEPTH} deep")


def bad_id(name: str, length: int, wanted: int) -> UnfitError:
    """Say that an id has the wrong length, or is all zeros."""
    if length == wanted:
        return UnfitError("invalid_id", f"{name}: all zeros")
    return UnfitError("invalid_id", f"{name}: {wanted} bytes wanted, got {length}")


def in_order(*sources: Iterable[str]) -> tuple[str, ...]:
    """Join marks; the same set is always the same tuple."""
    return tuple(sorted({mark for source in sources for mark in source}))
