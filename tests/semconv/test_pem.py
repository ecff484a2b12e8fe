import json
import random

import pytest

from runreel.semconv.pem import LIMIT, key_lines
from runreel.semconv.secrets import find_secrets, strip_secrets

MARK = "<SECRET:private-key>"


def pem(kind: str = "PRIVATE KEY", newline: str = "\n", *, end: bool = True) -> str:
    body = newline.join("MIIBFAKE" + "0123456789ABCDEFabcdef" * 2 for _ in range(6))
    tail = f"-----END {kind}-----{newline}" if end else "... (output truncated)"
    return f"-----BEGIN {kind}-----{newline}{body}{newline}{tail}"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (pem(), MARK + "\n"),
        (pem("RSA PRIVATE KEY", "\r\n"), MARK + "\r\n"),
        (pem("OPENSSH PRIVATE KEY"), MARK + "\n"),
        (pem("ENCRYPTED PRIVATE KEY"), MARK + "\n"),
        (pem("PGP PRIVATE KEY BLOCK"), MARK + "\n"),
        (pem(end=False), MARK + "\n... (output truncated)"),
        (pem(newline="\\n"), MARK + "\\n"),
        (pem(newline="\\n", end=False), MARK + "\\n... (output truncated)"),
        ("  | ".join(pem().splitlines(keepends=True)), MARK + "\n"),
        ("+" + "+".join(pem(end=False).splitlines(keepends=True)), "+" + MARK + "\n+... (output truncated)"),
        ("".join(f"{n}:{line}" for n, line in enumerate(pem(end=False).splitlines(keepends=True), 8)), None),
        (pem() + "between " + pem("EC PRIVATE KEY"), f"{MARK}\nbetween {MARK}\n"),
        (pem(end=False) + "\nbetween " + pem(), f"{MARK}\n... (output truncated)\nbetween {MARK}\n"),
        (json.dumps({"key": pem()}), json.dumps({"key": MARK + "\n"})),
        (pem()[40:], MARK + "\n"),  # the BEGIN line was cut away
        (pem()[:150], MARK),
        (pem().replace("MIIB", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\nMIIB", 1), MARK + "\n"),
    ],
)
def test_no_line_of_a_private_key_remains_and_all_around_it_does(text: str, left: str | None) -> None:
    stripped = strip_secrets(text)

    assert "MIIBFAKE" not in stripped
    assert "0123456789ABCDEFabcdef" not in stripped
    if left is not None:
        assert stripped == left


@pytest.mark.parametrize(
    "text",
    [
        pem("CERTIFICATE"),
        pem("PUBLIC KEY"),
        "the marker -----BEGIN PRIVATE KEY----- in prose",
        "between -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY----- stands the key",
        "-----END PRIVATE KEY-----",
    ],
)
def test_public_material_and_prose_about_markers_stay(text: str) -> None:
    assert find_secrets(text) == []


def test_many_markers_take_time_in_proportion_to_them() -> None:
    """Both shapes made an earlier version look at every pair of markers; at this size it would not come back."""
    markers = "-----BEGIN PRIVATE KEY-----" * 40_000 + "-----END PRIVATE KEY-----" * 40_000

    assert find_secrets(markers) == []


def test_an_end_far_away_belongs_to_something_else() -> None:
    prose = "word " * 20_000
    text = pem(end=False) + prose + "-----END PRIVATE KEY-----"

    assert strip_secrets(text) == f"{MARK}\n... (output truncated){prose}-----END PRIVATE KEY-----"


def test_keys_cut_anywhere_leave_no_whole_line() -> None:
    rng = random.Random(4)
    for _ in range(60):
        start, end = sorted(rng.sample(range(len(pem())), 2))

        left = strip_secrets(pem()[:end]) + strip_secrets(pem()[start:])

        assert "0123456789ABCDEFabcdef0123456789ABCDEFabcdef\nMIIBFAKE" not in left


@pytest.mark.parametrize("ending", ["", "\n", "\\n", "\\r\\n"])
def test_a_list_of_lines_is_a_key_as_far_as_they_look_like_one(ending: str) -> None:
    lines = [line + ending for line in pem().splitlines()]

    assert key_lines([*lines, "y"]) == len(lines)
    assert key_lines([*lines[:-1], "and so on"]) == len(lines) - 1
    assert key_lines(["x", *lines]) == 0
    assert key_lines(lines[1:]) == 0
    assert key_lines([lines[0], lines[-1]]) == 0
    assert key_lines([lines[0], "see above"]) == 0
    assert key_lines([lines[0], *lines]) == 0


def test_no_key_reaches_into_another_text() -> None:
    text = f"-----BEGIN PRIVATE KEY----- see{LIMIT}AKIAIOSFODNN7EXAMPLE{LIMIT}x -----END PRIVATE KEY-----"

    assert find_secrets(text) == [(text.index("AKIA"), text.index("AKIA") + 20, "aws-access-key")]
