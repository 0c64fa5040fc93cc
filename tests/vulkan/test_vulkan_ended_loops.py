"""Loops with more rounds than llvmpipe lets a thread do: a launch fails, and is right where the driver has no bound."""

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only  # the fixture starts the arch
INTS = qd.types.ndarray(dtype=qd.i32, ndim=1)


@qd.func
def counted(n):
    k = 0
    while k < n:
        k += 1
    return k


@qd.real_func
def counted_there(n: qd.i32) -> qd.i32:
    k = 0
    while k < n:
        k += 1
    return k


@qd.kernel
def at_the_top(x: INTS, n: qd.i32):
    k = 0
    while k < n:
        k += 1
    x[0] = k


@qd.kernel
def for_ever(x: INTS, n: qd.i32):
    k = 0
    while True:
        k += 1
        if k >= n:
            break
    x[0] = k


@qd.kernel
def of_each(x: INTS, n: qd.i32):
    for i in range(8):
        k = 0
        while k < n:
            k += 1
        x[i] = k


@qd.kernel
def of_some(x: INTS, n: qd.i32):
    qd.loop_config(block_dim=4)
    for i in range(5):
        k = 0
        while k < n * (i % 2):
            k += 1
        x[i] = k


@qd.kernel
def in_memory(x: INTS, n: qd.i32):
    for i in range(8):
        while x[i] < n:
            x[i] += 1


@qd.kernel
def of_two_conditions(x: INTS, n: qd.i32):
    for i in range(8):
        k = 0
        while k < n and x[i] >= 0:
            k += 1
        x[i] = k


@qd.kernel
def of_functions(x: INTS, n: qd.i32):
    x[0] = counted(n)
    x[1] = counted(n - 1) + 1


@qd.kernel
def of_true_calls(x: INTS, n: qd.i32):
    x[0] = counted_there(n)


@qd.kernel
def in_one_another(x: INTS, n: qd.i32):
    i, found = 0, 0
    while i < 300:
        i += 1
        j = 0
        while j < n // 300:
            j += 1
            if j % 2 == 1:
                continue
            found += 2
    x[0] = found


@qd.kernel
def of_a_range(x: INTS, n: qd.i32):
    found = 0
    for j in range(n):
        if j % 2 == 0:
            continue
        found += 2
    x[0] = found


# The cells that hold n afterwards; the others hold 0.
CELLS = {
    at_the_top: [0], for_ever: [0], of_each: range(8), of_some: [1, 3], in_memory: range(8),
    of_two_conditions: range(8), of_functions: [0, 1], of_true_calls: [0], in_one_another: [0], of_a_range: [0],
}  # fmt: skip


@pytest.mark.parametrize("kernel", CELLS, ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("fast_math", [True, False])
def test_a_loop_that_ends_too_early_is_never_a_result(vulkan, kernel, fast_math):
    vulkan(fast_math=fast_math)
    for n in (24_000, 72_000):
        x = np.zeros(8, np.int32)
        try:
            kernel(x, n)
            qd.sync()
        except qd.QuadrantsRuntimeError as error:
            assert n > 65_535 and "ended a loop" in str(error)
        else:
            assert x.tolist() == [n if i in CELLS[kernel] else 0 for i in range(8)]
