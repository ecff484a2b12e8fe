import pytest

from runreel.record.losses import count, losses, safely


def test_a_part_of_recording_that_fails_is_counted_and_does_not_raise():
    before = losses().get("test part", 0)

    assert safely("test part", lambda: 1 // 0, "otherwise") == "otherwise"
    assert safely("test part", lambda: "done", "otherwise") == "done"

    assert losses()["test part"] == before + 1


def test_an_interrupt_is_not_swallowed():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        safely("test part", interrupted, None)


def test_losses_are_a_copy():
    count("test copy")

    assert losses() is not losses()
    assert losses()["test copy"] == 1


def test_losses_can_be_asked_for_since_an_earlier_time():
    count("test since")
    before = losses()
    count("test since")

    assert losses(before) == {"test since": 1}
