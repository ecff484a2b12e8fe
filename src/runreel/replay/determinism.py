"""Randomness that repeats: every replay of a run draws the same ids and numbers, in order.

Seeded are `random` (the module and new instances), `os.urandom` and all that rests on it (`uuid4`, `secrets`,
SystemRandom, temporary file names, numpy's default_rng), and numpy's legacy generator. Not covered: draws inside C
libraries, and draws that threads race for. The hash seed is an environment variable, set before the start. Ids of
spans stay random: two replays are two traces, and telemetry takes no draw away from the agent.
"""

import hashlib
import os
import random
import threading
from typing import Any

from runreel.replay.imports import when_imported


class _Bytes:
    """An endless, seeded stream of bytes (SHA-256 in counter mode). Thread-safe."""

    def __init__(self, seed: bytes) -> None:
        self._seed = seed
        self._count = 0
        self._lock = threading.Lock()

    def take(self, size: int) -> bytes:
        if size < 0:
            raise ValueError("negative argument not allowed")
        out = b""
        with self._lock:
            while len(out) < size:
                out += hashlib.sha256(self._seed + self._count.to_bytes(8, "big")).digest()
                self._count += 1
        return out[:size]


def install(seed: str) -> None:
    """Seed every source of randomness that Python code draws from."""
    root = hashlib.sha256(seed.encode()).digest()
    stream = _Bytes(root)
    for_spans = random.Random(os.urandom(32))  # noqa: S311 - ids, not secrets
    os.urandom = stream.take
    random._urandom = stream.take  # type: ignore[attr-defined]
    _seed_instances(stream)
    random.seed(int.from_bytes(root))
    when_imported("numpy.random", lambda module: module.seed(int.from_bytes(root[:4])))
    when_imported("opentelemetry.sdk.trace.id_generator", lambda module: setattr(module, "random", for_spans))


def _seed_instances(stream: _Bytes) -> None:
    """Have `Random()` and `seed()` without a seed draw from the stream: C code would ask the system instead."""
    original = random.Random.seed

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        original(self, int.from_bytes(stream.take(32)) if a is None else a, version)

    random.Random.seed = seed  # type: ignore[method-assign]
    random.seed = random._inst.seed
