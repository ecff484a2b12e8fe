"""How Python's collector of cycles is set in a process that takes spans for long."""

import gc

# A request of 64 spans makes some ten thousand containers, all of them gone with it and nearly none in a cycle; the
# memos hold hundreds of thousands that stay. As Python comes, looking through both took 9 % of the time.
_YOUNG = 50_000
_MIDDLE, _OLD = 20, 100


def collect_rarely() -> None:
    """Look for cycles rarely, and never in what is there now: call it when all is loaded.

    Cycles are still found, at most 50,000 new containers later: a few megabytes.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)
