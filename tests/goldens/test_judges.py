"""A judge of the user's own: what it answers, what it cannot do, and that it has no network."""

import pytest

from runreel.errors import RefusedError
from runreel.goldens.judges import ask

CHECKS = """
import socket, os

def yes(run):
    return run["output"] == "done" and run["calls"] == [] or "not as it should be"

def no(run):
    return False

def why(run):
    return f"it used {run['used']['tokens']} tokens"

def none(run):
    return None

def raises(run):
    raise ValueError(run["output"])

def dies(run):
    os._exit(3)

def calls_home(run):
    socket.create_connection(("192.0.2.1", 80), 1)
    return True
"""
SEEN = {"outcome": "ok", "output": "done", "calls": [], "used": {"tokens": 12}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judges")
    (folder / "checks.py").write_text(CHECKS)
    return folder


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("yes", ""),
        ("no", "it said no"),
        ("none", "it said no"),
        ("why", "it used 12 tokens"),
        ("raises", "it raised ValueError"),
        ("dies", "it ended without an answer"),
        ("calls_home", "it tried to reach the network: a judge has none"),
    ],
)
def test_what_a_judge_answers(folder, name, answer):
    assert ask(f"checks:{name}", SEEN, folder) == answer


@pytest.mark.parametrize("function", ["nowhere:yes", "checks:nobody"])
def test_a_judge_that_is_not_there_is_said(folder, function):
    with pytest.raises(RefusedError, match="there is no such function"):
        ask(function, SEEN, folder)
