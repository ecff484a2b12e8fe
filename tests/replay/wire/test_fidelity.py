"""What an agent and its instrumentation see of a recorded answer is what they saw of the real one."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from model_server import SCENARIOS

AGENT = Path(__file__).with_name("loop_agent.py")
TESTS = Path(__file__).parents[2]


@cache
def outcomes():
    environ = {**os.environ, "PYTHONPATH": str(TESTS)}
    done = subprocess.run([sys.executable, AGENT], capture_output=True, text=True, timeout=120, env=environ)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def parsed(answers):
    """Read arguments as values where they are JSON: how they were spelt is not recorded."""
    out = json.loads(json.dumps(answers))
    for answer in out:
        for call in (answer["tool_calls"] or []) if isinstance(answer, dict) else []:
            try:
                call["function"]["arguments"] = json.loads(call["function"]["arguments"])
            except ValueError:
                continue
    return out


@pytest.mark.parametrize("how", ["plain", "stream"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_answer_from_the_record_is_the_answer_of_the_server(scenario, how):
    got = outcomes()[f"{scenario} {how}"]

    assert got["calls"] >= 1
    assert parsed(got["after"]) == parsed(got["before"])
    assert got["differences"] == []
