"""The command line of a Python program is read as Python reads it."""

import pytest

from runreel.replay.descendants.command import read


@pytest.mark.parametrize(
    ("words", "how", "place"),
    [
        (["agent.py", "-c", "x"], "script", 1),
        (["-u", "agent.py"], "script", 2),
        (["-X", "dev", "-W", "ignore", "agent.py"], "script", 5),
        (["-Xdev", "-Wignore", "agent.py"], "script", 3),
        (["-c", "print()"], "-c", 1),
        (["-uc", "print()"], "-c", 1),
        (["-m", "agent"], "-m", 1),
        (["-Bmagent"], "-m", 1),
        (["--check-hash-based-pycs", "never", "agent.py"], "script", 3),
        (["-"], "", 1),
        ([], "", 1),
        (["-i"], "", 2),
    ],
)
def test_what_runs_is_found_behind_the_options(words, how, place):
    assert read(["python", *words])[:2] == (how, place)


@pytest.mark.parametrize("words", [["-I", "a.py"], ["-E", "-m", "a"], ["-uS", "a.py"], ["-Ec", "x"]])
def test_options_that_shut_the_environment_out_are_seen(words):
    assert read(["python", *words]).shuts_out


@pytest.mark.parametrize("words", [["a.py", "-I"], ["-u", "a.py"], ["-WE", "a.py"], ["-X", "I", "a.py"], ["-c", "E"]])
def test_words_of_the_program_and_values_of_options_are_none(words):
    assert not read(["python", *words]).shuts_out
