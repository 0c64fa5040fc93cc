"""Derivatives through quantised fields: what is read is a number like any other; gradients are quantised too."""

from __future__ import annotations

import pytest

import quadrants as qd

q = qd.types.quant
STEP = 4.0 / 2**15


def placed(form, with_grad: bool):
    x = qd.field(form, needs_grad=with_grad)
    word = qd.BitpackedFields(32)
    word.place(x, *([x.grad] if with_grad else []))
    qd.root.dense(qd.i, 4).place(word)
    return x


def chain(x):
    y, loss = qd.field(qd.f32, 4, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def halve():
        for i in y:
            x[i] = y[i] * 0.5

    @qd.kernel
    def square():
        for i in y:
            loss[None] += x[i] * x[i] * y[i]

    for i in range(4):
        y[i] = 0.1 * i + 0.1
    return y, loss, halve, square


def test_what_is_read_takes_part(arch):
    x = placed(q.fixed(16, max_value=4.0), False)
    y, loss, halve, square = chain(x)
    halve()
    square()
    loss.grad[None] = 1.0
    square.grad()
    assert y.grad.to_numpy() == pytest.approx([x[i] ** 2 for i in range(4)], rel=1e-6)
    y.grad.fill(0.0)
    halve.grad()  # nothing flows through a field that has no gradient
    assert y.grad.to_numpy().tolist() == [0.0] * 4


def test_gradients_are_quantised(arch):
    x = placed(q.fixed(16, max_value=4.0), True)
    y, loss, halve, square = chain(x)
    halve()
    square()
    loss.grad[None] = 1.0
    square.grad()
    held = [x.grad[i] for i in range(4)]
    assert held == pytest.approx([2 * x[i] * y[i] for i in range(4)], abs=STEP)
    y.grad.fill(0.0)
    halve.grad()
    assert y.grad.to_numpy() == pytest.approx([0.5 * g for g in held])
    assert [x.grad[i] for i in range(4)] == [0.0] * 4


def test_a_tape(arch):
    x = placed(q.fixed(16, max_value=4.0), True)
    loss = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def square():
        for i in x:
            loss[None] += x[i] * x[i]

    for i in range(4):
        x[i] = 0.25 * (i + 1)
    for _ in range(2):
        with qd.ad.Tape(loss):
            square()
        assert [x.grad[i] for i in range(4)] == [0.5, 1.0, 1.5, 2.0] and loss[None] == 30 / 16


def test_a_tape_that_validates(init):
    init(debug=True)
    x = placed(q.fixed(16, max_value=4.0), True)
    loss = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def square():
        for i in x:
            loss[None] += x[i] * x[i]

    @qd.kernel
    def spoil():
        for i in x:
            x[i] = 0.5

    for i in range(4):
        x[i] = 0.25 * (i + 1)
    with qd.ad.Tape(loss, validation=True):
        square()
    assert [x.grad[i] for i in range(4)] == [0.5, 1.0, 1.5, 2.0]
    with pytest.raises(qd.QuadrantsAssertionError, match="global data access rule"):
        with qd.ad.Tape(loss, validation=True):
            square()
            spoil()


def test_forward_mode(arch):
    x = placed(q.fixed(16, max_value=4.0), False)
    y, loss = qd.field(qd.f32, 4, needs_dual=True), qd.field(qd.f32, (), needs_dual=True)

    @qd.kernel
    def product():
        for i in y:
            loss[None] += x[i] * y[i]

    for i in range(4):
        x[i] = 0.25 * i
    with qd.ad.FwdMode(loss=loss, param=y, seed=[1.0, 0.0, 1.0, 2.0]):
        product()
    assert loss.dual[None] == 0.5 + 1.5


@pytest.mark.parametrize("first", [True, False])
def test_loops_that_count_to_quantised_numbers(init, first):
    init(ad_stack_experimental_enabled=True)
    n, other = qd.field(q.int(5)), qd.field(q.int(5))
    word = qd.BitpackedFields(32)
    word.place(*((n, other) if first else (other, n)))
    qd.root.dense(qd.i, 4).place(word)
    y, loss = qd.field(qd.f32, 4, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def powers():
        for i in y:
            p = 1.0 + 0.0 * other[i]
            for _ in range(n[i]):
                p *= y[i]
            loss[None] += p

    for i in range(4):
        n[i], y[i] = i + 1, 0.5 + 0.25 * i
    powers()
    loss.grad[None] = 1.0
    powers.grad()
    assert y.grad.to_numpy() == pytest.approx([(i + 1) * (0.5 + 0.25 * i) ** i for i in range(4)], rel=1e-5)
    n[3] = 12  # by the host: depths that were kept from the last launch are too small now
    y.grad.fill(0.0)
    powers.grad()
    assert y.grad[3] == pytest.approx(12 * 1.25**11, rel=1e-5)

    @qd.kernel
    def raise_count():
        for i in range(1):
            other[3] += 1
            n[3] += 2

    raise_count()
    y.grad.fill(0.0)
    powers.grad()
    assert y.grad[3] == pytest.approx(14 * 1.25**13, rel=1e-5) and other[3] == 1


def test_gradients_that_have_no_place(arch):
    with pytest.raises(qd.QuadrantsRuntimeError, match="qi10 is not supported for field with `needs_grad=True`"):
        qd.field(q.int(10), needs_grad=True)
    x = qd.field(q.fixed(10))
    word = qd.BitpackedFields(32)
    word.place(x)
    qd.root.dense(qd.i, 4).place(word)
    with pytest.raises(qd.QuadrantsRuntimeError, match="needs_grad=True and write bits.place\\(x, x.grad\\)"):
        qd.root.lazy_grad()


@pytest.mark.parametrize("kind", ["pointer", "bitmasked", "below a pointer"])
@pytest.mark.parametrize("width", [32, 64])
def test_words_of_a_value_and_its_gradient_below_sparse_nodes(init, kind, width):
    """Each belongs to the iteration of its cell: 64 bits need no exchange that an arch may lack."""
    init()
    y = qd.field(qd.types.quant.float(5, 10))
    word = qd.BitpackedFields(width)
    word.place(y, y.grad)
    node = qd.root.pointer(qd.i, 4).dense(qd.i, 4) if kind == "below a pointer" else getattr(qd.root, kind)(qd.i, 16)
    node.place(word)
    loss = qd.field(qd.f32, shape=(), needs_grad=True)
    for i in (1, 2, 9):
        y[i] = i

    @qd.kernel
    def total():
        for i in y:
            loss[None] += 2 * y[i]

    @qd.kernel
    def move():
        for i in y:
            y[i] += 1
            y.grad[i] = y.grad[i] + 0.5

    for _ in range(2):
        with qd.ad.Tape(loss=loss):
            total()
        assert loss[None] == 24 and [y.grad[i] for i in (1, 2, 9)] == [2, 2, 2]
    move()
    assert [y[i] for i in (1, 2, 9)] == [2, 3, 10] and [y.grad[i] for i in (1, 2, 9)] == [2.5] * 3
