"""`python -m quadrants.tools.diagnose`: the same as `python -m quadrants doctor`, under its older name."""

from __future__ import annotations

import sys

from quadrants.cli import run
from quadrants.cli.doctor import main

if __name__ == "__main__":
    sys.exit(run(main, sys.argv[1:]))
