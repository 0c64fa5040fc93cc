"""Import path of the helpers of this folder, and the arch to run on."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture
def arch():
    """The CPU, freshly initialised."""
    import quadrants as qd

    qd.init(arch=qd.cpu)
    return qd.cpu
