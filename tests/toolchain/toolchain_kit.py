"""What several test files of the toolchain name."""

from __future__ import annotations

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = "int qd_answer(int x) { return 2 * x + 1; }\n"
