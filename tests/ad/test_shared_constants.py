"""Numbers that are constants of a kernel are the same in its derivatives, whenever each of them is compiled."""

import numpy as np
import pytest

import quadrants as qd
from quadrants.errors import QuadrantsRuntimeError


def scalars():
    loss, x = (qd.field(qd.f32, (), needs_grad=True, needs_dual=True) for _ in range(2))
    x[None] = 1
    return loss, x


def slope(derivative, loss, x):
    """What `derivative` adds to the gradient of x."""
    x.grad[None], loss.grad[None] = 0, 1
    derivative()
    return x.grad[None]


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("order", ["recorded first", "replaced first"])
def test_a_gradient_by_hand_in_a_tape(init, debug, order):
    init(debug=debug)
    loss, x = scalars()

    @qd.data_oriented
    class Owner:
        def __init__(self):
            self.now = 1.0

        @qd.kernel
        def add(self):
            loss[None] += self.now * x[None]

        @qd.ad.grad_replaced
        def replaced(self):
            self.add()

        @qd.ad.grad_for(replaced)
        def replaced_grad(self):
            self.add.grad()

    owner = Owner()
    first, second = (owner.add, owner.replaced) if order == "recorded first" else (owner.replaced, owner.add)
    with qd.ad.Tape(loss=loss):
        first()
        owner.now = 100.0
        second()
        owner.now = 1000.0
    assert (loss[None], x.grad[None], owner.now) == (2, 2, 1000)


_PAIRS = [
    (1.0, 100.0),
    (np.float32(1), np.float32(100)),
    (qd.Vector([1.0, 0.0]), qd.Vector([50.0, 50.0])),
    (np.array([1.0, 0.0]), np.array([50.0, 50.0])),
    ([1.0, 0.0], [50.0, 50.0]),
]


@pytest.mark.parametrize(("then", "now"), _PAIRS, ids=["number", "numpy number", "vector", "array", "list"])
def test_members_of_all_kinds(init, then, now):
    init()
    loss, x = scalars()

    @qd.data_oriented
    class Owner:
        def __init__(self):
            self.c = then

        @qd.kernel
        def add(self):
            for k in qd.static(range(2 if qd.static(isinstance(then, (list, np.ndarray, qd.Matrix))) else 1)):
                loss[None] += x[None] * (self.c if qd.static(np.ndim(then) == 0) else self.c[k])

    owner = Owner()
    owner.add()
    owner.c = now
    assert slope(owner.add.grad, loss, x) == 1
    assert owner.c is now


def test_a_property_and_a_number_of_an_inner_object(init):
    init()
    loss, x = scalars()

    class Inner:
        n = 3

    @qd.data_oriented
    class Owner:
        def __init__(self):
            self.inner, self.t = Inner(), 1.0

        @property
        def twice(self):
            return 2 * self.t

        @qd.kernel
        def add(self):
            loss[None] += x[None] * self.twice * self.inner.n

    owner = Owner()
    owner.add()
    owner.t, owner.inner.n = 10.0, 100
    assert slope(owner.add.grad, loss, x) == 6
    assert (owner.twice, owner.inner.n) == (20, 100)


def test_a_member_that_is_gone(init):
    init()
    loss, x = scalars()

    @qd.data_oriented
    class Owner:
        def __init__(self):
            self.c = 3.0

        @qd.kernel
        def add(self):
            loss[None] += x[None] * self.c

    owner = Owner()
    owner.add()
    del owner.c
    assert "3.0" in owner.add.grad.source(arch="c")
    assert slope(owner.add.grad, loss, x) == 3
    assert not hasattr(owner, "c")


def test_what_cannot_be_put_back_is_an_error(init):
    init()
    loss, x = scalars()

    @qd.data_oriented
    class Owner:
        t = 3

        def __getattribute__(self, name):
            return object.__getattribute__(self, "t" if name == "n" else name)

        @qd.kernel
        def add(self):
            loss[None] += x[None] * self.n

    owner = Owner()
    owner.add()
    owner.t = 5
    with pytest.raises(QuadrantsRuntimeError, match="'n' as it was in the launch, and it cannot be put back: what is"):
        owner.add.grad()
    owner.t = 3
    assert slope(owner.add.grad, loss, x) == 3


def test_forward_mode_and_the_gradient_first(init):
    init()
    loss, x = scalars()

    @qd.data_oriented
    class Owner:
        def __init__(self):
            self.c = 3.0

        @qd.kernel
        def add(self):
            loss[None] += x[None] * self.c

    owner = Owner()
    assert slope(owner.add.grad, loss, x) == 3
    owner.c = 4.0
    loss[None] = 0
    owner.add()
    owner.c = 5.0
    with qd.ad.FwdMode(loss=loss, param=x):
        owner.add()
    assert (loss[None], loss.dual[None]) == (6, 3)
    other = Owner()
    other.c = 7.0
    assert slope(other.add.grad, loss, x) == 7


def test_a_real_member_that_is_an_integer_now(init):
    """It stays real: squares of integers of 32 bits would wrap."""
    init(default_fp=qd.f64)
    loss, x = (qd.field(qd.f64, (), needs_grad=True) for _ in range(2))
    x[None] = 1

    @qd.data_oriented(template_primitives=False)
    class Owner:
        def __init__(self):
            self.t = 1.0

        @qd.kernel
        def add(self):
            loss[None] += x[None] * (self.t * self.t)

    owner = Owner()
    owner.add()
    owner.t = 100000
    assert slope(owner.add.grad, loss, x) == 1e10
    assert type(owner.t) is int
