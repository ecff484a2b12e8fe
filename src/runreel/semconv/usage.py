"""Brings the count of tokens read to its one meaning: cached ones included.

Most senders mean it so. Some providers' raw numbers leave cached tokens out, and frameworks pass them on as they are:
that shows where more was cached than read, or where the sender's own total adds the cached tokens to the others.
"""

from collections.abc import Mapping
from typing import Final

from runreel.values import Value

TOTALS: Final = ("gen_ai.usage.total_tokens", "llm.usage.total_tokens", "llm.token_count.total")


def including_cache(usage: Mapping[str, Value], total: Value) -> Mapping[str, Value]:
    """Return usage whose `input_tokens` include what was read from and written to the cache."""
    given, written = usage.get("input_tokens"), usage.get("output_tokens")
    parts = (usage.get("cache_read"), usage.get("cache_write"))
    cached = sum(one for one in parts if isinstance(one, int))
    if not isinstance(given, int) or cached <= 0:
        return usage
    sums_up = isinstance(written, int) and total == given + written + cached
    return {**usage, "input_tokens": given + cached} if cached > given or sums_up else usage
