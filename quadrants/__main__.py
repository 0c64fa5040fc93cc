"""`python -m quadrants`."""

from __future__ import annotations

import sys

from quadrants.cli import entry

if __name__ == "__main__":
    sys.exit(entry())
