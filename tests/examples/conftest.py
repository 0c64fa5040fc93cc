"""Tests of the example programs at tiny sizes: their physics, not their pixels."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def fresh_runtime(init):
    init(random_seed=3)
