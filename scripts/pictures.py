"""Draw the pictures of `runreel runs show` in docs/pictures: `python scripts/pictures.py`, from the root of a clone.

Each is a capture of tests/data, imported into a data folder of its own as `runreel runs import` does it, and shown on a
terminal of 80 columns. The key is fixed, so that tokens, and with them the pictures, come out the same each time.
"""

import argparse
import os
import re
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import CONSOLE_SVG_FORMAT, Console  # type: ignore[attr-defined]
from rich.text import Text

from runreel.cli import common, show
from runreel.cli.importing import import_paths
from runreel.processors.redact.keys import VARIABLE

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
CAPTURES = {
    "langgraph": "langgraph/openinference",
    "openai-agents": "openai-agents/openinference",
    "openai-agents-gap": "openai-agents/otel-genai",
    "pydantic-ai": "pydantic-ai/content-on",
}
# Rich asks a server for its font: a picture asks for nothing.
FORMAT = re.sub(r"@font-face \{\{.*?\}\}|https://\S+ ", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "Fira Code, ", ""
)


def main(folder: Path = PICTURES) -> None:
    """Draw all of them into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, capture in CAPTURES.items():
        svg = draw(name, ROOT / "tests" / "data" / "captures" / capture)
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
        print(f"{name}.svg: {capture}", file=sys.stderr)


def draw(name: str, capture: Path) -> str:
    """Return the picture of one capture's run."""
    os.environ[VARIABLE] = "0" * 64
    with tempfile.TemporaryDirectory() as home:
        import_paths(Path(home), [capture], say=lambda _: None)
        run = common.load(argparse.Namespace(home=Path(home)), "last")
    console = Console(
        record=True, width=80, force_terminal=True, color_system="truecolor", highlight=False, file=StringIO()
    )
    console.print(Text("$ runreel runs show last", "dim"))
    show.tree(console, run)
    svg = console.export_svg(title="", code_format=FORMAT, unique_id=name)
    return "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"


if __name__ == "__main__":
    main()
