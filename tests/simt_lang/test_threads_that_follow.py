"""Threads without an iteration, or with a failed check, beside others of their block that meet at barriers in loops,
branches and functions: they go along, and change nothing.

On CUDA and AMD threads end instead, and barriers are for those that are left; the emulator refuses such barriers.
"""

import numpy as np
import pytest
import simt_lang_kit as kit

import quadrants as qd
from quadrants.lang.simt import block

ENDING = ("cpu", "cuda", "amdgpu")
pytestmark = pytest.mark.runtime(exclude=ENDING)
BLOCK, COUNT, ROOM = 32, 60, 96


@qd.func
def neighbours(i, rounds):
    total = 0
    for j in range(rounds):
        block.sync()
        total += i + j
    return total


@qd.real_func
def marked(x: qd.types.ndarray(qd.i32, 1), i: qd.i32) -> qd.i32:
    block.sync()
    x[i] += 1000
    return i


@qd.func
def summed(n):
    total = 0
    for j in range(n):
        total += j
    return total


@qd.func
def swapped(shared: qd.template(), i):
    block.sync()
    found = shared[(i + 1) % 4]
    block.sync()
    return found


def in_while(x, n, at):
    @qd.kernel
    def k(x: qd.types.ndarray(qd.i32, 1), n: qd.i32, at: qd.i32):
        qd.loop_config(block_dim=BLOCK)
        for i in range(n):
            shared = block.SharedArray((BLOCK,), qd.i32)
            rounds, done = i // BLOCK + 2 + 0 * x[i], 0
            while done < rounds and rounds > 1:
                shared[i % BLOCK] = i + done
                block.sync()
                x[i] += shared[i // 4 * 4 % BLOCK + (i + 1) % 4]
                block.sync()
                if at >= 0:
                    assert i != at or done < 1
                done += 1

    k(x, n, at)


def in_for(x, n, at):
    @qd.kernel
    def k(x: qd.types.ndarray(qd.i32, 1), n: qd.i32, at: qd.i32):
        qd.loop_config(block_dim=BLOCK)
        for i in range(n):
            shared = block.SharedArray((BLOCK,), qd.i32)
            for done in range(i // BLOCK + 2 + 0 * x[i]):
                shared[i % BLOCK] = i + done
                block.sync()
                x[i] += shared[i // 4 * 4 % BLOCK + (i + 1) % 4]
                block.sync()
                if at >= 0:
                    assert i != at or done < 1

    k(x, n, at)


def in_branch(x, n, at):
    @qd.kernel
    def k(x: qd.types.ndarray(qd.i32, 1), n: qd.i32, at: qd.i32):
        qd.loop_config(block_dim=BLOCK)
        for i in range(n):
            shared = block.SharedArray((BLOCK,), qd.i32)
            for done in range(3):
                shared[i % BLOCK] = i + done
                if i // BLOCK + 2 + 0 * x[i] > done:
                    block.sync()
                    x[i] += shared[i // 4 * 4 % BLOCK + (i + 1) % 4]
                    block.sync()
                if at >= 0:
                    assert i != at or done < 1

    k(x, n, at)


FORMS = pytest.mark.parametrize("form", [in_while, in_for, in_branch], ids=lambda f: f.__name__)


def expected(n):
    want = np.zeros(ROOM, np.int64)
    for i in range(n):
        other = i // 4 * 4 + (i + 1) % 4
        want[i] = sum(other + done for done in range(i // BLOCK + 2))
    return want


@FORMS
@pytest.mark.parametrize("n", [COUNT, 4, 64, 36])
def test_blocks_that_are_not_full(arch, form, n):
    x = kit.array(np.zeros(ROOM, np.int32))
    form(x, n, -1)
    np.testing.assert_array_equal(x.to_numpy(), expected(n))


@FORMS
@pytest.mark.runtime(exclude=ENDING, debug=True)
def test_one_thread_fails_in_the_middle(arch, form):
    x = kit.array(np.zeros(ROOM, np.int32))
    with pytest.raises(AssertionError, match="i != at"):
        form(x, COUNT, 40)
        qd.sync()
    form(x, 4, -1)
    found = x.to_numpy()
    assert found[COUNT:].tolist() == [0] * (ROOM - COUNT)
    np.testing.assert_array_equal(found[4:BLOCK], expected(COUNT)[4:BLOCK])


def rounds_of_while(x, n):
    @qd.kernel
    def k(x: qd.types.ndarray(qd.i32, 1), n: qd.i32):
        qd.loop_config(block_dim=BLOCK)
        for i in range(n):
            shared = block.SharedArray((BLOCK,), qd.i32)
            j = 0
            while True:
                j += 1
                if j == 2:
                    continue
                if j > i // BLOCK + 3:
                    break
                shared[i % BLOCK] = x[i]
                block.sync()
                x[i] += shared[i // 4 * 4 % BLOCK + (i + 1) % 4]
                block.sync()
                if i % 3 == 1:
                    continue
                x[i] += 1

    k(x, n)


def rounds_of_for(x, n):
    @qd.kernel
    def k(x: qd.types.ndarray(qd.i32, 1), n: qd.i32, most: qd.i32):
        qd.loop_config(block_dim=BLOCK)
        for i in range(n):
            shared = block.SharedArray((BLOCK,), qd.i32)
            for j in range(1, most):
                if j == 2:
                    continue
                if j > i // BLOCK + 3:
                    break
                shared[i % BLOCK] = x[i]
                block.sync()
                x[i] += shared[i // 4 * 4 % BLOCK + (i + 1) % 4]
                block.sync()
                if i % 3 == 1:
                    continue
                x[i] += 1

    k(x, n, 9)


def rounds_of_a_length_of_the_block(x, n):
    @qd.kernel
    def k(x: qd.types.ndarray(qd.i32, 1), n: qd.i32):
        qd.loop_config(block_dim=BLOCK)
        for i in range(n):
            shared = block.SharedArray((BLOCK,), qd.i32)
            for j in range(1, i // BLOCK + 4):
                if j == 2:
                    continue
                shared[i % BLOCK] = x[i]
                block.sync()
                x[i] += shared[i // 4 * 4 % BLOCK + (i + 1) % 4]
                block.sync()
                if i % 3 == 1:
                    continue
                x[i] += 1

    k(x, n)


@pytest.mark.parametrize("form", [rounds_of_while, rounds_of_for, rounds_of_a_length_of_the_block])
@pytest.mark.parametrize("n", [COUNT, 4, 64])
def test_rounds_that_threads_leave(arch, form, n):
    """All of a block leave some, and some of it the end of others."""
    x = kit.array(np.zeros(ROOM, np.int32))
    form(x, n)
    i, want = np.arange(n), np.zeros(ROOM, np.int64)
    for j in (1, 3, 4):
        here = i[i // BLOCK + 3 >= j]
        want[here] += want[here // 4 * 4 + (here + 1) % 4]
        want[here] += here % 3 != 1
    np.testing.assert_array_equal(x.to_numpy(), want)


def test_iterations_that_end_before_a_barrier(arch):
    @qd.kernel
    def k(x: qd.types.ndarray(qd.i32, 1), n: qd.i32):
        qd.loop_config(block_dim=BLOCK)
        for i in range(n):
            shared = block.SharedArray((BLOCK,), qd.i32)
            if i % 4 == 3:
                x[i] = -1
                continue
            shared[i % BLOCK] = i
            block.sync()
            x[i] = shared[i // 4 * 4 % BLOCK + (i + 1) % 2]

    for n in (64, COUNT):
        x = kit.array(np.zeros(ROOM, np.int32))
        k(x, n)
        i = np.arange(n)
        want = np.where(i % 4 == 3, -1, i // 4 * 4 + (i + 1) % 2)
        np.testing.assert_array_equal(x.to_numpy(), [*want, *[0] * (ROOM - n)])


def test_barriers_in_functions(arch):
    @qd.kernel
    def k(x: qd.types.ndarray(qd.i32, 1), n: qd.i32):
        qd.loop_config(block_dim=BLOCK)
        for i in range(n):
            shared = block.SharedArray((BLOCK,), qd.i32)
            shared[i % 4] = i % 4
            x[i] += neighbours(i, 2 + i // BLOCK) + swapped(shared, i)

    x = kit.array(np.zeros(ROOM, np.int32))
    k(x, COUNT)
    i = np.arange(COUNT)
    rounds = 2 + i // BLOCK
    want = rounds * i + rounds * (rounds - 1) // 2 + (i + 1) % 4
    np.testing.assert_array_equal(x.to_numpy(), [*want, *[0] * (ROOM - COUNT)])


def test_a_real_function_with_a_barrier_does_nothing_without_an_iteration(arch):
    @qd.kernel
    def k(x: qd.types.ndarray(qd.i32, 1), y: qd.types.ndarray(qd.i32, 1), n: qd.i32):
        qd.loop_config(block_dim=BLOCK)
        for i in range(n):
            y[i] = marked(x, i + 0 * y[i])

    x, y = kit.array(np.zeros(ROOM, np.int32)), kit.array(np.zeros(ROOM, np.int32))
    k(x, y, COUNT)
    assert x.to_numpy().tolist() == [1000] * COUNT + [0] * (ROOM - COUNT)
    assert y.to_numpy().tolist() == [*range(COUNT), *[0] * (ROOM - COUNT)]


def test_what_may_fail_in_a_part_that_need_not_be_evaluated(arch):
    """Functions with loops, which a driver may end, behind `if else`, `and` and `or`, and in conditions of `while`."""

    @qd.kernel
    def k(out: qd.types.ndarray(qd.i32, 2)):
        for i in range(8):
            out[0, i] = summed(i) if i > 3 else -1
            out[1, i] = -1 if i > 3 else summed(i + out[0, i])
            out[2, i] = i > 2 and summed(i) > 6
            out[3, i] = i < 2 or summed(i) > 6 or summed(i) == 1
            done = 0
            while done < i and summed(done) < 5:
                done += 1
            out[4, i] = done

    out = kit.array(np.zeros((5, 8), np.int32))
    k(out)
    sums = [sum(range(i)) for i in range(8)]
    first = [sums[i] if i > 3 else -1 for i in range(8)]
    want = [
        first,
        [-1 if i > 3 else sum(range(i + first[i])) for i in range(8)],
        [i > 2 and sums[i] > 6 for i in range(8)],
        [i < 2 or sums[i] > 6 or sums[i] == 1 for i in range(8)],
        [min(i, 4) for i in range(8)],
    ]
    np.testing.assert_array_equal(out.to_numpy(), want)
