"""Run a piece of Python in a process of its own: for what patches the interpreter it runs in."""

import subprocess
import sys
import textwrap


def run_python(code, *arguments, cwd=None, env=None, status=0):
    """Return what the code printed; fail where it ends with another status."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done.stdout
