"""The tests of codegen run on the CPU and start from a fresh runtime."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import quadrants as qd

_TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS / folder) for folder in ("emit", "differential", "prelude")]


@pytest.fixture(autouse=True)
def runtime(monkeypatch):
    """A CPU runtime, without templates from outside."""
    monkeypatch.delenv("QD_TEMPLATE_PATH", raising=False)
    qd.init(arch=qd.cpu, random_seed=1)
    yield
    qd.reset()
