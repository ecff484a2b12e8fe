"""Every source of randomness repeats from run to run; ids of spans do not."""

from python_snippet import run_python

DRAWS = """
    import json, os, random, secrets, sys, tempfile, uuid
    from runreel.replay import determinism
    determinism.install(sys.argv[1])
    draws = [
        str(uuid.uuid4()), random.random(), random.choice("abcdef"), random.Random().random(),
        random.Random(5).random(), random.SystemRandom().random(), secrets.token_hex(8), os.urandom(4).hex(),
        next(tempfile._get_candidate_names()),
    ]
    random.seed()
    draws.append(random.random())
    print(json.dumps(draws))
"""


def test_draws_repeat_for_a_seed_and_differ_for_another():
    first, again, other = run_python(DRAWS, "one"), run_python(DRAWS, "one"), run_python(DRAWS, "two")

    assert first == again
    assert first != other


def test_draws_of_one_process_differ_from_each_other():
    run_python("""
        import os, uuid
        from runreel.replay import determinism
        determinism.install("seed")
        assert len({uuid.uuid4() for _ in range(100)}) == 100
        assert len(os.urandom(1000)) == 1000 and os.urandom(0) == b""
        try:
            os.urandom(-1)
        except ValueError:
            pass
        else:
            raise AssertionError
    """)


def test_numpy_draws_repeat():
    code = """
        from runreel.replay import determinism
        determinism.install("seed")
        import numpy
        print(numpy.random.random(), numpy.random.default_rng().random())
    """

    assert run_python(code) == run_python(code)


def test_ids_of_spans_stay_random_and_take_no_draw_away():
    code = """
        from runreel.replay import determinism
        determinism.install("seed")
        import random, sys
        if sys.argv[1] == "spans":
            from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
            print(RandomIdGenerator().generate_trace_id())
        print(random.random())
    """
    first, second = run_python(code, "spans").split(), run_python(code, "spans").split()

    assert first[0] != second[0]
    assert first[1] == second[1] == run_python(code, "none").strip()


def test_uuids_of_time_repeat_on_the_agents_clock_and_differ_from_each_other():
    code = """
        import uuid
        from runreel.replay import determinism
        from runreel.replay.clock import Clock
        determinism.install("seed")
        Clock(1_795_956_713_035_514_867).start()
        print(uuid.uuid1(), uuid.uuid1())
    """
    first = run_python(code).split()

    assert first == run_python(code).split()
    assert first[0] != first[1]


def test_threads_and_tasks_draw_from_the_same_sources():
    code = """
        import asyncio, threading, uuid, random
        from runreel.replay import determinism
        determinism.install("seed")
        drawn = []
        def draw():
            drawn.append((str(uuid.uuid4()), random.random(), random.Random().random()))
        for _ in range(3):
            thread = threading.Thread(target=draw)
            thread.start()
            thread.join()
        async def main():
            await asyncio.gather(*(asyncio.to_thread(draw) for _ in range(1)))
            draw()
        asyncio.run(main())
        print(drawn)
    """

    assert run_python(code) == run_python(code)


TOLD = """
    import json, sys
    from runreel.replay import determinism
    told = []
    determinism.install("seed", lambda kind, value: told.append([kind, value]))
"""


def test_what_is_drawn_is_told_with_its_kind():
    out = run_python(
        TOLD
        + """
    import os, random, secrets, uuid, tempfile
    drawn = [
        ("uuid", str(uuid.uuid4())), ("uuid", str(uuid.uuid1())), ("bytes", os.urandom(4).hex()),
        ("random", random.random()), ("random", random.choice(["alpha", "beta"])), ("random", random.randint(1, 10**6)),
        ("random", random.Random(5).uniform(1, 2)), ("random", random.Random(6).random()),
        ("bytes", secrets.token_hex(8)), ("random", secrets.token_urlsafe(8)), ("bytes", random.randbytes(4).hex()),
        ("random", next(tempfile._get_candidate_names())), ("random", random.sample(range(10**6), 2)[1]),
    ]
    missing = [one for one in drawn if list(one) not in told]
    print(json.dumps(missing))
    """
    )

    assert out == "[]\n"


def test_numpys_draws_are_told():
    run_python(
        TOLD
        + """
    import numpy
    assert ["random", numpy.random.random()] in told
    assert ["random", int(numpy.random.randint(10**6))] in told
    numpy.random.rand(3, 3)
    rng = numpy.random.default_rng()
    assert isinstance(rng, numpy.random.Generator)
    assert ["random", rng.random()] in told
    assert ["random", int(rng.integers(10**6))] in told
    assert numpy.random.default_rng(rng) is rng
    assert numpy.random.default_rng(5).random() == numpy.random.Generator(numpy.random.PCG64(5)).random()
    """
    )


def test_an_agent_that_draws_on_and_on_is_told_of_up_to_a_limit():
    run_python(
        TOLD
        + """
    import random
    for _ in range(10_000):
        random.random()
    assert len(told) == determinism.MOST_TOLD, len(told)
    """
    )


def test_drawing_functions_keep_their_names_and_signatures():
    run_python(
        TOLD
        + """
    import inspect, random, uuid
    assert (random.randint.__name__, uuid.uuid4.__name__) == ("randint", "uuid4")
    assert list(inspect.signature(random.randint).parameters) == ["a", "b"]
    assert random.SystemRandom().choice([7]) == 7
    """
    )


def test_forked_processes_draw_the_same_in_each_replay_and_not_what_their_parent_draws():
    code = """
        import os, random, uuid
        from runreel.replay import determinism
        determinism.install("seed")
        def forked():
            reader, writer = os.pipe()
            if not os.fork():
                os.write(writer, f"{uuid.uuid4()} {random.random()}".encode())
                os._exit(0)
            os.wait()
            return os.read(reader, 200).decode()
        print([forked(), forked(), f"{uuid.uuid4()} {random.random()}"])
    """
    first = run_python(code)

    assert first == run_python(code)
    run_python(f"assert len({{word for text in {first.strip()} for word in text.split()}}) == 6")
