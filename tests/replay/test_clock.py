"""The agent's clock stands still, moves with the record and with sleep, and never goes back."""

from python_snippet import run_python

START = 1_795_956_713_035_514_867


def test_wall_clocks_stand_at_the_start_and_monotonic_ones_run():
    out = run_python(f"""
        from time import time_ns as imported_before
        import time, datetime, uuid
        from runreel.replay.clock import Clock, real_time_ns
        monotonic = time.monotonic_ns()
        Clock({START}).start()
        assert time.time_ns() == imported_before() == {START // 1000 * 1000}
        assert datetime.datetime.now(datetime.timezone.utc).isoformat() == "2026-11-29T12:51:53.035514+00:00"
        assert datetime.date.today().year == 2026
        assert time.monotonic_ns() > monotonic
        assert abs(real_time_ns() - {START}) > 1e9
        print("ok")
    """)

    assert out == "ok\n"


def test_the_clock_moves_on_and_never_back():
    run_python(f"""
        import time
        from runreel.replay.clock import Clock
        clock = Clock({START})
        clock.start()
        clock.reach({START} + 5_000_000_000)
        clock.reach({START} + 1_000_000_000)
        assert time.time_ns() == {START // 1000 * 1000} + 5_000_000_000 == clock.now_ns
    """)


def test_sleeping_moves_the_clock_instead_of_waiting():
    run_python(f"""
        import time
        from runreel.replay.clock import Clock, real_time_ns
        clock = Clock({START})
        clock.start()
        began = real_time_ns()
        deadline = time.time() + 3600
        while time.time() < deadline:
            time.sleep(60)
        assert real_time_ns() - began < 60e9
        try:
            time.sleep(-1)
        except ValueError:
            print("refused")
    """)


def test_a_heartbeat_in_the_background_does_not_drive_the_clock():
    run_python(f"""
        import threading, time
        from runreel.replay.clock import Clock
        Clock({START}).start()
        beats = []
        def beat():
            while True:
                time.sleep(0.001)
                beats.append(1)
        threading.Thread(target=beat, daemon=True).start()
        waiting = threading.Event()
        while len(beats) < 3:
            waiting.wait(0.001)
        assert time.time_ns() == {START // 1000 * 1000}
    """)


def test_tasks_that_sleep_wake_in_order_and_sleep_at_the_same_time():
    run_python(f"""
        import time
        from runreel.replay.clock import Clock
        clock = Clock({START})
        clock.start()
        import asyncio
        woken = []
        async def sleeper(seconds):
            await asyncio.sleep(seconds)
            woken.append(seconds)
        async def main():
            await asyncio.gather(sleeper(30), sleeper(10), sleeper(0), sleeper(20))
            return await asyncio.sleep(0, "result")
        assert asyncio.run(main()) == "result"
        assert woken == [0, 10, 20, 30], woken
        assert clock.now_ns == {START // 1000 * 1000} + 30_000_000_000
    """)


def test_a_deadline_that_has_not_come_does_not_fire():
    run_python(f"""
        import asyncio
        from runreel.replay.clock import Clock
        clock = Clock({START})
        clock.start()
        async def main():
            async with asyncio.timeout(60):
                clock.reach({START} + 3600 * 10**9)
                await asyncio.sleep(0)
        asyncio.run(main())
    """)


def test_asyncio_that_was_imported_before_sleeps_on_the_same_clock():
    run_python(f"""
        import asyncio
        from runreel.replay.clock import Clock
        clock = Clock({START})
        clock.start()
        asyncio.run(asyncio.sleep(7))
        assert clock.now_ns == {START // 1000 * 1000} + 7_000_000_000
    """)


def test_the_clock_brings_no_test_framework_into_the_agents_process():
    run_python("""
        import sys
        import runreel.replay.child
        assert "pytest" not in sys.modules, "pytest"
        try:
            import pytest
        except ModuleNotFoundError:
            raise AssertionError("pytest cannot be imported any more")
    """)


def test_a_forked_process_has_a_clock_that_moves_also_where_a_thread_was_moving_it():
    run_python(f"""
        import os, time
        from runreel.replay.clock import Clock
        clock = Clock({START})
        clock.start()
        with clock._lock:
            pid = os.fork()
            if not pid:
                time.sleep(5)
                os._exit(int(clock.now_ns != {START // 1000 * 1000} + 5_000_000_000))
        assert os.waitpid(pid, 0)[1] == 0
        assert clock.now_ns == {START // 1000 * 1000}
    """)
