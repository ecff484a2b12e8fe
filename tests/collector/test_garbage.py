import subprocess
import sys

# In a process of its own: these settings are the whole process's.
CYCLES = """
import gc, weakref

class Ring:
    def __init__(self):
        self.ring = self
        self.weight = [[] for _ in range(10)]

from runreel.collector.garbage import collect_rarely

loaded = Ring()
gone = weakref.ref(loaded)
collect_rarely()
del loaded

first = weakref.ref(Ring())
made = 0
while first() is not None and made < 100_000:
    Ring()
    made += 1
print(first() is None, made < 10_000, gone() is None)
"""


def test_cycles_are_still_found_but_not_in_what_was_there_at_the_start() -> None:
    said = subprocess.run([sys.executable, "-c", CYCLES], capture_output=True, text=True, check=True)

    assert said.stdout.split() == ["True", "True", "False"]
