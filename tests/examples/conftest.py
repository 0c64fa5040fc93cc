"""Tests of the example programs at tiny sizes: their physics, not their pixels."""

from __future__ import annotations

import pytest

import quadrants as qd


@pytest.fixture(autouse=True)
def fresh_runtime():
    qd.init(arch=qd.cpu, random_seed=3)
    yield
    qd.reset()
