"""Functions that call each other, in the languages that have recursion: their compilers take the texts."""

from __future__ import annotations

import numpy as np
import pytest
from emit_kit import compile_cuda, require_nvrtc
from hip_kit import compile_hip, require_hiprtc

import quadrants as qd


@qd.real_func
def is_even(x: qd.types.ndarray(), n: qd.i32) -> qd.i32:
    if n <= 0:
        return x[0]
    return is_odd(x, n - 1)


@qd.real_func
def is_odd(x: qd.types.ndarray(), n: qd.i32) -> qd.i32:
    if n <= 0:
        return x[1]
    return is_even(x, n - 1)


@qd.kernel
def called(x: qd.types.ndarray(), out: qd.types.ndarray()):
    for i in range(out.shape[0]):
        out[i] = is_even(x, i)


TEXTS = {"cuda": (require_nvrtc, compile_cuda), "hip": (require_hiprtc, compile_hip)}


@pytest.mark.parametrize("dialect", TEXTS)
def test_compilers_of_devices_take_functions_that_call_each_other(dialect):
    require, compile_texts = TEXTS[dialect]
    require()
    qd.init(arch=qd.cpu)
    text = called.source(np.zeros(2, np.int32), np.zeros(9, np.int32), arch=dialect)
    compile_texts([("called", text)])


@pytest.mark.parametrize("dialect", ["c", "cuda", "hip"])
def test_only_what_is_called_early_is_declared_twice(dialect):
    qd.init(arch=qd.cpu)
    text = called.source(np.zeros(2, np.int32), np.zeros(9, np.int32), arch=dialect)
    heads = [line for line in text.splitlines() if ("int32_t is_even(" in line or "int32_t is_odd(" in line)]
    declared = [line for line in heads if line.endswith(";") and "=" not in line]
    assert len(declared) == 1 and "is_even(" in declared[0] and len(heads) == 3
