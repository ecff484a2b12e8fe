"""Which frames are the agent's own."""

import sys

from python_snippet import run_python
from runreel.replay import frames
from runreel.replay.boundaries.stubs import stub_code


def here():
    return sys._getframe()


def test_code_of_a_file_that_is_neither_pythons_nor_installed_nor_ours_is_the_agents():
    frame = here()

    assert frames.is_agents(frame)
    assert frames.place(frame).startswith(f"{__file__}:")
    assert frames.place(frame).endswith(" in here")


def test_a_stack_is_told_from_the_inside_and_not_without_end():
    def deep(left):
        return deep(left - 1) if left else frames.agents_places(sys._getframe())

    places = deep(20)

    assert len(places) == 5
    assert all(place.endswith(" in deep") for place in places)


def test_the_standard_library_installed_packages_and_the_replay_are_not_the_agents():
    seen = []

    def watch(frame, event, _):
        seen.append(frame)

    code = (lambda: None).__code__
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        import textwrap

        textwrap.dedent("x")
        stub_code(code, 0)
    finally:
        sys.setprofile(before)
    names = {frame.f_code.co_name for frame in seen if frames.is_agents(frame)}

    assert {"dedent", "stub_code"} <= {frame.f_code.co_name for frame in seen}
    assert names.isdisjoint({"dedent", "stub_code"})


def test_code_given_on_the_command_line_is_the_agents_and_made_up_code_is_not():
    out = run_python(
        """
        import sys
        from runreel.replay import frames
        def typed():
            return frames.is_agents(sys._getframe())
        made = {"sys": sys, "frames": frames, "__name__": "made"}
        exec("def up(): return frames.is_agents(sys._getframe())", made)
        print(typed(), made["up"]())
        """
    )

    assert out == "True False\n"
