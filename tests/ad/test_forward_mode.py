"""qd.ad.FwdMode: directional derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants.lang.enums import AutodiffMode, SNodeGradType


def fields(*shapes, dtype=qd.f32):
    return [qd.field(dtype, shape, needs_dual=True) for shape in shapes]


def test_a_direction_goes_through_a_kernel(arch):
    x, y = fields(3, 3)
    x.from_numpy(np.array([1, 2, 3], np.float32))

    @qd.kernel
    def k():
        for i in x:
            y[i] += x[i] * x[i]

    with qd.ad.FwdMode(loss=y, param=x, seed=[1, 0, 2]) as mode:
        assert x.dual.to_numpy().tolist() == [1, 0, 2]
        k()
    assert y.dual.to_numpy().tolist() == [2, 0, 12] and y.to_numpy().tolist() == [1, 4, 9]
    assert x.dual.to_numpy().tolist() == [0, 0, 0]
    assert mode.calls == [k] and mode.modes == [AutodiffMode.FORWARD]
    k()
    assert mode.calls == [k] and y.dual.to_numpy().tolist() == [2, 0, 12] and y[0] == 2


def test_the_seed_of_one_parameter_is_one(arch):
    for shape, at in (((), None), ((1,), 0), ((1, 1), (0, 0))):
        x, y = fields(shape, ())
        x.fill(2)

        @qd.kernel
        def k():
            y[None] = x[at] * x[at] * x[at]

        with qd.ad.FwdMode(loss=y, param=x):
            k()
        assert y.dual[None] == 12


@pytest.mark.parametrize("shape", [(), 8, (2, 3)])
def test_a_loss_that_is_the_parameter(arch, shape):
    x, y = fields(shape, shape)
    x.fill(3)

    @qd.kernel
    def k():
        for i in qd.grouped(x):
            y[i] = 2 * x[i]
            x[i] = x[i] * x[i]

    ones = [1.0] * x.to_numpy().size
    for loss in (x, [y, x]):
        before = x.to_numpy()
        with qd.ad.FwdMode(loss=loss, param=x, seed=ones):
            k()
        assert (x.dual.to_numpy() == 2 * before).all() and (y.dual.to_numpy() == 2).all()
    with qd.ad.FwdMode(loss=y, param=x, seed=ones):
        k()
    assert not x.dual.to_numpy().any() and (y.dual.to_numpy() == 2).all()


def test_a_loss_that_is_the_parameter_as_a_component(arch):
    v = qd.Vector.field(2, qd.f32, (3,), needs_dual=True)
    v.fill(3)

    @qd.kernel
    def k():
        for i in v:
            v[i] = qd.Vector([v[i].x * v[i].x, v[i].x * v[i].y])

    with qd.ad.FwdMode(loss=v.get_scalar_field(0), param=v.get_scalar_field(0), seed=[1.0, 2.0, 0.0]):
        k()
    assert v.dual.to_numpy().tolist() == [[6, 3], [12, 6], [0, 0]]


def test_a_store_overwrites_and_an_accumulation_adds(arch):
    x, y = fields((), ())
    x[None] = 5

    @qd.kernel
    def k():
        y[None] = x[None]
        y[None] = 2 * x[None]
        y[None] += 10 * x[None]
        y[None] -= x[None]

    with qd.ad.FwdMode(loss=y, param=x):
        k()
    assert y.dual[None] == 11 and y[None] == 55


def test_parameters_of_two_axes(arch):
    x, y = fields((2, 3), (2, 3))
    x.fill(1)

    @qd.kernel
    def k():
        for i, j in x:
            y[i, j] = x[i, j] * (i * 3 + j)

    with qd.ad.FwdMode(loss=y, param=x, seed=range(1, 7)):
        k()
    assert y.dual.to_numpy().tolist() == [[0, 2, 6], [12, 20, 30]]


def test_a_chain_of_kernels_and_several_losses(arch):
    x, a, y, z = fields((), (), (), ())
    x[None] = 0.5

    @qd.kernel
    def first():
        a[None] = qd.sin(x[None])

    @qd.kernel
    def second():
        y[None] = a[None] * a[None]
        z[None] = qd.exp(a[None])

    with qd.ad.FwdMode(loss=[y, z], param=x):
        first()
        second()
    s, c = np.sin(0.5), np.cos(0.5)
    np.testing.assert_allclose([y.dual[None], z.dual[None]], [2 * s * c, np.exp(s) * c], rtol=1e-5)


def test_loops_branches_and_recurrences_need_no_stack(init):
    init(ad_stack_experimental_enabled=False, default_fp=qd.f64)
    x, y = fields(4, 4, dtype=qd.f64)
    n = qd.field(qd.i32, 4)
    values = np.array([0.2, -0.4, 0.9, 1.5])
    x.from_numpy(values)
    n.from_numpy(np.array([0, 1, 3, 7], np.int32))

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for j in range(n[i]):
                if v > 0.5:
                    v = qd.sin(v) * 1.5
                else:
                    v = v * v + 0.3 * v
            y[i] = v

    with qd.ad.FwdMode(loss=y, param=x, seed=[1] * 4):
        k()

    def run(v, d, n):
        for _ in range(n):
            v, d = (np.sin(v) * 1.5, np.cos(v) * 1.5 * d) if v > 0.5 else (v * v + 0.3 * v, (2 * v + 0.3) * d)
        return v, d

    expected = [run(v, 1.0, trips) for v, trips in zip(values, (0, 1, 3, 7), strict=True)]
    np.testing.assert_allclose(y.to_numpy(), [v for v, _ in expected], rtol=1e-12)
    np.testing.assert_allclose(y.dual.to_numpy(), [d for _, d in expected], rtol=1e-12)


def test_vectors_in_between(arch):
    x, y = fields((), ())
    v = qd.Vector.field(3, qd.f32, (2,), needs_dual=True)
    x[None] = 2

    @qd.kernel
    def first():
        for i in v:
            v[i] = qd.Vector([x[None], x[None] ** 2, 1.0]) * (i + 1)

    @qd.kernel
    def second():
        for i in v:
            y[None] += v[i].dot(v[i])

    with qd.ad.FwdMode(loss=y, param=x):
        first()
        second()
    # y = 5 * (x**2 + x**4 + 1)
    assert y.dual[None] == 5 * (2 * 2 + 4 * 8)


def test_ndarrays_are_constants(arch):
    x, y = fields((), ())
    x[None] = 3
    a = qd.ndarray(qd.f32, (1,), needs_grad=True)
    a.fill(7)

    @qd.kernel
    def k(a: qd.types.ndarray()):
        y[None] = a[0] * x[None]

    with qd.ad.FwdMode(loss=y, param=x):
        k(a)
    assert y.dual[None] == 7 and a.grad.to_numpy().tolist() == [0]


def test_duals_are_cleared_on_entry_unless_told_not_to(arch):
    x, y = fields((), ())
    x[None] = 1

    @qd.kernel
    def k():
        y[None] += x[None]

    for clear, expected in ((True, 1), (False, 2), (True, 1)):
        with qd.ad.FwdMode(loss=y, param=x, clear_gradients=clear):
            k()
        assert y.dual[None] == expected
    qd.ad.clear_all_gradients(SNodeGradType.DUAL)
    assert y.dual[None] == 0


def test_what_is_refused(arch):
    x, y = fields(3, 3)
    vector = qd.Vector.field(2, qd.f32, 3, needs_dual=True)
    array = qd.ndarray(qd.f32, 3)
    for param in (vector, array, [x], None):
        with pytest.raises(AssertionError, match="`param` of FwdMode"):
            qd.ad.FwdMode(loss=y, param=param, seed=[1, 1, 1])
    with pytest.raises(AssertionError, match="`param` of FwdMode is a field of i32: only real"):
        qd.ad.FwdMode(loss=y, param=qd.field(qd.i32, 3), seed=[1, 1, 1])
    for loss in (vector, [y, array], None):
        with pytest.raises(AssertionError, match="`loss` of FwdMode"):
            qd.ad.FwdMode(loss=loss, param=x, seed=[1, 1, 1])
    with pytest.raises(RuntimeError, match="^`seed` is not set"), qd.ad.FwdMode(loss=y, param=x):
        pytest.fail("entered")
    with pytest.raises(AssertionError, match="3 elements"), qd.ad.FwdMode(loss=y, param=x, seed=[1]):
        pytest.fail("entered")
    bare = qd.field(qd.f32, 3)
    with pytest.raises(RuntimeError, match="no allocation"), qd.ad.FwdMode(loss=y, param=bare, seed=[1, 1, 1]):
        pytest.fail("entered")
    mode = qd.ad.FwdMode(loss=y, param=x, seed=[1, 1, 1])
    with mode:
        with pytest.raises(RuntimeError, match="cannot be entered inside"), qd.ad.Tape(loss=y):
            pytest.fail("entered")
    with pytest.raises(AssertionError, match="entered only once"), mode:
        pytest.fail("entered")


def test_a_failure_in_the_body_leaves_forward_mode(arch):
    x, y = fields((), ())
    x[None] = 1

    @qd.kernel
    def k():
        y[None] += x[None]

    with pytest.raises(ZeroDivisionError), qd.ad.FwdMode(loss=y, param=x):
        raise ZeroDivisionError
    assert x.dual[None] == 0
    k()
    assert y.dual[None] == 0


def test_streams_are_refused(arch):
    x, y = fields((), ())

    @qd.kernel
    def k():
        y[None] += x[None]

    with qd.ad.FwdMode(loss=y, param=x):
        with pytest.raises(RuntimeError, match="qd_stream is not compatible with"):
            k(qd_stream=qd.create_stream())
