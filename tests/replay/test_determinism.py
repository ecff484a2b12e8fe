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
