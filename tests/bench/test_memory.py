import subprocess
import sys
from pathlib import Path

import memory
import pytest

SCRIPT = Path(memory.__file__)


def samples(values: list[float]) -> list[memory.Sample]:
    return [memory.Sample(30.0 * number, value, 0.0) for number, value in enumerate(values)]


def test_the_slope_is_that_of_the_time_behind_the_warm_up() -> None:
    grown = samples([100.0, 300.0, 500.0, 501.0, 502.0])

    assert memory.slope_per_minute(grown, 0.5) == pytest.approx(2.0)
    assert memory.slope_per_minute(grown, 0.0) > 100


def test_without_samples_behind_the_warm_up_nothing_is_said() -> None:
    with pytest.raises(ValueError, match="1 samples behind the warm-up"):
        memory.slope_per_minute(samples([100.0, 101.0]), 1.0)


def test_requests_never_come_twice() -> None:
    made = memory.bodies()

    assert len({next(made) for _ in range(8)}) == 8


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is asked of Linux")
def test_a_slope_over_the_limit_ends_with_1() -> None:
    command = [sys.executable, str(SCRIPT), "--minutes", "0.05", "--warm-up", "0"]

    fine, grown = (
        subprocess.run([*command, f"--limit={limit}"], capture_output=True, text=True, check=False)
        for limit in ("1e9", "-1e9")
    )

    assert (fine.returncode, grown.returncode) == (0, 1)
    assert "MB a minute (limit 1e+09)" in fine.stdout
