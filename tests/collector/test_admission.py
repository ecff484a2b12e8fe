import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runreel.collector.admission import Admission
from runreel.errors import RetryableError


def test_requests_are_taken_up_to_the_limit_and_again_after_one_has_ended():
    admission = Admission(100)
    first, second = admission.lease(), admission.lease()
    first.grow(60)

    with pytest.raises(RetryableError, match=r"60 bytes of requests are being stored, the limit is 100") as refused:
        second.grow(41)
    second.grow(40)
    first.release()
    second.grow(60)

    assert refused.value.retry_after_s > 0
    assert admission.used_bytes == 100


def test_a_request_alone_is_taken_whatever_its_size():
    admission = Admission(100)

    with admission.lease() as lease:
        lease.grow(80)
        lease.grow(500)
        assert admission.used_bytes == 580

    assert admission.used_bytes == 0


def test_a_lease_that_was_handed_over_is_released_by_its_new_owner():
    admission = Admission(100)
    with admission.lease() as lease:
        lease.grow(30)
        other = lease.hand_over()

    assert admission.used_bytes == 30
    other.release()
    other.release()
    assert admission.used_bytes == 0


@given(st.lists(st.lists(st.integers(0, 60), max_size=5), max_size=6))
def test_whatever_was_taken_is_given_back(requests):
    admission = Admission(100)
    leases = [admission.lease() for _ in requests]
    for lease, sizes in zip(leases, requests, strict=True):
        for size in sizes:
            try:
                lease.grow(size)
            except RetryableError:
                break
        assert admission.used_bytes <= 100 or sum(bool(other._held) for other in leases) == 1

    for lease in leases:
        lease.release()

    assert admission.used_bytes == 0


def test_threads_do_not_lose_bytes():
    admission = Admission(10**9)

    def work():
        for _ in range(500):
            with admission.lease() as lease:
                lease.grow(7)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert admission.used_bytes == 0
