"""Tape(validation=True): the global data access rule."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import quadrants as qd
from quadrants.lang.enums import AutodiffMode


@pytest.fixture
def debug(init):
    init(debug=True, ad_stack_experimental_enabled=True)


def place(dtype, shape, **options):
    return qd.field(dtype, shape, needs_grad=True, **options)


def breaks(k, loss, *args):
    """Run `k` in a validating tape; the text of the failure, which the rule must have caused."""
    with pytest.raises(qd.QuadrantsAssertionError, match="Breaks the global data access rule") as caught:
        with qd.ad.Tape(loss=loss, validation=True):
            k(*args)
    return str(caught.value)


def keeps(loss, *kernels):
    with qd.ad.Tape(loss=loss, validation=True) as tape:
        for k in kernels:
            k()
    assert set(tape.modes) == {AutodiffMode.VALIDATION}


def test_a_read_cell_is_written(debug):
    x, loss = place(qd.f32, (4,), name="x"), place(qd.f32, ())
    b = place(qd.f32, (), name="weight")

    @qd.kernel
    def both():
        loss[None] = x[1] * b[None]
        b[None] += 100

    @qd.kernel
    def first():
        loss[None] = x[1] * b[None]

    @qd.kernel
    def second():
        b[None] += 100

    x.fill(1)
    b[None] = 3
    text = breaks(both, loss)
    assert "both" in text and "weight" in text and "b[None] += 100" in text and "test_validation.py" in text
    b[None] = 3
    with pytest.raises(qd.QuadrantsAssertionError, match="derivative of an earlier launch of the tape needs"):
        with qd.ad.Tape(loss=loss, validation=True):
            first()
            second()
    assert b[None] == 3


def test_the_state_after_a_failure_is_clean(debug):
    x, loss = place(qd.f32, (4,)), place(qd.f32, ())

    @qd.kernel
    def bad():
        for i in range(4):
            loss[None] += x[i]
            x[i] = 0.0

    @qd.kernel
    def good():
        for i in range(4):
            loss[None] += x[i] * x[i]

    breaks(bad, loss)
    x.fill(2)
    keeps(loss, good)
    assert x.grad.to_numpy().tolist() == [4] * 4
    bad()  # outside a tape nothing is checked


def test_a_plain_store_and_other_cells(debug):
    x, loss = place(qd.f32, (4,)), place(qd.f32, ())

    @qd.kernel
    def shift():
        for i in range(2):
            x[i + 2] = x[i] * 2

    @qd.kernel
    def overlap():
        for _ in range(1):
            x[1] = x[0] * 2
            x[2] = x[1] * 2

    @qd.kernel
    def back():
        for _ in range(1):
            x[1] = x[0] * 2
            x[0] = 1.0

    x.fill(1)
    keeps(loss, shift, overlap)
    breaks(back, loss)


def test_a_statement_that_reads_what_it_writes(debug):
    x, y, loss = place(qd.f32, (4,)), place(qd.f32, (4,)), place(qd.f32, ())
    at = qd.field(qd.i32, (4,))

    @qd.kernel
    def square():
        for i in range(4):
            x[i] = x[i] * x[i]

    @qd.kernel
    def scale():
        for i in range(4):
            x[i] *= 2.0

    @qd.kernel
    def double():
        for i in range(4):
            x[i] += x[i]

    @qd.kernel
    def accumulate():
        for i in range(4):
            for k in range(3):
                x[at[i]] += y[i] * y[i]
                x[i] -= y[k]

    for k in (square, scale, double):
        breaks(k, loss)
    keeps(loss, accumulate)


def test_the_old_value_that_an_addition_does_not_use_is_not_read(debug):
    x, loss = place(qd.f32, (4,)), place(qd.f32, ())

    @qd.real_func
    def third(a: qd.f32) -> qd.f32:
        return a / 3

    @qd.kernel
    def accumulate():
        for _ in range(1):
            for i in range(4):
                x[0] -= third(2.0) + third(1.0)
                x[i] += third(4.0)

    keeps(loss, accumulate)


def test_a_field_without_a_name_is_called_what_the_kernel_calls_it(debug):
    target, source, loss = place(qd.f32, (4,)), qd.field(qd.i32, 4), place(qd.f32, ())

    @qd.kernel
    def k():
        for i in range(4):
            target[source[i]] += 1.0
            loss[None] += target[source[i]]
            target[source[i]] = 2.0

    assert "'target'" in breaks(k, loss)


def test_only_what_is_evaluated_counts(debug):
    x, loss = place(qd.f32, (4,)), place(qd.f32, ())

    @qd.kernel
    def lazy():
        for i in range(4):
            loss[None] += x[i] if i > 1 else 0.0
            if i > 1 and x[i] > 0.5:
                loss[None] += 1.0
            if i < 2:
                x[i] = 3.0

    @qd.kernel
    def condition():
        for i in range(4):
            if x[i] > 0.5:
                loss[None] += 1.0
            x[i] = 3.0

    keeps(loss, lazy)
    breaks(condition, loss)


def test_components_of_vectors_are_cells_of_their_own(debug):
    v, loss = qd.Vector.field(2, qd.f32, (3,), needs_grad=True, name="v"), place(qd.f32, ())

    @qd.kernel
    def apart():
        for i in range(3):
            loss[None] += v[i][0]
            v[i][1] = 2.0

    @qd.kernel
    def same():
        for i in range(3):
            loss[None] += v[i][1]
            v[i][1] = 2.0

    keeps(loss, apart)
    assert "v" in breaks(same, loss)


@pytest.mark.parametrize("layout", [qd.Layout.AOS, qd.Layout.SOA], ids=["aos", "soa"])
@pytest.mark.parametrize("component_first", [False, True])
def test_a_component_as_a_field_is_the_same_cell(debug, layout, component_first):
    v = qd.Vector.field(2, qd.f32, 4, needs_grad=True, layout=layout)
    loss = place(qd.f32, ())
    first, second = v.get_scalar_field(0), v.get_scalar_field(1)

    @qd.kernel
    def by_component():
        loss[None] = v[2][0] * 3
        first[2] = 5.0

    @qd.kernel
    def by_vector():
        loss[None] = second[1]
        v[1] = [5.0, 6.0]

    @qd.kernel
    def apart():
        loss[None] = v[2][0] * 3
        second[2] = 5.0
        first[3] = 1.0

    for k in (by_vector, by_component) if component_first else (by_component, by_vector):
        breaks(k, loss)
    keeps(loss, apart)


def test_fields_without_gradients_are_not_checked(debug):
    x, loss = qd.field(qd.f32, (4,)), place(qd.f32, ())
    n = qd.field(qd.i32, ())

    @qd.kernel
    def k():
        for i in range(4):
            loss[None] += x[i] * n[None]
            x[i] = 1.0
            n[None] = 3

    keeps(loss, k)


def test_ndarrays_are_checked_as_fields_are(debug):
    loss = place(qd.f32, ())
    a, constant = qd.ndarray(qd.f32, (2,), needs_grad=True), qd.ndarray(qd.f32, (2,))

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in range(2):
            loss[None] += a[i]
            a[i] = 1.0

    assert "'a'" in breaks(k, loss, a)
    with qd.ad.Tape(loss=loss, validation=True):
        k(constant)
    assert loss[None] == 0 and constant.to_numpy().tolist() == [1, 1]


def test_offsets_and_orders(debug):
    x, loss = place(qd.f32, (2, 3), order="ji", offset=(-5, 7)), place(qd.f32, ())

    @qd.kernel
    def k(i: qd.i32, j: qd.i32):
        for _ in range(1):
            loss[None] += x[-4, 8]
            x[i, j] = 1.0

    for i, j in np.ndindex(2, 3):
        if (i - 5, j + 7) != (-4, 8):
            with qd.ad.Tape(loss=loss, validation=True):
                k(i - 5, j + 7)
    breaks(k, loss, -4, 8)


def test_functions_with_gradients_of_their_own_are_exempt(debug):
    x, loss = place(qd.f32, ()), place(qd.f32, ())

    @qd.kernel
    def bad():
        loss[None] += x[None]
        x[None] = 0.0

    @qd.ad.no_grad
    def trusted():
        bad()

    with qd.ad.Tape(loss=loss, validation=True) as tape:
        trusted()
    assert tape.modes == [AutodiffMode.NONE]


def test_flags_do_not_touch_the_layout(debug):
    x, loss = place(qd.f32, (4,)), place(qd.f32, ())
    y = qd.field(qd.f32, (4,))
    cells = [f.cell for f in (x, x.grad, y)] if x.shape else []
    x.fill(1)

    @qd.kernel
    def k():
        for i in x:
            loss[None] += x[i]

    before = [f.cell for f in (x, x.grad, y)]
    keeps(loss, k)
    assert before == [f.cell for f in (x, x.grad, y)] and len(cells) == 3
    assert qd.field(qd.f32, 4).grad.has_grad() is False


def test_outside_debug_mode_a_warning_says_so(arch):
    x, loss = place(qd.f32, ()), place(qd.f32, ())
    x[None] = 2

    @qd.kernel
    def bad():
        loss[None] += x[None]
        x[None] = 0.0

    with pytest.warns(Warning, match="Debug mode is disabled, autodiff valid check will not work"):
        tape = qd.ad.Tape(loss=loss, validation=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with tape:
            bad()
    assert tape.modes == [AutodiffMode.NONE] and loss[None] == 2
