"""Read the causes of a recorded exception out of its recorded traceback."""

from collections.abc import Iterator

_CAUSE = "\nThe above exception was the direct cause of the following exception:\n"


def causes_in(stack: str) -> Iterator[tuple[str, str]]:
    """Return type and text of each exception that the last one was raised from, nearest first.

    What was only being handled at the time (`During handling of...`) ends the chain: it is no cause.
    """
    for block in reversed(stack.split(_CAUSE)[:-1]):
        lines = block.strip("\n").split("\n")
        # The exception stands after the last frame, which is indented; its text may go over several lines.
        start = max((place for place, line in enumerate(lines) if line.startswith("  ")), default=-1) + 1
        kind, _, text = "\n".join(lines[start:]).partition(": ")
        if not kind or " " in kind:
            return
        yield kind, text
        if "During handling of the above exception" in block:
            return
