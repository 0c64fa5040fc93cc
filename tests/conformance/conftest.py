"""Puts this folder on the import path, so that tests find the helpers however pytest is started."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
