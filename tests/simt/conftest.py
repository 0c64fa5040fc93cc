"""The emulator is compiled code and a C++ compiler away."""

from __future__ import annotations

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
pytest.importorskip("quadrants._ext.simt", reason="the emulator is not built on Windows")
