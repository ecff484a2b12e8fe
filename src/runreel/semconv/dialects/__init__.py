"""One file for each dialect of GenAI spans; `DIALECTS` is the order in which they are asked.

To add one: write a file with a `DIALECT` here and name it below, before those that are less sure of themselves.
"""

from typing import Final

from runreel.semconv.dialect import Dialect
from runreel.semconv.dialects import openinference, openllmetry, otel, otel_legacy, own, structural

OWN: Final[Dialect] = own.DIALECT
"""Asked first for every span, whatever its dialect."""

STANDARD: Final[Dialect] = otel.DIALECT
"""Asked last for every span: most dialects carry some standard attributes too."""

DIALECTS: Final[tuple[Dialect, ...]] = (
    openinference.DIALECT,
    openllmetry.DIALECT,
    otel_legacy.DIALECT,
    otel.DIALECT,
    structural.DIALECT,
)
