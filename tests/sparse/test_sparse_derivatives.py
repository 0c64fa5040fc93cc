"""Derivatives of kernels over sparse fields, with gradients in the same tree and in another one."""

import numpy as np
import pytest

import quadrants as qd

KINDS = {
    "pointer": lambda: qd.root.pointer(qd.i, 8).dense(qd.i, 4),
    "bitmasked": lambda: qd.root.bitmasked(qd.i, 32),
    "dynamic": lambda: qd.root.dynamic(qd.i, 32, chunk_size=8),
    "both": lambda: qd.root.pointer(qd.i, 4).bitmasked(qd.i, 8),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("together", [True, False])
def test_sums_of_products(sparse, kind, together):
    x, loss = qd.field(qd.f32, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    node = KINDS[kind]()
    if together:
        node.place(x, x.grad)
    else:
        node.place(x)
        KINDS[kind]().place(x.grad)

    @qd.kernel
    def square():
        for i in x:
            loss[None] += x[i] ** 2 + x[i // 2] * 3

    for i in (2, 3, 7, 29):
        x[i] = i
    visited = _visited(x)
    with qd.ad.Tape(loss):
        square()
    active = np.flatnonzero(x.to_numpy())
    value, gradient = 0.0, np.zeros(32)
    plain = x.to_numpy()
    for i in visited:
        value += plain[i] ** 2 + plain[i // 2] * 3
        gradient[i] += 2 * plain[i]
        gradient[i // 2] += 3 * (i // 2 in visited or not together)  # gradients are where their fields are
    assert _visited(x) == visited
    assert len(active) == 4 and loss[None] == pytest.approx(value)
    np.testing.assert_allclose(x.grad.to_numpy(), gradient, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", [qd.Layout.AOS, qd.Layout.SOA])
def test_a_derivative_leaves_active_what_is(sparse, kind, layout):
    x, loss = qd.Vector.field(2, qd.f32, needs_grad=True, layout=layout), qd.field(qd.f32, (), needs_grad=True)
    KINDS[kind]().place(x, x.grad)

    @qd.kernel
    def neighbours():
        for i in x:
            loss[None] += x[i].x * x[(i + 1) % 32].y + x[(i + 2) % 32].x + 1

    for i in (3, 4, 8):
        x[i] = [i, 2 * i]
    visited, plain = _visited(x), x.to_numpy()
    with qd.ad.Tape(loss):
        neighbours()
    gradient = np.zeros((32, 2))
    for i in visited:
        gradient[i, 0] += plain[(i + 1) % 32, 1]
        gradient[(i + 1) % 32, 1] += plain[i, 0]
        gradient[(i + 2) % 32, 0] += 1
    gradient[[i for i in range(32) if i not in visited]] = 0
    np.testing.assert_allclose(x.grad.to_numpy(), gradient, rtol=1e-6)
    before = loss[None]
    loss[None] = 0
    neighbours()
    assert loss[None] == before and _visited(x) == visited


def _visited(x) -> list:
    seen = qd.field(qd.i32, x.shape)

    @qd.kernel
    def mark():
        for i in x:
            seen[i] = 1

    mark()
    return np.flatnonzero(seen.to_numpy()).tolist()


def test_reading_a_gradient_activates_nothing(sparse):
    x = qd.field(qd.f32, needs_grad=True)
    node = qd.root.pointer(qd.i, 8)
    node.place(x, x.grad)
    out = qd.field(qd.f32, ())

    @qd.kernel
    def read():
        out[None] = x.grad[3]

    read()
    assert node._num_dynamically_allocated == 0
    x.grad[4] = 1.0
    assert node._num_dynamically_allocated == 1


def test_appends_have_no_derivative(sparse):
    x, y = qd.field(qd.f32, needs_grad=True), qd.field(qd.f32, 4, needs_grad=True)
    node = qd.root.dynamic(qd.i, 8)
    node.place(x, x.grad)

    @qd.kernel
    def append():
        for i in range(4):
            qd.append(node, [], y[i])

    with pytest.raises(RuntimeError, match="qd.append"):
        append.grad()


def test_lazy_gradients(sparse):
    x = qd.field(qd.f32, needs_grad=False)
    node = qd.root.pointer(qd.i, 8)
    node.dense(qd.i, 2).place(x)
    node.lazy_grad()
    loss = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def f():
        for i in x:
            loss[None] += 3 * x[i]

    x[5] = 2.0
    with qd.ad.Tape(loss):
        f()
    assert x.grad.to_numpy().tolist() == [0, 0, 0, 0, 3, 3] + [0] * 10


def test_forward_mode(sparse):
    x, loss = qd.field(qd.f32, needs_dual=True), qd.field(qd.f32, (), needs_dual=True)
    qd.root.pointer(qd.i, 8).place(x, x.dual)

    @qd.kernel
    def cube():
        for i in x:
            loss[None] += x[i] ** 3

    x[2] = 2.0
    with qd.ad.FwdMode(loss=loss, param=x, seed=[float(i == 2) for i in range(8)]):
        cube()
    assert loss.dual[None] == pytest.approx(12.0)


def test_validation_and_structs(init):
    init(debug=True)
    pair = qd.types.struct(a=qd.f32, v=qd.types.vector(2, qd.f32))
    s, loss = pair.field(needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    qd.root.bitmasked(qd.i, 8).place(s)
    qd.root.pointer(qd.i, 8).place(s.grad)

    @qd.kernel
    def product():
        for i in s:
            loss[None] += s[i].a * s[i].v[1]

    s[1].a, s[1].v = 3.0, [1.0, 4.0]
    with qd.ad.Tape(loss, validation=True):
        product()
    assert loss[None] == 12.0 and s.grad[1].a == 4.0 and s.grad[1].v.to_list() == [0.0, 3.0]


@pytest.mark.parametrize("kind", [*KINDS, "words"])
@pytest.mark.parametrize("over", ["dense", "sparse"])
def test_bounds_of_loops_below_sparse_nodes(init, kind, over):
    init(ad_stack_experimental_enabled=True)
    if kind == "words":
        times, word = qd.field(qd.types.quant.int(5, True)), qd.BitpackedFields(32)
        word.place(times)
        qd.root.pointer(qd.i, 32).place(word)
    else:
        times = qd.field(qd.i32)
        KINDS[kind]().place(times)
    x, loss = qd.field(qd.f32, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    (qd.root.dense(qd.i, 32) if over == "dense" else qd.root.pointer(qd.i, 32)).place(x, x.grad)
    for i in range(0, 32, 3):
        x[i] = 1.5
    times[3], times[9] = 2, 1

    @qd.kernel
    def powers():
        for i in x:
            t = x[i]
            for _ in range(times[i]):
                t = t * t
            loss[None] += t

    for _ in range(2):  # the second one knows the depth
        with qd.ad.Tape(loss):
            powers()
        gradient = x.grad.to_numpy()
        assert gradient[3] == 4 * 1.5**3 and gradient[9] == 2 * 1.5 and gradient[6] == 1
    times[6] = 3
    with qd.ad.Tape(loss):
        powers()
    assert x.grad.to_numpy()[6] == 8 * 1.5**7


@pytest.mark.parametrize("mode", ["needs_grad", "needs_dual"])
def test_a_derivative_asks_for_lengths_and_activity_as_its_kernel_does(init, mode):
    init(ad_stack_experimental_enabled=True)
    x, gate = qd.field(qd.f32, **{mode: True}), qd.field(qd.i32)
    y, loss = (qd.field(qd.f32, shape, **{mode: True}) for shape in (3, ()))
    qd.root.dense(qd.i, 3).dynamic(qd.j, 6).place(x, x.grad if mode == "needs_grad" else x.dual)
    node = qd.root.pointer(qd.i, 3)
    node.place(gate)
    x[0, 2], x[1, 0], x[0, 0], gate[2] = 1, 2, 3, 1
    y.fill(2)

    @qd.kernel
    def total():
        for i in range(3):
            for j in range(x[i].length()):
                loss[None] += x[i, j] ** 2
            if qd.is_active(node, [i]):
                loss[None] += 5 * y[i]

    if mode == "needs_grad":
        with qd.ad.Tape(loss):
            total()
        assert x.grad.to_numpy()[:2, :3].tolist() == [[6, 0, 2], [4, 0, 0]] and y.grad.to_numpy().tolist() == [0, 0, 5]
    else:
        with qd.ad.FwdMode(loss=loss, param=y, seed=[1.0, 1.0, 1.0]):
            total()
        assert loss.dual[None] == 5
    assert loss[None] == 9 + 1 + 4 + 10
