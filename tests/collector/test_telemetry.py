import threading

from runreel.collector import telemetry
from runreel.collector.telemetry import Telemetry


def test_counters_are_kept_by_name_and_labels():
    counts = Telemetry()

    counts.add(telemetry.REQUESTS, transport="http", signal="traces", outcome="ok")
    counts.add(telemetry.REQUESTS, 2, outcome="ok", signal="traces", transport="http")
    counts.add(telemetry.COMMITS)
    counts.add(telemetry.SENT_SPANS, 0)

    assert counts.snapshot() == {
        "runreel_commits": 1,
        "runreel_requests{outcome=ok,signal=traces,transport=http}": 3,
    }
    assert counts.total(telemetry.REQUESTS) == 3


def test_every_name_is_listed_once():
    declared = {value for name, value in vars(telemetry).items() if name.isupper() and isinstance(value, str)}

    assert sorted(telemetry.NAMES) == sorted(declared)


def test_threads_do_not_lose_counts():
    counts = Telemetry()
    threads = [threading.Thread(target=lambda: [counts.add(telemetry.COMMITS) for _ in range(1000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts.total(telemetry.COMMITS) == 4000
