import sys
import threading

import pytest

from runreel.processors.redact.scan import NO_PLACE, Gate, HyperscanScanner, ReScanner, scanner

GATES = [
    Gate("[0-9]{3}-[0-9]{4}", starts=True),
    Gate(r"@\w"),
    Gate("pass(?:word)?[:=]", once=True, caseless=True),
    Gate("token", once=True, hints=("token",)),
]


def test_both_scanners_report_the_same_places() -> None:
    data = b"call 555-0143 or a@b, PASSWORD: x, password= y"

    for made in (HyperscanScanner(GATES), ReScanner(GATES)):
        hits = made.scan(data)
        assert hits[0] == [(5, 13)]
        assert [end for _, end in hits[1]] == [data.index(b"@b") + 2]
        assert hits[2][0][1] == data.index(b":") + 1
        assert 3 not in hits


def test_without_a_set_matcher_hints_stand_for_the_gate() -> None:
    assert ReScanner(GATES).scan(b"a TOKEN")[3] == [NO_PLACE]
    assert HyperscanScanner(GATES).scan(b"a token")[3] != [NO_PLACE]


def test_a_text_full_of_hits_is_not_reported_hit_by_hit() -> None:
    data = b"1234567-" * 3_000 + b"a@b" * 20_000

    dense = HyperscanScanner(GATES).scan(data)

    assert dense == ReScanner(GATES).scan(data)
    assert set(dense) == {0, 1}


def test_threads_share_a_scanner() -> None:
    made = HyperscanScanner(GATES)
    texts = [b"call 555-%04d now " % number * 50 for number in range(16)]
    expected = [made.scan(text) for text in texts]
    got: dict[int, object] = {}

    def work(number: int) -> None:
        for _ in range(40):
            got[number] = made.scan(texts[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [got[number] for number in range(len(texts))] == expected


def test_without_hyperscan_the_other_scanner_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hyperscan", None)

    assert isinstance(scanner(GATES), ReScanner)


def test_hyperscan_is_used_where_it_is_installed() -> None:
    assert isinstance(scanner(GATES), HyperscanScanner)
    assert isinstance(scanner(GATES, hyperscan=False), ReScanner)
