"""`python -m runreel` is `runreel`."""

import sys

from runreel.cli import main

if __name__ == "__main__":
    sys.exit(main())
