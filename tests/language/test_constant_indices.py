"""Constant indices outside of a field: a warning with the line, zeros, and never another cell."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from language_kit import fold, raises, warns

import quadrants as qd

UNTOUCHED = 77


def containers() -> dict:
    """name -> (field, indices outside); all memory is filled with UNTOUCHED."""
    made: dict = {}
    made["padded"] = (qd.field(qd.i32, shape=10), ((10,), (12,), (15,), (16,), (-1,), (-16,)))
    made["plane"] = (qd.field(qd.i32, shape=(4, 4)), ((0, 4), (4, 0), (1, -1), (-1, 3), (0, 5)))
    made["offset"] = (qd.field(qd.i32, shape=(4, 4), offset=(-2, 8)), ((-3, 8), (2, 8), (0, 0), (0, 12)))
    blocked = qd.field(qd.i32)
    qd.root.dense(qd.i, 4).dense(qd.i, 4).place(blocked)
    made["blocked"] = (blocked, ((16,), (17,), (-1,)))
    swapped = qd.field(qd.i32)
    qd.root.dense(qd.j, 3).dense(qd.i, 5).place(swapped)
    made["permuted"] = (swapped, ((5, 0), (0, 3), (-1, 1)))
    made["vectors"] = (qd.Vector.field(3, qd.i32, shape=5), ((5,), (-1,), (8,)))
    made["vectors apart"] = (qd.Vector.field(3, qd.i32, shape=5, layout=qd.Layout.SOA), ((5,), (-1,), (8,)))
    made["matrices"] = (qd.Matrix.field(2, 2, qd.i32, shape=(2, 2)), ((2, 0), (0, 2), (0, -1)))
    member, other = qd.field(qd.i32), qd.Vector.field(2, qd.i32)
    qd.root.dense(qd.i, 6).place(member, other)
    made["interleaved"] = (other, ((6,), (7,), (-1,)))
    for field, _ in made.values():
        field.fill(UNTOUCHED)
    member.fill(UNTOUCHED)
    return made


NAMES = ("padded", "plane", "offset", "blocked", "permuted", "vectors", "vectors apart", "matrices", "interleaved")


def quietly(kernel, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kernel(*args)


@pytest.mark.parametrize("name", NAMES)
def test_reads_give_zero_and_writes_are_lost(arch, name):
    made = containers()
    f, outside = made[name]
    count = f.n * f.m if hasattr(f, "m") else 1

    @qd.kernel
    def read(at: qd.template()) -> qd.i32:
        r = 0
        for k in qd.static(range(1)):
            if qd.static(count == 1):
                r = f[at] + k
            else:
                v = f[at]
                r = v.sum() + k
        return r

    @qd.kernel
    def write(at: qd.template()) -> qd.i32:
        r = 0
        for _ in range(1):
            f[at] = 5
        f[at] += 3
        if qd.static(count == 1):
            r = qd.atomic_add(f[at], 2) + qd.atomic_max(f[at], 100)
        f[at] *= 2
        return r

    for at in outside:
        assert quietly(read, at) == 0
        assert quietly(write, at) == 0
    qd.sync()
    for field, _ in made.values():
        assert (field.to_numpy() == UNTOUCHED).all()


@pytest.mark.parametrize("name", ("padded", "plane", "offset", "vectors"))
def test_the_warning_names_line_axis_and_range(arch, name):
    f, outside = containers()[name]
    at = outside[-1]

    @qd.kernel
    def store(n: qd.i32):
        for _ in range(n):
            f[at] = 1

    with warns(UserWarning, f"Index {at[-1]} is out of range on axis {len(at) - 1} of field 'f'") as caught:
        store(1)
    message = caught[0]
    text = str(message.message)
    assert message.filename == __file__ and "f[at] = 1\n" in text and "^^^^^" in text and "in store:" in text
    first = (0, 8)[name == "offset"]
    assert f"from {first} to {first + f.shape[-1] - 1}" in fold(text).replace("from", "from ").replace("to", " to ")


def test_one_warning_for_an_unrolled_loop_whose_conditions_keep_it_inside(arch):
    """Neighbours of a fixed cell: valid, since a condition of run time keeps the launch off the line."""
    f = qd.field(qd.i32, shape=3)
    f.from_numpy(np.array([1, 10, 100], np.int32))

    @qd.kernel
    def around(low: qd.i32, high: qd.i32) -> qd.i32:
        s = 0
        for d in qd.static(range(-3, 6)):
            if low <= d and d < high:
                s += f[d]
        return s

    with warns(UserWarning, "Index -3 is out of range"):
        assert around(0, 3) == 111
    assert around(1, 3) == 110


def test_indices_that_are_inside_say_nothing(arch):
    f = qd.field(qd.i32, shape=4, offset=-2)
    g = qd.field(qd.i32, shape=(10, 3))

    @qd.kernel
    def run():
        f[-2] = 1
        f[qd.i32(-1)] = 2
        f[qd.Vector([1])] = 3
        g[9, 2] = 4
        g[np.int64(0), 2] = 5

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run()
    assert f.to_numpy().tolist() == [1, 2, 0, 3] and g[9, 2] == 4 and g[0, 2] == 5


def test_members_of_struct_fields(arch):
    Point = qd.types.struct(a=qd.i32, v=qd.math.ivec2)
    s = Point.field(shape=5)
    s.a.fill(UNTOUCHED)
    s.v.fill(UNTOUCHED)

    @qd.kernel
    def run() -> qd.i32:
        s[5] = Point(a=1, v=2)
        s[6].v.x = 3
        s[-1].v += qd.Vector([1, 2])
        p = s[7]
        return p.a + p.v.sum() + s[-2].v[1]

    assert quietly(run) == 0
    assert (s.a.to_numpy() == UNTOUCHED).all() and (s.v.to_numpy() == UNTOUCHED).all()


@qd.func
def twice(x: qd.template()):
    x *= 2
    return x


def test_funcs_addresses_and_volatile_loads(arch):
    """An address that would be of another cell is 0."""
    f = qd.field(qd.i32, shape=9)
    f.fill(UNTOUCHED)

    @qd.kernel
    def run() -> qd.i32:
        return twice(f[9]) + qd.volatile_load(f[11]) + qd.i32(qd.get_addr(f, 9))

    assert quietly(run) == 0 and (f.to_numpy() == UNTOUCHED).all()


@pytest.mark.parametrize("mode", ["debug", "check_out_of_bound"])
def test_checked_modes_fail_where_the_line_runs(init, mode):
    init(**{mode: True})
    f = qd.field(qd.i32, shape=10)
    f.fill(UNTOUCHED)

    @qd.kernel
    def run(n: qd.i32) -> qd.i32:
        r = 1
        if n > 0:
            r = f[12]
            f[-1] = 3
        return r

    assert quietly(run, 0) == 1
    with raises(qd.QuadrantsAssertionError, "of size (10) with indices (12)"):
        run(1)
    assert (f.to_numpy() == UNTOUCHED).all()


def test_derivatives(arch):
    x = qd.field(qd.f32, shape=10, needs_grad=True)
    loss = qd.field(qd.f32, shape=(), needs_grad=True)
    x.fill(2.0)

    @qd.kernel
    def run():
        for i in range(10):
            loss[None] += x[i] * x[i] + x[12] * x[-1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with qd.ad.Tape(loss):
            run()
    assert loss[None] == 40 and (x.grad.to_numpy() == 4).all()


def test_negative_constants_of_ndarrays_are_refused(arch):
    """Theirs have no offset, so no launch could have such a cell."""

    @qd.kernel
    def run(a: qd.types.ndarray(qd.i32, 1), k: qd.template()) -> qd.i32:
        return a[k]

    @qd.kernel
    def converted(a: qd.types.ndarray(qd.i32, 1)) -> qd.i32:
        return a[qd.i32(-1)]

    a = qd.ndarray(qd.i32, shape=4)
    for call in (lambda: run(a, -1), lambda: converted(a)):
        with raises(qd.QuadrantsSyntaxError, "Negative indices are not supported"):
            call()
    assert run(a, 3) == 0


@pytest.mark.runtime(exclude=("cpu",))
def test_shared_arrays(arch):
    out = qd.field(qd.i32, shape=32)

    @qd.kernel
    def run():
        qd.loop_config(block_dim=32)
        for i in range(32):
            pad = qd.simt.block.SharedArray((4, 8), qd.i32)
            pad[i // 8, i % 8] = 5
            qd.simt.block.sync()
            if i == 0:
                pad[0, 8] = 9
                pad[4, 0] = 9
            qd.simt.block.sync()
            out[i] = pad[i // 8, i % 8] + pad[3, 12]

    with warns(UserWarning, "Index 8 is out of range on axis 1 of shared array 'pad'"):
        run()
    assert (out.to_numpy() == 5).all()
