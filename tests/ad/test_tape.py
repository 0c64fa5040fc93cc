"""qd.ad.Tape: what it records, where it starts, what it clears, and how it ends."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import quadrants as qd


class Fake:
    """Stands for a callable of a tape; notes the calls of its gradient."""

    def __init__(self, log, name):
        self.log, self.name = log, name

    def grad(self, *args):
        self.log.append((self.name, args))


def squares(x, y):
    @qd.kernel
    def add_squares(m: qd.f32):
        for i in x:
            y[None] += m * x[i] * x[i]

    return add_squares


@pytest.fixture
def model(arch):
    """A field, a loss, and the kernel `y += m * sum(x ** 2)`."""
    x = qd.field(qd.f32, (3,), needs_grad=True)
    y = qd.field(qd.f32, (), needs_grad=True)
    x.from_numpy(np.array([1, 2, 3], np.float32))
    return x, y, squares(x, y)


def test_a_tape_sets_the_loss_to_zero_and_its_adjoint_to_one(model):
    x, y, k = model
    y[None] = 77
    with qd.ad.Tape(loss=y) as tape:
        assert y[None] == 0
        k(2.0)
    assert y[None] == 28 and y.grad[None] == 1
    assert x.grad.to_numpy().tolist() == [4, 8, 12]
    assert tape.calls == [(k, (2.0,))] and tape.modes == [qd.lang.enums.AutodiffMode.NONE]


def test_records_are_played_backwards_with_their_arguments(model):
    x, y, _ = model
    log = []
    with qd.ad.Tape(loss=y) as tape:
        tape.insert(Fake(log, "a"), (1, 2))
        tape.insert(Fake(log, "b"), [])
        tape.insert(Fake(log, "c"), (x,))
    assert log == [("c", (x,)), ("b", ()), ("a", (1, 2))]


def test_keywords_become_positions(model):
    x, y, k = model
    with qd.ad.Tape(loss=y) as tape:
        k(m=3.0)
    assert tape.calls == [(k, (3.0,))] and x.grad[0] == 6


def test_a_chain_of_kernels(arch):
    a, b = (qd.field(qd.f32, (4,), needs_grad=True) for _ in range(2))
    loss = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def first():
        for i in a:
            b[i] = qd.sin(a[i])

    @qd.kernel
    def second():
        for i in b:
            loss[None] += b[i] * b[i]

    values = np.linspace(0.1, 1.3, 4).astype(np.float32)
    a.from_numpy(values)
    with qd.ad.Tape(loss=loss):
        first()
        second()
    np.testing.assert_allclose(a.grad.to_numpy(), 2 * np.sin(values) * np.cos(values), rtol=1e-5)


def test_the_chain_inside_one_kernel(arch):
    fields = [qd.field(qd.f32, (), needs_grad=True) for _ in range(6)]
    x, a, b, c, d, e = fields

    @qd.kernel
    def chain():
        a[None] = x[None]
        b[None] = 2 * a[None]
        c[None] = 3 * b[None]
        d[None] = 4 * c[None]
        e[None] = 5 * d[None]

    x[None] = 1
    with qd.ad.Tape(loss=e):
        chain()
    assert e[None] == 120
    assert [f.grad[None] for f in fields] == [120, 0, 0, 0, 0, 0]


def test_gradients_are_cleared_on_entry_unless_told_not_to(model):
    x, y, k = model
    for clear, expected in ((True, 2), (False, 4), (False, 6), (True, 2)):
        with qd.ad.Tape(loss=y, clear_gradients=clear):
            k(1.0)
        assert x.grad[0] == expected


def test_what_python_writes_is_not_recorded(model):
    x, y, k = model
    with qd.ad.Tape(loss=y) as tape:
        x[0] = 5
        x.grad.fill(0)
        other = qd.field(qd.f32, (2,), needs_grad=True)
        other.fill(1)
        other.from_numpy(np.ones(2, np.float32))
        other.copy_from(other)
        qd.ndarray(qd.f32, (3,)).fill(2)
        qd.ad.clear_all_gradients()
        k(1.0)
    assert len(tape.calls) == 1 and x.grad[0] == 10


def test_derivatives_that_the_user_runs_are_not_recorded(model):
    x, y, k = model
    with qd.ad.Tape(loss=y) as tape:
        k(1.0)
        y.grad[None] = 1
        k.grad(1.0)
        assert x.grad[2] == 6
    assert len(tape.calls) == 1 and x.grad[2] == 12


def test_launches_of_other_threads_are_recorded(model):
    x, y, k = model
    with qd.ad.Tape(loss=y) as tape:
        worker = threading.Thread(target=k, args=(1.0,))
        worker.start()
        worker.join()
    assert len(tape.calls) == 1 and x.grad[1] == 4


def test_after_a_tape_nothing_is_recorded(model):
    x, y, k = model
    with qd.ad.Tape(loss=y) as tape:
        k(1.0)
    k(1.0)
    assert len(tape.calls) == 1 and y[None] == 28


def test_methods_of_objects(arch):
    @qd.data_oriented
    class Model:
        def __init__(self, scale):
            self.scale = scale
            self.x = qd.field(qd.f32, (), needs_grad=True)
            self.y = qd.field(qd.f32, (), needs_grad=True)

        @qd.kernel
        def forward(self, m: qd.f32):
            self.y[None] += m * self.scale * self.x[None] ** 2

    one, two = Model(1.0), Model(10.0)
    one.x[None] = two.x[None] = 3
    with qd.ad.Tape(loss=two.y) as tape:
        two.forward(2.0)
        two.forward(m=1.0)
    assert two.x.grad[None] == 180 and one.x.grad[None] == 0
    assert [args for _, args in tape.calls] == [(two, 2.0), (two, 1.0)]
    one.y.grad[None] = 1
    one.forward.grad(5.0)
    assert one.x.grad[None] == 30


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_loss_that_is_an_ndarray(arch, shape):
    x = qd.ndarray(qd.f32, (3,), needs_grad=True)
    y = qd.ndarray(qd.f32, shape, needs_grad=True)
    x.from_numpy(np.array([1, 2, 3], np.float32))
    zero = (0,) * len(shape)

    @qd.kernel
    def k(x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in x:
            y[zero] += x[i] * x[i]

    y.fill(5)
    with qd.ad.Tape(loss=y):
        k(x, y)
    assert y.to_numpy().item() == 14 and x.grad.to_numpy().tolist() == [2, 4, 6]
    # Gradients of ndarrays are never cleared.
    with qd.ad.Tape(loss=y):
        k(x, y)
    assert x.grad.to_numpy().tolist() == [4, 8, 12]


def test_a_loss_that_is_a_tensor(arch):
    for backend in (qd.Backend.FIELD, qd.Backend.NDARRAY):
        shape = () if backend == qd.Backend.FIELD else (1,)
        x = qd.tensor(qd.f32, (2,), backend=backend, needs_grad=True)
        y = qd.tensor(qd.f32, shape, backend=backend, needs_grad=True)
        x.fill(3)

        @qd.kernel
        def k(x: qd.Tensor, y: qd.Tensor):
            for i in range(2):
                y[qd.static(None if len(y.shape) == 0 else 0)] += x[i] * x[i]

        with qd.ad.Tape(loss=y):
            k(x, y)
        assert x.grad.to_numpy().tolist() == [6, 6]


BAD_LOSSES = {
    "no loss": (lambda: None, "needs a loss"),
    "not 0-D": (lambda: qd.field(qd.f32, (3,), needs_grad=True), r"must be a 0-D field.* not one of shape \(3,\). An"),
    "no gradient": (lambda: qd.field(qd.f32, ()), "Gradients of loss are not allocated"),
    "integer": (lambda: qd.field(qd.i32, ()), "Gradients of loss are not allocated"),
    "struct": (lambda: qd.Struct.field({"a": qd.f32}, shape=(), needs_grad=True), "must be a 0-D field.* of structs"),
    "long ndarray": (lambda: qd.ndarray(qd.f32, (2,), needs_grad=True), "ndarray with only one element"),
    "ndarray without gradient": (lambda: qd.ndarray(qd.f32, (1,)), "Gradients of loss are not allocated"),
    "numpy": (lambda: np.zeros(1, np.float32), r"not numpy\.ndarray"),
    "number": (lambda: 3.0, r"not builtins\.float"),
}


@pytest.mark.parametrize("make, text", BAD_LOSSES.values(), ids=BAD_LOSSES)
def test_bad_losses_are_refused_on_entry(model, make, text):
    x, y, k = model
    tape = qd.ad.Tape(loss=make())
    with pytest.raises(RuntimeError, match=text), tape:
        pytest.fail("entered")
    assert not tape.calls
    with qd.ad.Tape(loss=y):
        k(1.0)
    assert x.grad[0] == 2


def test_a_tape_is_entered_once_and_evaluated_once(model):
    _, y, k = model
    tape = qd.ad.Tape(loss=y)
    with pytest.raises(AssertionError, match="tape must be entered"):
        tape.grad()
    with tape:
        k(1.0)
    with pytest.raises(AssertionError, match="can be evaluated only once"):
        tape.grad()
    with pytest.raises(AssertionError, match="Tape can be entered only once"), tape:
        pytest.fail("entered")


def test_tapes_do_not_nest(model):
    x, y, k = model
    with qd.ad.Tape(loss=y) as outer:
        for inner in (qd.ad.Tape(loss=y), qd.ad.FwdMode(loss=y, param=y)):
            with pytest.raises(RuntimeError, match="cannot be entered inside a Tape"), inner:
                pytest.fail("entered")
        k(1.0)
    assert len(outer.calls) == 1 and x.grad[0] == 2


def test_no_gradient_after_a_failure_in_the_body(model):
    x, y, k = model
    tape = qd.ad.Tape(loss=y)
    with pytest.raises(ZeroDivisionError), tape:
        k(1.0)
        raise ZeroDivisionError
    assert not x.grad.to_numpy().any() and y.grad[None] == 0
    k(1.0)
    assert len(tape.calls) == 1
    with qd.ad.Tape(loss=y):
        k(1.0)
    assert x.grad[0] == 2


def test_a_failure_on_the_way_back_ends_the_tape(model):
    x, y, k = model

    class Broken:
        def grad(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), qd.ad.Tape(loss=y) as tape:
        tape.insert(Broken(), ())
    with qd.ad.Tape(loss=y):
        k(1.0)
    assert x.grad[0] == 2


def test_a_reset_inside_a_tape_ends_it(model, init):
    _, y, k = model
    tape = qd.ad.Tape(loss=y)
    with pytest.raises(RuntimeError, match="dead"), tape:
        k(1.0)
        init()
    x, y = qd.field(qd.f32, (3,), needs_grad=True), qd.field(qd.f32, (), needs_grad=True)
    x.fill(1)
    with qd.ad.Tape(loss=y) as second:
        squares(x, y)(1.0)
    assert len(tape.calls) == len(second.calls) == 1 and x.grad[0] == 2


def test_streams_and_tapes_exclude_each_other(model):
    x, y, k = model
    stream = qd.create_stream()
    with qd.ad.Tape(loss=y) as tape:
        with pytest.raises(RuntimeError, match="qd_stream is not compatible with"):
            k(1.0, qd_stream=stream)
        k(1.0, qd_stream=None)
    assert len(tape.calls) == 1 and x.grad[0] == 2
    k(1.0, qd_stream=stream)
    with pytest.raises(RuntimeError, match="qd_stream is not compatible with"):
        k.grad(1.0, qd_stream=stream)


def test_without_a_tape_launches_are_not_watched(model):
    from quadrants.tapes import recording

    _, y, k = model
    heard = []
    listener = object()
    recording.start(listener, lambda kernel, args: heard.append(kernel))
    k(1.0)
    recording.stop(listener)
    k(1.0)
    assert heard == [k] and recording.active() is None


@pytest.mark.cpu_only
def test_the_python_arch_has_no_gradients():
    pytest.importorskip("torch", reason="the python arch needs torch")
    qd.init(arch=qd.python)
    try:
        tape = qd.ad.Tape(loss=qd.field(qd.f32, ()))
        with pytest.raises(RuntimeError, match="python arch"), tape:
            pytest.fail("entered")
    finally:
        qd.reset()


def test_clearing_compiles_one_kernel_a_container(arch):
    a = qd.field(qd.f32)
    b = qd.field(qd.f32, shape=4, needs_grad=True)
    v = qd.Vector.field(3, qd.f32, (2,), needs_grad=True, needs_dual=True)
    qd.root.dense(qd.i, 5).place(a)
    qd.root.lazy_grad()
    array = qd.ndarray(qd.f32, 3, needs_grad=True)

    def compiled():
        return qd.lang.impl.get_runtime().get_num_compiled_functions()

    def fill():
        for x in (a.grad, b.grad, v.grad, v.dual, array.grad, a, b):
            x.fill(2)

    fill()
    before = compiled()
    qd.ad.clear_all_gradients()
    assert compiled() - before == 3
    fill()
    qd.ad.clear_all_gradients()
    assert compiled() - before == 3
    assert not any(x.to_numpy().any() for x in (a.grad, b.grad, v.grad))
    assert all(x.to_numpy().all() for x in (v.dual, array.grad, a, b))
    qd.ad.clear_all_gradients(qd.lang.enums.SNodeGradType.DUAL)
    assert not v.dual.to_numpy().any() and compiled() - before == 4
    with pytest.raises(ValueError, match="ADJOINT"):
        qd.ad.clear_all_gradients(qd.lang.enums.SNodeGradType.PRIMAL)


def test_clearing_reaches_every_layout(arch):
    order = qd.field(qd.f32, (2, 3), order="ji", offset=(1, -2), needs_grad=True)
    mixed = qd.field(qd.f64), qd.Matrix.field(2, 2, qd.f32), qd.field(qd.i32)
    qd.root.dense(qd.ij, (2, 2)).dense(qd.ij, (2, 2)).place(*mixed, offset=(0, 3))
    late = qd.field(qd.f32)
    qd.root.dense(qd.i, 2).place(late, late.grad)
    qd.root.lazy_grad()
    s = qd.Struct.field({"p": qd.types.vector(2, qd.f32), "q": {"r": qd.f16}}, shape=(3,), needs_grad=True,
                        layout=qd.Layout.SOA)  # fmt: skip
    scalar = qd.field(qd.f32, (), needs_grad=True)
    filled = [order.grad, mixed[0].grad, mixed[1].grad, late.grad, s.grad, scalar.grad, mixed[2]]
    for x in filled:
        x.fill(3)
    qd.ad.clear_all_gradients()
    for x in filled[:4] + [s.grad.p, s.grad.q.r, scalar.grad]:
        assert not x.to_numpy().any()
    assert (mixed[2].to_numpy() == 3).all()


def test_clearing_without_gradients_is_legal(arch):
    qd.field(qd.f32, 3)
    before = qd.lang.impl.get_runtime().get_num_compiled_functions()
    qd.ad.clear_all_gradients()
    assert qd.lang.impl.get_runtime().get_num_compiled_functions() == before


def test_clearing_many_fields_says_nothing(arch, recwarn):
    """The fields that one kernel clears are no loop of the user's."""
    fields = [qd.field(qd.f32, 2, needs_grad=True) for _ in range(70)]
    for x in fields:
        x.grad.fill(3)
    qd.ad.clear_all_gradients()
    assert not any(x.grad.to_numpy().any() for x in fields)
    assert not [w for w in recwarn if issubclass(w.category, SyntaxWarning)]


@pytest.mark.cpu_only  # pyopencl changes Python's filters, which then forget what was shown
def test_a_warning_is_shown_once_though_derivatives_translate_again(arch):
    x, loss = qd.field(qd.f32, 3, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def k():
        for i in x:
            for j in qd.static(range(40)):
                loss[None] += x[i] * j

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        with qd.ad.Tape(loss=loss):
            k()
    assert len([w for w in told if issubclass(w.category, SyntaxWarning)]) == 1
    assert x.grad.to_numpy().tolist() == [780] * 3
