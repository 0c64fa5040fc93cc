"""What later launches, and Python, overwrite of what derivatives of earlier launches need: debug mode tells."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import quadrants as qd

nd = qd.types.ndarray()
RULE = "Breaks the global data access rule"


class World:
    """Containers of ones, and kernels that read and write them."""

    def __init__(self):
        real = {"dtype": qd.f32, "needs_grad": True}
        self.loss, self.y = qd.field(shape=(), **real), qd.field(shape=(), **real)
        self.x = qd.field(shape=4, **real, name="x")
        self.v = qd.Vector.field(2, shape=3, **real, name="v", layout=qd.Layout.SOA)
        self.w = qd.field(qd.f32, 4, name="w")
        self.n = qd.field(qd.i32, (), name="n")
        self.a = qd.ndarray(qd.f32, 4, needs_grad=True)
        self.va = qd.Vector.ndarray(2, qd.f32, 4, needs_grad=True)
        self.host = np.ones(4, np.float32)
        for z in (self.x, self.v, self.w, self.n, self.a, self.va):
            z.fill(1)
        self.kernels()

    def kernels(self):
        loss, y, x, v, w, n = self.loss, self.y, self.x, self.v, self.w, self.n

        @qd.kernel
        def square(i: qd.i32):
            for _ in range(1):
                y[None] += x[i] * x[i]

        @qd.kernel
        def total():
            for _ in range(1):
                loss[None] += y[None]

        @qd.kernel
        def put(i: qd.i32, to: qd.f32):
            for _ in range(1):
                x[i] = to

        @qd.kernel
        def add(i: qd.i32):
            for _ in range(1):
                x[i] += 1.0

        @qd.kernel
        def linear():
            for i in x:
                loss[None] += 2.0 * x[i]

        @qd.kernel
        def step(t: qd.i32):
            for _ in range(1):
                x[t + 1] = x[t] * x[t]

        @qd.kernel
        def dot():
            for i in v:
                loss[None] += v[i].dot(v[i])

        @qd.kernel
        def first_components():
            for i in v:
                loss[None] += v[i][0] * v[i][0]

        @qd.kernel
        def put_component(i: qd.i32, k: qd.i32):
            for _ in range(1):
                v[i][k] = 9.0

        @qd.kernel
        def weigh():
            for i in x:
                loss[None] += x[i] * w[i]

        @qd.kernel
        def put_weight():
            for _ in range(1):
                w[2] = 4.0

        @qd.kernel
        def branch():
            for i in x:
                if w[i] > 0.5:
                    loss[None] += x[i]

        @qd.kernel
        def trips():
            for i in x:
                u = x[i]
                for _ in range(n[None]):
                    u = qd.sin(u)
                loss[None] += u

        @qd.kernel
        def use(a: nd):
            for i in range(2):
                loss[None] += a[i] * a[i]

        @qd.kernel
        def use_vectors(a: nd):
            for i in range(4):
                loss[None] += a[i].dot(a[i])

        @qd.kernel
        def times(a: nd):
            for i in range(4):
                loss[None] += a[i] * x[i]

        @qd.kernel
        def put_in(a: nd, i: qd.i32):
            for _ in range(1):
                a[i] = 5.0

        @qd.kernel
        def put_in_vector(a: nd, i: qd.i32, k: qd.i32):
            for _ in range(1):
                a[i][k] = 5.0

        self.__dict__.update((name, f) for name, f in locals().items() if name not in vars(self))


@pytest.fixture
def world(init):
    init(debug=True, ad_stack_experimental_enabled=True)
    return World()


# What a tape runs, and what the message names.
BROKEN = {
    "a store": (lambda m: (m.square(1), m.put(1, 3.0), m.total()), "'x'"),
    "the last launch": (lambda m: (m.square(1), m.total(), m.put(1, 3.0)), "'x'"),
    "an addition": (lambda m: (m.square(1), m.add(1), m.total()), "'x'"),
    "a step again": (lambda m: (m.put(0, 2.0), m.step(0), m.step(1), m.put(1, 7.0)), "'x'"),
    "a component": (lambda m: (m.dot(), m.put_component(2, 1)), "'v'"),
    "a field without gradient": (lambda m: (m.weigh(), m.put_weight()), "'w'"),
    "a condition": (lambda m: (m.branch(), m.put_weight(), m.w.fill(0)), "'w'"),
    "a bound": (lambda m: (m.trips(), m.n.fill(2)), "'n'"),
    "an element by Python": (lambda m: (m.square(1), m.x.__setitem__(1, 2.0)), r"'x' at \[1\]"),
    "Python, then read again": (lambda m: (m.square(1), m.x.fill(2), m.square(1)), r"'x' at \[1\]"),
    "fill": (lambda m: (m.dot(), m.v.fill(2)), r"'v' at \[0, 0\]"),
    "from_numpy": (lambda m: (m.square(3), m.x.from_numpy(np.zeros(4, np.float32))), r"'x' at \[3\]"),
    "a 0-d field": (lambda m: (m.trips(), m.n.__setitem__(None, 5)), "'n' was overwritten"),
    "an ndarray": (lambda m: (m.use(m.a), m.put_in(m.a, 1)), "'a'"),
    "an ndarray of vectors": (lambda m: (m.use_vectors(m.va), m.put_in_vector(m.va, 1, 0)), "'a'"),
    "an ndarray by Python": (lambda m: (m.use(m.a), m.a.fill(3)), r"'a' at \[0\]"),
    "a NumPy array": (lambda m: (m.times(m.host), m.put_in(m.host, 1)), r"'a' at \[1\]"),
    "a NumPy array by Python": (lambda m: (m.times(m.host), m.host.fill(3)), r"'a' at \[0\]"),
}
FINE = {
    "nothing overwritten": lambda m: (m.square(1), m.total()),
    "another cell": lambda m: (m.square(1), m.put(2, 3.0), m.total()),
    "steps": lambda m: [m.step(t) for t in range(3)],
    "before it is read": lambda m: (m.put(1, 2.0), m.square(1), m.total()),
    "what derivatives do not need": lambda m: (m.linear(), m.put(1, 3.0), m.x.fill(0)),
    "another component": lambda m: (m.first_components(), m.put_component(2, 1)),
    "a condition that is not read": lambda m: (m.linear(), m.put_weight()),
    "another element": lambda m: (m.use(m.a), m.put_in(m.a, 2)),
    "the same values": lambda m: (m.dot(), m.v.fill(1), m.use(m.a), m.a.fill(1)),
    "another array": lambda m: (m.times(m.host), m.put_in(m.host.copy(), 1)),
}


def heard(m: World, body, validation: bool) -> list:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with qd.ad.Tape(loss=m.loss, validation=validation):
            body(m)
    return [w for w in found if RULE in str(w.message)]


@pytest.mark.parametrize("case", BROKEN)
def test_validation_raises_where_a_needed_value_is_overwritten(world, case):
    body, named = BROKEN[case]
    with pytest.raises(qd.QuadrantsAssertionError, match=f"{RULE}: {named}"):
        heard(world, body, True)


@pytest.mark.parametrize("case", BROKEN)
def test_debug_mode_warns_once_and_at_the_tape(world, case):
    body, named = BROKEN[case]
    [warning] = heard(world, body, False)
    assert warning.filename == __file__
    with pytest.raises(AssertionError, match=named):
        raise AssertionError(str(warning.message))


@pytest.mark.parametrize("validation", [False, True])
@pytest.mark.parametrize("case", FINE)
def test_other_programs_run_in_silence(world, case, validation):
    assert heard(world, FINE[case], validation) == []


def test_a_store_is_reported_where_it_is_written(world):
    with pytest.raises(qd.QuadrantsAssertionError) as caught:
        heard(world, BROKEN["a store"][0], True)
    assert "x[i] = to" in str(caught.value) and "put" in str(caught.value) and world.x[1] == 1


def test_the_message_says_who_needs_it(world):
    text = str(heard(world, BROKEN["fill"][0], False)[0].message)
    assert "`dot`" in text and "qd.ad.grad_replaced" in text


def test_gradients_in_debug_mode_are_those_without(world):
    world.x.from_numpy(np.arange(4, dtype=np.float32))
    assert heard(world, lambda m: (m.square(2), m.square(3), m.total()), False) == []
    assert world.x.grad.to_numpy().tolist() == [0, 0, 4, 6]


def test_without_debug_nothing_is_watched(init):
    init()
    m = World()
    assert heard(m, BROKEN["a store"][0], False) == []
    with qd.ad.Tape(loss=m.loss) as tape:
        m.square(1)
    assert tape._watch is None


def test_functions_with_gradients_of_their_own_may_bring_values_back(world):
    x = world.x

    @qd.ad.grad_replaced
    def again():
        x.fill(5)

    @qd.ad.grad_for(again)
    def back():
        x.fill(1)

    def body(m):
        m.square(1)
        again()
        m.put(1, 2.0)
        m.total()

    for validation in (False, True):
        x.fill(1)
        assert heard(world, body, validation) == []
        assert x.grad[1] == 2

    def host_first(m):
        m.square(1)
        x.fill(3)
        again()

    x.fill(1)
    with pytest.raises(qd.QuadrantsAssertionError, match=RULE):
        heard(world, host_first, True)


def test_one_tape_knows_nothing_of_another(world):
    heard(world, FINE["nothing overwritten"], True)
    heard(world, lambda m: m.put(1, 3.0), True)
    with pytest.raises(qd.QuadrantsAssertionError):
        heard(world, BROKEN["a store"][0], True)
    heard(world, lambda m: m.put(1, 3.0), True)


def test_torch_tensors_are_watched(world):
    torch = pytest.importorskip("torch", reason="needs torch")
    for change in (lambda t: world.put_in(t, 1), lambda t: t.detach().fill_(4.0)):
        t = torch.ones(4, requires_grad=True)
        with pytest.raises(qd.QuadrantsAssertionError, match=r"'a' at \[[01]\]|'a' is written"):
            heard(world, lambda m: (m.use(t), change(t)), True)


def zero_dimensional(kind: str):
    """A container of one number."""
    if kind == "field":
        return qd.field(qd.f32, (), needs_grad=True)
    if kind == "ndarray":
        return qd.ndarray(qd.f32, (), needs_grad=True)
    return qd.Struct.field({"p": qd.f32, "q": qd.f32}, shape=(), needs_grad=True).q


@pytest.mark.parametrize("validation", [False, True])
@pytest.mark.parametrize("kind", ["field", "ndarray", "member"])
@pytest.mark.parametrize("changes", [False, True])
def test_one_number_read_before_a_function_with_a_gradient_of_its_own(world, kind, validation, changes):
    x, loss = zero_dimensional(kind), world.loss

    @qd.func
    def sum_up(x: qd.template(), times):
        for _ in range(1):
            loss[None] += times * x[None] * x[None]

    @qd.kernel
    def add_field(x: qd.template(), times: qd.f32):
        sum_up(x, times)

    @qd.kernel
    def add_array(x: nd, times: qd.f32):
        sum_up(x, times)

    add = add_array if kind == "ndarray" else add_field

    @qd.ad.grad_replaced
    def again():
        add(x, 3.0)
        if changes:
            x.fill(5)

    @qd.ad.grad_for(again)
    def back():
        x.fill(2)
        add.grad(x, 3.0)

    @qd.ad.no_grad
    def aside():
        x.fill(7)

    x.fill(2)
    assert heard(world, lambda m: (add(x, 1.0), again()), validation) == []
    assert x.grad[None] == 16
    assert heard(world, lambda m: (add(x, 1.0), aside(), aside()), validation) == []
    x.fill(2)
    with pytest.warns(Warning, match=RULE) if not validation else pytest.raises(qd.QuadrantsAssertionError, match=RULE):
        with qd.ad.Tape(loss=loss, validation=validation):
            add(x, 1.0)
            x.fill(3)
            again()
