from collections.abc import Iterator
from pathlib import Path

import pytest

from runreel.spool import Spool


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Spool]:
    made = Spool(tmp_path / "spool")
    made.open()
    yield made
    made.close()
