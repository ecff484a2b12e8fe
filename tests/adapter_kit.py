"""A record that answers the adapters, for tests: what was asked is kept, and nothing is answered but what is set."""

from runreel.replay.adapters import Answers


class Tape:
    """Stands for the record: returns `value`, or raises `error`."""

    def __init__(self):
        self.value, self.error, self.asked = None, None, []

    def call(self, kind, name, arguments, *, call_id="", defaults=None, contract=""):
        self.asked.append((kind, name, arguments, call_id))
        if self.error is not None:
            raise self.error
        return self.value


class World:
    """An adapter that is installed once in this process; `expect` says what is recorded, for one test."""

    def __init__(self, install):
        self._kinds, self.tape = {}, Tape()
        install(Answers(self._kinds, self))

    def call(self, *args, **keywords):
        return self.tape.call(*args, **keywords)

    def expect(self, value=None, error=None, **kinds):
        self._kinds.update(kinds)
        self.tape.value, self.tape.error = value, error
        return self.tape

    def forget(self):
        self._kinds.clear()
        self.tape = Tape()


def must_not_run(*_, **__):
    raise AssertionError("a recorded tool ran")
