"""Kernels of thousands of statements: what the C compiler is asked for, and that they compute the same."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.runtime import cpu
from quadrants.toolchain import build

pytestmark = pytest.mark.cpu_only


@pytest.fixture
def asked(monkeypatch):
    """(characters of the text, optimisation level) of every compile."""
    seen = []
    load = build.load_c

    def watched(source, name, options, cache, **rest):
        seen.append((len(source), options.opt_level))
        return load(source, name, options, cache, **rest)

    monkeypatch.setattr(build, "load_c", watched)
    return seen


def sums(count: int):
    @qd.kernel
    def run(x: qd.types.ndarray(), out: qd.types.ndarray()):
        for i in range(4):
            total = x[i]
            for k in qd.static(range(count)):
                if total > k:
                    total = total - 0.5 * x[(i + k) % 4]
            out[i] = total

    return run


def expected(x: np.ndarray, count: int) -> list:
    out = []
    for i in range(4):
        total = x[i]
        for k in range(count):
            if total > k:
                total = np.float32(total - np.float32(0.5) * x[(i + k) % 4])
        out.append(total)
    return out


@pytest.mark.parametrize(("count", "level"), [(4, 3), (1200, 2)])
def test_large_texts_are_compiled_without_what_only_helps_loops(arch, asked, count, level):
    x = np.array([3.0, 1.5, 9.0, 700.0], np.float32)
    out = np.zeros(4, np.float32)
    sums(count)(x, out)
    np.testing.assert_allclose(out, expected(x, count), rtol=1e-6)
    ((size, used),) = asked
    assert (size > cpu.LARGE_TEXT) == (level == 2)
    assert used == level


@pytest.mark.parametrize("size", [10, 2 * cpu.LARGE_TEXT])
def test_no_optimisation_stays_none(size):
    assert cpu.compiler_options({"fast_math": True, "opt_level": 0}, "x" * size).opt_level == 0
