"""Nothing unredacted is on the disk: every file of a data folder, every compressed frame, every log."""

from pathlib import Path

import pytest

from e2e_kit import CAPTURES, runreel, serving
from runreel import otlp
from stored_bytes import found

# What the captures and the demonstration's agent hold that is personal or secret. All of it is invented.
PLANTED = {
    "e-mail": b"dana.fields@example.com",
    "phone": b"202-555-0143",
    "card": b"4242 4242 4242 4242",
    "ip address": b"203.0.113.7",
    "provider key": b"sk-test-51HxFAKE",
    "cloud key": b"AKIAIOSFODNN7EXAMPLE",
    "password": b"hunter2-not-real",
    "pem line": b"MIIBFAKEFAKE",
    "pem second line": b"FAKEFAKEFAKEFAKE",
    "signature": b"0badc0de0badc0de",
}
# What must be found, or the scan is blind: text of the same payloads that is nobody's.
KEPT = {"prompt": b"Compare the weather in Lisbon and Oslo", "id": b"123e4567-e89b-12d3-a456-426614174000"}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scan")
    runreel(folder / "home", "runs", "import", CAPTURES)
    runreel(folder / "home", "runs", "ls", "--json")
    return folder


def test_the_scan_sees_into_the_store(imported: Path) -> None:
    assert found(imported, KEPT).keys() == KEPT.keys()


def test_no_planted_value_is_in_any_file_or_frame_after_an_import(imported: Path) -> None:
    assert found(imported, PLANTED) == {}


def test_no_planted_value_is_left_by_a_collector_nor_in_its_log_whatever_it_is_sent(tmp_path: Path) -> None:
    import urllib.error
    import urllib.request

    bodies = [path.read_bytes() for path in sorted(CAPTURES.rglob("*.bin"))]
    bodies += [bodies[0][:-7], b"\x0a\xff" + bodies[1], b'{"resourceSpans": "dana.fields@example.com"}']
    with serving(tmp_path / "home") as running:
        for body in bodies:
            signal, encoding = otlp.sniff(body) or ("traces", "json")
            kind = "application/json" if encoding == "json" else "application/x-protobuf"
            url = f"{running.collector.otlp_http}/v1/{signal}"
            try:
                with urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": kind})) as answer:
                    said = answer.read()
            except urllib.error.HTTPError as error:
                said = error.read()
            assert not any(needle in said for needle in PLANTED.values())

    assert found(tmp_path, PLANTED) == {}
    assert "prompt" in found(tmp_path, KEPT)


def test_what_a_reel_holds_is_as_clean_as_the_store(imported: Path, tmp_path: Path) -> None:
    for number, run in enumerate(runreel(imported / "home", "runs", "ls", "--json", "--limit", 0).json()[:8]):
        runreel(imported / "home", "runs", "export", run["run_id"], "--output", tmp_path / f"{number}.reel")

    assert found(tmp_path, PLANTED) == {}
    assert "prompt" in found(tmp_path, KEPT)
