"""Kernels that several Python threads launch at once lose nothing, on every arch. Other ones each day."""

from __future__ import annotations

import io
import os
from contextlib import nullcontext

import pytest

from fuzz import threads
from fuzz.execute import Arch
from fuzz.hunt import Hunt
from fuzz.test_hunt import fuzzed, seed_of_today
from quadrants.data import alone, copies

PROGRAMS = int(os.environ.get("QD_FUZZ_PROGRAMS", 300)) // 10
# One program in forty meets what is not kept apart, and fewer where other processes take the processors.
ENOUGH = 2000


@pytest.mark.slow
def test_programs(arch_name):
    seed, told = seed_of_today(), io.StringIO()
    hunt = Hunt(PROGRAMS, seed, (fuzzed(arch_name),), subject="threads", jobs=2, out=told)
    findings = hunt.run()
    assert not findings, f"QD_FUZZ_SEED={seed}\n{hunt.summary()}\n{told.getvalue()}"
    assert hunt.kinds["ok"] == PROGRAMS, hunt.summary()


@pytest.mark.cpu_only
def test_copies_that_are_not_kept_apart_are_found(monkeypatch):
    monkeypatch.setattr(copies.Turn, "begin", lambda turn: None)
    assert any(threads.check_seed(seed, None, frozenset(), Arch("cpu")).finding for seed in range(ENOUGH))


@pytest.mark.cpu_only
def test_stores_of_python_that_are_not_kept_apart_are_found(monkeypatch):
    monkeypatch.setattr(alone, "HostTurn", nullcontext)
    assert any(threads.check_seed(seed, None, frozenset(), Arch("cpu")).finding for seed in range(ENOUGH))
