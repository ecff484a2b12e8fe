"""Show pip's progress as one line that counts packages: its own output is a page a package."""

import re
import sys
from pathlib import Path


def main(requirements: str) -> None:
    """Read pip's output on stdin and count the packages of the requirements file that it has taken up."""
    total = len(re.findall(r"^[A-Za-z0-9]", Path(requirements).read_text(encoding="utf-8"), re.MULTILINE))
    terminal = sys.stdout.isatty()
    seen = 0
    for line in sys.stdin:
        if line.startswith(("Collecting ", "Requirement already satisfied: ")):
            seen += 1
            if terminal:
                print(f"\r  {min(seen, total)}/{total} {line.split()[1][:40]:<40}", end="", flush=True)
            elif seen % 25 == 0:
                print(f"  {seen}/{total} packages found", flush=True)
        elif line.startswith("Installing collected packages"):
            print("\r  unpacking, this takes a moment" + " " * 30 if terminal else "  unpacking", flush=True)
        elif "error" in line.lower():
            print(line, end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
