"""`python -m quadrants`."""

from __future__ import annotations

import sys

from quadrants.cli import main, run

if __name__ == "__main__":
    sys.exit(run(main, sys.argv[1:]))
