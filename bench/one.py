"""Measures one group of rows in this process: `one.py GROUP DESCRIPTOR [--quick]`, started by run.py.

On the descriptor go JSON lines: `{"say": TEXT}` and `{"row": ROW}`. Standard output is for people only.
"""

import argparse
import json
import os
import sys

import harness

from runreel.collector.garbage import collect_rarely


def main(argv: list[str]) -> None:
    """Measure; whatever a group raises ends the process with its traceback."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("group")
    options.add_argument("descriptor", type=int)
    options.add_argument("--quick", action="store_true")
    args = options.parse_args(argv)
    with os.fdopen(args.descriptor, "w", encoding="utf-8", buffering=1) as out:

        def tell(key: str, what: object) -> None:
            out.write(json.dumps({key: what}) + "\n")

        group = harness.Group.load(args.group)
        collect_rarely()  # as the collector does; it helps both sides
        for row in group.measure(quick=args.quick, say=lambda text: tell("say", text)):
            tell("row", row.document())


if __name__ == "__main__":
    main(sys.argv[1:])
