"""What makes changes of a folder durable: a name that was made, moved or removed is lost in a power cut until then."""

import os
from pathlib import Path


def flush_folder(folder: Path) -> None:
    """Flush a folder's names to the disk. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
