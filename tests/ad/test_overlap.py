"""One memory by several names: a vector field whose components lie apart, a component as a field, an array twice."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import check, field, kernel_differences, reverse

import quadrants as qd

N = 4
POINTS = [0.3, -0.7, 1.3, 0.9]
LAYOUTS = pytest.mark.parametrize("layout", [qd.Layout.AOS, qd.Layout.SOA], ids=["aos", "soa"])


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


def vectors(layout):
    return qd.Vector.field(2, qd.f64, N, needs_grad=True, needs_dual=True, layout=layout)


@pytest.mark.parametrize("rows", [1, N])
@LAYOUTS
def test_a_loop_that_stores_a_vector_and_reads_its_components(layout, rows):
    v, x, y = vectors(layout), field(POINTS), field(np.zeros((N, 4)))

    @qd.kernel
    def k():
        for i in range(rows):
            for j in range(4):
                if j == 0:
                    v[i] = qd.Vector([x[i] * 3.0, x[1]])
                y[i, j] += v[i][0] * x[j] + v[i][1]

    check(k, [x], [y])


@pytest.mark.parametrize("rows", [1, N])
@LAYOUTS
def test_a_loop_that_stores_components_and_reads_the_vector(layout, rows):
    v, x, y = vectors(layout), field(POINTS), field(np.zeros((N, 4)))

    @qd.kernel
    def k():
        for i in range(rows):
            for j in range(4):
                if j == 0:
                    v[i][0] = x[i] * 3.0
                    v[i][1] = x[1]
                y[i, j] += v[i].norm_sqr() * x[j]

    check(k, [x], [y])


@LAYOUTS
def test_one_iteration_that_stores_a_vector_at_a_fixed_place(layout):
    v, x, y = vectors(layout), field(POINTS), field(np.zeros((N, 4)))

    @qd.kernel
    def k():
        for i in range(N):
            if i == 2:
                v[0] = qd.Vector([x[0] * 3.0, x[1]])
                y[i, 0] += v[0][0] * x[1] + v[0][1]

    check(k, [x], [y])


@LAYOUTS
def test_a_vector_that_is_changed_in_place_between_reads_of_a_component(layout):
    v, x, y = vectors(layout), field(POINTS), field(np.zeros(N))

    @qd.kernel
    def k():
        for i in range(N):
            before = v[i][0]
            v[i] = v[i] + qd.Vector([x[i], 2.0 * x[i]])
            y[i] += before + v[i][0] * 3.0

    assert np.allclose(reverse(k, [x, v], [y])[0], 3.0)
    assert np.allclose(reverse(k, [v, x], [y])[0], [4.0, 0.0])


@LAYOUTS
def test_a_component_as_a_field_of_its_own(layout):
    v, x, y = vectors(layout), field(POINTS), field(np.zeros((N, 4)))
    first = v.get_scalar_field(0)

    @qd.kernel
    def read_alone(p: qd.template()):
        for i in range(N):
            for j in range(4):
                if j == 0:
                    v[i] = qd.Vector([x[i], x[1]])
                y[i, j] += p[i] * x[j]

    @qd.kernel
    def stored_alone(p: qd.template()):
        for i in range(N):
            for j in range(4):
                if j == 0:
                    v[i] = qd.Vector([x[0], x[1]])
                    p[i] = x[i] * x[j]
                y[i, j] += v[i][0] * x[j] + v[i].sum()

    check(read_alone, [x], [y], first)
    check(stored_alone, [x], [y], first)


@pytest.mark.parametrize("rows", [1, N])
def test_an_array_that_is_passed_twice(rows):
    x, y = field(POINTS), field(np.zeros((N, 4)))
    p = qd.ndarray(qd.f64, N, needs_grad=True)

    @qd.kernel
    def k(a: qd.types.ndarray(ndim=1), b: qd.types.ndarray(ndim=1)):
        for i in range(rows):
            for j in range(4):
                if j == 0:
                    b[i] = x[i] * 3.0
                y[i, j] += a[i] * x[j]

    expected = kernel_differences(k, [x], [y], p, p)
    assert np.allclose(reverse(k, [x], [y], p, p)[0], expected[0], atol=1e-6)

    @qd.kernel
    def in_place(a: qd.types.ndarray(ndim=1), b: qd.types.ndarray(ndim=1)):
        for i in range(N):
            before = a[i]
            b[i] = b[i] + x[i]
            y[i, 0] += before + a[i] * 3.0

    p.grad.fill(0)
    assert np.allclose(reverse(in_place, [x], [y], p, p)[0], 3.0)
    assert np.allclose(p.grad.to_numpy(), 4.0)


def test_an_array_that_is_passed_twice_and_changed_in_place():
    """Additions to a gradient that is read in between by another name stay where they are."""
    y, p = field(np.zeros(N)), qd.ndarray(qd.f64, N, needs_grad=True)

    @qd.kernel
    def k(a: qd.types.ndarray(ndim=1), b: qd.types.ndarray(ndim=1)):
        for i in range(N):
            b[i] += a[i]
            y[i] += a[i] * 3.0

    p.from_numpy(np.array(POINTS))
    k(p, p)
    np.testing.assert_allclose(y.to_numpy(), 6.0 * np.array(POINTS))
    p.grad.fill(1)
    y.grad.fill(1)
    k.grad(p, p)
    np.testing.assert_allclose(p.grad.to_numpy(), 8.0)

    @qd.kernel
    def back_and_forth(a: qd.types.ndarray(ndim=1), b: qd.types.ndarray(ndim=1)):
        for i in range(N):
            b[i] = 0.5 * a[i]
            a[i] = b[i] * 3.0
            b[i] += a[i]
            y[i] += a[i]

    p.grad.fill(1)
    y.grad.fill(1)
    back_and_forth.grad(p, p)
    np.testing.assert_allclose(p.grad.to_numpy(), 6.0)


@LAYOUTS
def test_iterations_that_read_components_of_vectors_which_others_store(layout):
    v, x = vectors(layout), field(POINTS)

    @qd.kernel
    def stores():
        for i in range(1, N):
            v[i] = qd.Vector([v[i - 1][0] * 2.0, x[i]])

    @qd.kernel
    def adds():
        for i in range(1, N):
            v[i] += v[i - 1] * 2.0

    for kernel in (stores, adds):
        with pytest.raises(RuntimeError, match="Cross-iteration read-after-write"):
            kernel.grad()
