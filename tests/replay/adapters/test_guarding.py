"""A method is guarded in every class that defines it: those that are there, and those that come."""

import pytest

from runreel.replay.adapters.guarding import guard_classes


def loud(method):
    return lambda self: f"guarded {method(self)}"


class Noting:
    made = ()

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        Noting.made += (cls.__name__,)


@pytest.mark.parametrize("above", [object, Noting], ids=["plain", "with a hook of its own"])
def test_classes_of_before_and_of_later_are_guarded_at_each_level(above):
    class Base(above):
        def run(self):
            return "base"

    class Before(Base):
        def run(self):
            return "before"

    guard_classes(Base, {"run": loud})

    class Later(Before):
        def run(self):
            return f"later, {super().run()}"

    class Silent(Later):
        other = 1

    assert Base().run() == "base"
    assert Before().run() == "guarded before"
    assert Later().run() == Silent().run() == "guarded later, guarded before"
    assert above is object or Noting.made[-4:] == ("Base", "Before", "Later", "Silent")


def test_what_a_class_does_to_those_below_it_is_done_as_before():
    class Base:
        def __init_subclass__(cls, *, mark="", **keywords):
            super().__init_subclass__(**keywords)
            cls.mark, cls.seen = mark, cls.__dict__["run"].__name__

    guard_classes(Base, {"run": loud})

    class Later(Base, mark="m"):
        def run(self):
            return "later"

    assert (Later.mark, Later.seen, Later().run()) == ("m", "run", "guarded later")


def test_only_functions_that_a_class_defines_are_guarded():
    class Base:
        pass

    guard_classes(Base, {"run": loud})

    class Later(Base):
        run = 5

    assert Later.run == 5
