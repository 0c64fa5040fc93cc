"""if, while, break, continue, loop_config (language.md 13.3 to 13.6)."""

from __future__ import annotations

import pytest
from language_kit import raises

import quadrants as qd


def test_conditions(arch):
    """13.3: full-width integers, u1; a static test hides the other branch; nested elif chains."""

    @qd.kernel
    def conditions(n: qd.i32, out: qd.types.ndarray(qd.i32, 1)):
        wide = qd.i64(4294967296) * n
        if wide:
            out[0] = 1
        if n - 1:
            out[1] = 1
        elif n > 5:
            out[1] = 2
        elif n == 1:
            out[1] = 3
        else:
            out[1] = 4
        if qd.static(False):
            undefined_name()  # noqa: F821
            raise ValueError
        else:
            out[2] = 5
        if not n:
            out[3] = 1
        if n > 0 and n < 2 or undefined_is_not_here > 0:
            out[4] = 1
        if qd.u8(256 - 1 + n - 1) and True:
            out[5] = 1

    undefined_is_not_here = 0
    out = qd.ndarray(qd.i32, shape=6)
    conditions(1, out)
    assert out.to_numpy().tolist() == [1, 3, 5, 0, 1, 1]


def test_condition_errors(arch):
    f = qd.field(qd.f32, shape=2)

    @qd.kernel
    def real_if():
        if f[0]:
            pass

    @qd.kernel
    def real_while():
        while f[0]:
            pass

    @qd.kernel
    def vector_if():
        if qd.Vector([1, 2]):
            pass

    @qd.kernel
    def untaken():
        if False:
            undefined_name()  # noqa: F821

    @qd.kernel
    def untaken_static():
        if not qd.static(True):
            undefined_name()  # noqa: F821

    @qd.kernel
    def while_else():
        while f[0] > 1:
            pass
        else:
            pass

    for kernel in (real_if, real_while, vector_if):
        with raises(qd.QuadrantsTypeError, "conditions must be an integer"):
            kernel()
    for kernel in (untaken, untaken_static):
        with raises(qd.QuadrantsNameError, 'Name "undefined_name" is not defined'):
            kernel()
    with raises(qd.QuadrantsSyntaxError, "'else' clause for"):
        while_else()


def test_break_and_continue(arch):
    """13.4: serialised, nested, n-d and while loops, static loops, loops inside a run-time if; funcs."""

    @qd.func
    def sum_until(n, out: qd.template()):
        i = 0
        while True:
            i += 1
            if i == 3:
                continue
            if i > n:
                break
            out += i

    @qd.kernel
    def leave(n: qd.i32, out: qd.types.ndarray(qd.i32, 1)):
        qd.loop_config(serialize=True)
        for i in range(100):
            if i == 3:
                break
            out[0] += 1
        for i in range(10):
            if i % 3:
                continue
            for j in range(100):
                if j > i:
                    break
                if j % 2:
                    continue
                out[1] += 1
        for _ in range(1):
            s = 0
            for i, j in qd.ndrange(3, 4):
                if i == 1 and j == 2:
                    break
                for k in range(5):
                    if k == 2:
                        break
                    s += 1
                while True:
                    s += 100
                    if s > 0:
                        break
                if j == 1:
                    continue
                s += 10000
            out[2] = s
        if n > 0:
            for i in range(10):
                if i == 4:
                    break
                out[3] += 1
        for i, j in qd.ndrange(4, 4):
            if i == j:
                continue
            out[4] += 1
        for i in qd.static(range(10)):
            if qd.static(i == 2):
                continue
            if qd.static(i == 5):
                break
            out[5] += i
        for i in range(3):
            for j in qd.static(range(3)):
                if j == i:
                    sum_until(4, out[6])
        sum_until(5, out[7])
        for _ in range(1):
            for i in range(5):
                for j in qd.static(range(3)):
                    if qd.static(j == 1):
                        continue
                    if qd.static(j == 2):
                        break
                    out[8] += 1
                if i == 2:
                    break
        qd.loop_config(serialize=True)
        for i, j, k in qd.ndrange(3, 3, 3):
            if i + j + k == 4:
                break
            if k == 1:
                continue
            out[9] += 1

    out = qd.ndarray(qd.i32, shape=10)
    leave(1, out)
    ndrange = [(i, j, k) for i in range(3) for j in range(3) for k in range(3)]
    until = ndrange[: next(n for n, t in enumerate(ndrange) if sum(t) == 4)]
    expected = [3, 1 + 2 + 4 + 5, 40612, 4, 12, 0 + 1 + 3 + 4, 3 * (1 + 2 + 4), 12, 3, sum(t[2] != 1 for t in until)]
    assert out.to_numpy().tolist() == expected


def test_break_errors(arch):
    @qd.func
    def loop_in_func():
        for i in range(3):
            if i == 1:
                break

    @qd.kernel
    def outermost():
        for i in range(3):
            if i == 1:
                break

    @qd.kernel
    def through_func():
        loop_in_func()

    @qd.kernel
    def inside_unrolled():
        for _ in qd.static(range(2)):
            for i in range(3):
                if i == 1:
                    break

    @qd.kernel
    def static_break(n: qd.i32):
        for i in qd.static(range(3)):
            if n == i:
                break

    @qd.kernel
    def static_continue(n: qd.i32):
        for i in qd.static(range(3)):
            if n == i:
                continue

    for kernel in (outermost, through_func, inside_unrolled):
        with raises(qd.QuadrantsSyntaxError, "Cannot break in the outermost loop"):
            kernel()
    with raises(qd.QuadrantsSyntaxError, "You are trying to `break` a static `for` loop"):
        static_break(1)
    with raises(qd.QuadrantsSyntaxError, "You are trying to `continue` a static `for` loop"):
        static_continue(1)


class Level:
    LOW, HIGH = 1, 2


@pytest.mark.runtime(cpu_max_num_threads=4)
@pytest.mark.parametrize("level", [Level.LOW, Level.HIGH])
def test_loop_config(arch, level):
    """13.5: serialize by a trace-time comparison keeps order; parallelize, block_dim and name change no result."""
    f = qd.field(qd.i32, shape=3000)
    last = qd.field(qd.i32, shape=())

    @qd.kernel
    def configured(out: qd.types.ndarray(qd.i32, 1)):
        qd.loop_config(serialize=level < 2)
        for i in range(3000):
            last[None] = i
            f[i] = i
        out[0] = last[None]
        qd.loop_config(parallelize=1)
        for i in range(3000):
            last[None] = i
            if i == 2500:
                break
        out[1] = last[None]
        qd.loop_config(parallelize=3, block_dim=64, name="named", bit_vectorize=False, resident_blocks=2)
        for i in f:
            out[2] += f[i]
        qd.loop_config(serialize=True)
        n = 5
        for i in range(n):
            if i == 3:
                break
            out[3] += 1
        qd.loop_config(block_dim=256)
        for i in range(n):
            out[4] += 1

    if level == Level.LOW:
        out = qd.ndarray(qd.i32, shape=5)
        configured(out)
        assert out.to_numpy().tolist() == [2999, 2500, 3000 * 2999 // 2, 3, 5]
    else:
        # The order of a parallel loop is free; the other loops do not depend on it.
        out = qd.ndarray(qd.i32, shape=5)
        configured(out)
        assert out.to_numpy().tolist()[1:] == [2500, 3000 * 2999 // 2, 3, 5]
        assert (f.to_numpy() == range(3000)).all()


def test_lines_of_loop_config_add_up(arch):
    """As in the reference; the last line that names an option holds."""

    @qd.kernel
    def configured() -> qd.i32:
        s = 0
        qd.loop_config(serialize=True, block_dim=32)
        qd.loop_config(block_dim=64)
        for i in range(100):
            if i == 3:
                break
            s += 1
        qd.loop_config(serialize=False)
        for i in range(100):
            s += 1
        return s

    assert configured() == 103


def test_loop_config_belongs_to_the_next_for(arch):
    """13.5: a loop inside a func that the header calls does not take the configuration."""

    @qd.func
    def count(n):
        c = 0
        for _ in range(n):
            c += 1
        return c

    @qd.kernel
    def configured() -> qd.i32:
        s = 0
        qd.loop_config(serialize=True)
        for i in range(count(100)):
            if i == 3:
                break
            s += 1
        qd.loop_config(serialize=True)
        for i, _ in qd.ndrange(count(100), 2):
            if i == 3:
                break
            s += 10
        return s

    assert configured() == 63


def test_loop_config_errors(arch):
    @qd.kernel
    def unknown():
        qd.loop_config(block_dim_adaptive=True)
        for _ in range(2):
            pass

    @qd.kernel
    def positional():
        qd.loop_config(32)
        for _ in range(2):
            pass

    @qd.kernel
    def at_run_time(n: qd.i32):
        qd.loop_config(serialize=n > 1)
        for _ in range(2):
            pass

    @qd.kernel
    def too_many_blocks():
        qd.loop_config(resident_blocks=33)
        for _ in range(2):
            pass

    @qd.kernel
    def half_a_block():
        qd.loop_config(resident_blocks=0.5)
        for _ in range(2):
            pass

    @qd.kernel
    def odd_block():
        qd.loop_config(block_dim=96)
        for _ in range(2):
            pass

    for kernel, args, kind in (
        (unknown, (), qd.QuadrantsTypeError),
        (positional, (), qd.QuadrantsTypeError),
        (at_run_time, (1,), qd.QuadrantsTypeError),
        (odd_block, (), qd.QuadrantsCompilationError),
        (too_many_blocks, (), qd.QuadrantsCompilationError),
        (half_a_block, (), qd.QuadrantsTypeError),
    ):
        with raises(kind):
            kernel(*args)


def test_hints_return_their_value(arch):
    """13.6: hints do not change results."""
    f = qd.field(qd.i32, shape=4)

    @qd.kernel
    def hints(n: qd.i32) -> qd.i32:
        qd.block_local(f)
        qd.cache_read_only(f)
        for i in f:
            f[i] = qd.assume_in_range(i, 0, 0, 4) + qd.lang.misc.loop_unique(i) + qd.global_thread_idx() * 0
        return qd.assume_in_range(n, 0, -1, 100) + f[3]

    assert hints(7) == 13
