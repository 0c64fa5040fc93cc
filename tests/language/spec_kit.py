"""Helpers of the tests of operators, control flow, print and debug checks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Kernels call `same_type` while they are traced, on purpose.
traced_helpers = pytest.mark.filterwarnings("ignore:Calling non-quadrants function")


def same_type(x, dtype) -> bool:
    """Whether the run-time value `x`, seen at trace time, has this dtype."""
    return x.type is dtype


def run_script(path: Path, text: str, **environment: str) -> subprocess.CompletedProcess:
    """Run `text` as the program at `path` in a process of its own; its output is what it wrote to fd 1 and fd 2."""
    path.write_text(text)
    env = {**os.environ, "QD_LOG_LEVEL": "error", **environment}
    return subprocess.run([sys.executable, str(path)], env=env, capture_output=True, text=True, timeout=120)
