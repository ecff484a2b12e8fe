"""What the model answers the agents that have a case for each kind of call."""

from runreel.demo.model_server import Turn

DONE = Turn("Done.")


def calls_of(name, *numbers):
    return Turn(calls=tuple((name, f'{{"n": {number}}}') for number in numbers))


KINDS = {
    "sync": (calls_of("plain", 1), calls_of("plain", 2, 3), DONE),
    "async": (calls_of("later", 1, 2), DONE),
    "generator": (calls_of("pieces", 3), DONE),
    "asyncgenerator": (calls_of("pieces_later", 3), DONE),
    "stream": (Turn("A sentence that goes on for longer than its reader stays to listen to it."),),
    "exceptions": (calls_of("failing", 1), calls_of("failing", 2), calls_of("failing", 3), DONE),
    "bytes": (calls_of("octets", 300), DONE),
    "images": (calls_of("picture", 8), DONE),
    "large": (calls_of("large", 60_000), DONE),
    "flaky": (calls_of("plain", 1), DONE),
    "threads": (calls_of("plain", 1), DONE),
}
