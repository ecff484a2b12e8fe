"""Randomness that repeats: every replay of a run draws the same ids and numbers, in order, and says what it drew.

Seeded are `random` (the module and new instances), `os.urandom` and all that rests on it (`uuid4`, `secrets`,
SystemRandom, temporary file names, numpy's default_rng), `uuid1`, and numpy's legacy generator. Not covered: draws
inside C libraries, and draws that threads race for. The hash seed is an environment variable, set before the start.
Ids of spans stay random: two replays are two traces, and telemetry takes no draw away from the agent.

What was drawn may stand in a request, where the record has what was drawn then. So each draw is told, up to a limit.
"""

import functools
import hashlib
import os
import random
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from runreel.replay.imports import when_imported

Tell = Callable[[str, str | int | float], None]

MOST_TOLD = 4000
_LONGEST = 128  # characters of a text, bytes of a draw from the system
_DRAWS = ("random", "uniform", "triangular", "gauss", "normalvariate", "expovariate", "betavariate", "paretovariate")
_PICKS = ("randint", "randrange", "choice", "choices", "sample", "randbytes")
_NUMPY = ("random", "rand", "randn", "randint", "random_sample", "uniform", "normal", "choice")
_GENERATOR = ("random", "integers", "uniform", "normal", "standard_normal", "choice")
_UUIDS = ("uuid1", "uuid4", "uuid6", "uuid7", "uuid8")


class _Told:
    """Tells of draws; nothing more after so many. Thread-safe: a draw too many or too few is no harm."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._left = tell, MOST_TOLD

    def draw(self, kind: str, value: Any) -> None:
        """Tell of a value, of each part of a list, and of the text that a list of characters makes."""
        if self._left <= 0:
            return
        if isinstance(value, list):
            if value and all(isinstance(one, str) and len(one) == 1 for one in value):
                value = ["".join(value)]
            for one in value[:_LONGEST]:
                self.draw(kind, one)
            return
        if isinstance(value, bytes):
            kind, value = "bytes", value[:_LONGEST].hex()
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            self._left -= 1
            self._tell(kind, value[:_LONGEST] if isinstance(value, str) else value)

    def wrap(self, function: Callable[..., Any], kind: str, form: Callable[[Any], Any] = lambda value: value) -> Any:
        """Return a function that does the same, and tells what it came to."""

        @functools.wraps(function)
        def told(*args: Any, **kwargs: Any) -> Any:
            value = function(*args, **kwargs)
            self.draw(kind, form(value))
            return value

        return told


class _Bytes:
    """An endless, seeded stream of bytes (SHA-256 in counter mode). Thread-safe."""

    def __init__(self, seed: bytes, told: _Told) -> None:
        self._seed = seed
        self._count = 0
        self._lock = threading.Lock()
        self._told = told

    def take(self, size: int) -> bytes:
        """Draw bytes as `os.urandom` does, and tell of them."""
        drawn = self.draw(size)
        self._told.draw("bytes", drawn)
        return drawn

    def draw(self, size: int) -> bytes:
        if size < 0:
            raise ValueError("negative argument not allowed")
        out = b""
        with self._lock:
            while len(out) < size:
                out += hashlib.sha256(self._seed + self._count.to_bytes(8, "big")).digest()
                self._count += 1
        return out[:size]

    def branch(self, number: int) -> None:
        """Go on as another stream: processes that fork from one do not draw the same ids."""
        self._lock = threading.Lock()  # another thread of the process that forked may have held it
        self._seed, self._count = hashlib.sha256(self._seed + b"fork" + number.to_bytes(8, "big")).digest(), 0


def _silent(_kind: str, _value: object) -> None:
    """Tell nobody."""


def install(seed: str, tell: Tell = _silent) -> None:
    """Seed every source of randomness that Python code draws from.

    `tell` is given the kind (`uuid`, `random`, or `bytes`, in hex) and the value of each draw, up to MOST_TOLD times.
    """
    root = hashlib.sha256(seed.encode()).digest()
    told = _Told(tell)
    stream = _Bytes(root, told)
    for_spans = random.Random(os.urandom(32))  # noqa: S311 - ids, not secrets
    os.urandom = stream.take
    random._urandom = stream.take  # type: ignore[attr-defined]
    _seed_instances(stream)
    random.seed(int.from_bytes(root))
    _tell_of_random(told)
    _follow_forks(stream)
    when_imported("uuid", functools.partial(_uuids, told, root))
    when_imported("secrets", lambda module: _wrap(module, ("token_urlsafe",), told))
    when_imported("numpy.random", functools.partial(_numpy, told, int.from_bytes(root[:4])))
    when_imported("opentelemetry.sdk.trace.id_generator", lambda module: setattr(module, "random", for_spans))


def _seed_instances(stream: _Bytes) -> None:
    """Have `Random()` and `seed()` without a seed draw from the stream: C code would ask the system instead."""
    original = random.Random.seed

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        original(self, int.from_bytes(stream.draw(32)) if a is None else a, version)

    random.Random.seed = seed  # type: ignore[method-assign]
    random.seed = random._inst.seed


def _follow_forks(stream: _Bytes) -> None:
    """A forked process would draw what its parent draws; `random` seeds itself anew there, from the system."""
    forks = [0]

    def before() -> None:
        forks[0] += 1

    def after() -> None:
        stream.branch(forks[0])
        random.seed(int.from_bytes(stream.draw(32)))

    os.register_at_fork(before=before, after_in_child=after)


def _tell_of_random(told: _Told) -> None:
    """Instances have the methods of their class, the module those of an instance that was made before."""
    for name in (*_DRAWS, *_PICKS):
        setattr(random.Random, name, told.wrap(getattr(random.Random, name), "random"))
        setattr(random, name, getattr(random._inst, name))


def _uuids(told: _Told, root: bytes, module: ModuleType) -> None:
    """`uuid1` would ask a C library for the time, and the machine for its address."""
    if not hasattr(module.uuid4, "__wrapped__"):  # once: a reload comes here again
        module._generate_time_safe = None  # type: ignore[attr-defined]
        module._node = int.from_bytes(root[8:14]) | 1 << 40  # type: ignore[attr-defined]
        _wrap(module, _UUIDS, told, "uuid", str)


def _numpy(told: _Told, seed: int, module: ModuleType) -> None:
    module.seed(seed)

    def plain(value: Any) -> Any:
        found = value.tolist() if hasattr(value, "tolist") else value
        return found if not isinstance(found, list) or not any(isinstance(one, list) for one in found) else None

    _wrap(module, _NUMPY, told, "random", plain)
    methods = {name: told.wrap(getattr(module.Generator, name), "random", plain) for name in _GENERATOR}
    generator: Any = type("Generator", (module.Generator,), {**methods, "__module__": module.Generator.__module__})
    original = module.default_rng

    @functools.wraps(original)
    def default_rng(seed: Any = None) -> Any:
        made = original(seed)
        return made if made is seed else generator(made.bit_generator)

    module.default_rng = default_rng  # type: ignore[attr-defined]


def _wrap(
    module: ModuleType,
    names: tuple[str, ...],
    told: _Told,
    kind: str = "random",
    form: Callable[[Any], Any] = lambda x: x,
) -> None:
    for name in names:
        if hasattr(module, name):
            setattr(module, name, told.wrap(getattr(module, name), kind, form))
