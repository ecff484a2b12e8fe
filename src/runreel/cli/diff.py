"""`runreel diff A B`: compare two runs, first divergence first."""

import argparse

from runreel.cli import common


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `runreel diff`."""
    parser.description = (
        "Compare two runs step by step: messages part by part, JSON by structure, texts by word, the first divergence "
        "first. A and B are a run id, a trace id, a prefix of either, `last`, or a reel file. "
        "Exit code 0: same; 2: different."
    )
    parser.add_argument("a", metavar="A", help="the run to compare with")
    parser.add_argument("b", metavar="B", help="the run to compare")
    parser.add_argument("--json", action="store_true", help="print a JSON document, nothing cut")
    common.add_html(parser, "both runs")
    parser.add_argument("--full", action="store_true", help="show every change, and every value whole")
    parser.add_argument(
        "--mask",
        action="append",
        default=[],
        metavar="PATTERN",
        help="hide changes by kind/name/side/path, such as 'tool/search/output/*/score'; may be repeated",
    )
    common.add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Run `runreel diff`."""
    from runreel.replay import render
    from runreel.replay.diff import diff

    a, b = common.load(args, args.a), common.load(args, args.b)
    found = diff(a, b, args.mask)
    if args.html is not None:
        from runreel.pages.comparison import comparison

        common.write_page(args.html, comparison(found, a, b))
    if args.json:
        common.show_json(render.document(found))
    else:
        console = common.console()
        for line in render.lines(found, full=args.full):
            console.print(line)
    return 0 if found.same else 2
