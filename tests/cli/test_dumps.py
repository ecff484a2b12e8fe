import os
import subprocess
import sys
from pathlib import Path

import pytest

CRASHING = """
import ctypes, resource, sys
if "raise" in sys.argv:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
from runreel.cli.dumps import no_core_dumps
no_core_dumps()
print(resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
print(open("/proc/self/coredump_filter").read().strip())
sys.stdout.flush()
import os
os.abort()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="what is asked of the kernel is Linux's")
def test_a_crash_leaves_no_core_and_the_process_cannot_be_dumped(tmp_path: Path) -> None:
    words = ["raise"] if os.geteuid() == 0 else []
    process = subprocess.Popen([sys.executable, "-c", CRASHING, *words], cwd=tmp_path, stdout=subprocess.PIPE)

    assert process.stdout is not None
    said = process.stdout.read().decode()
    process.stdout.close()
    _, status = os.waitpid(process.pid, 0)
    process.returncode = status

    assert said.splitlines() == ["(0, 0) 0", "00000000"]
    assert os.WIFSIGNALED(status)
    assert not os.WCOREDUMP(status)
    assert list(tmp_path.iterdir()) == []
