"""Members that are other numbers, or raise, when the derivatives of a tape run."""

from types import SimpleNamespace

import numpy as np
import pytest

import quadrants as qd
from quadrants.errors import QuadrantsRuntimeError


@pytest.mark.parametrize(("values", "slope"), [((1.0, 3), 1 + 9), ((1.0, 100000), 1 + 1e10), ((2.0, True), 4 + 1)])
def test_a_real_member_that_becomes_an_integer(init, values, slope):
    """It stays real: the launches have it as one, and squares of integers of 32 bits would wrap."""
    init(default_fp=qd.f64)
    loss, x = (qd.field(qd.f64, (), needs_grad=True) for _ in range(2))
    x[None] = 2

    @qd.data_oriented(template_primitives=False)
    class Owner:
        def __init__(self):
            self.t = 1.0

        @qd.kernel
        def add(self):
            loss[None] += x[None] * (self.t * self.t)

    owner = Owner()
    owner.add()
    with qd.ad.Tape(loss):
        for owner.t in values:
            owner.add()
    assert (loss[None], x.grad[None]) == (2 * slope, slope)
    assert owner.t is values[-1]


@pytest.mark.parametrize("way", ["property", "getattr"])
def test_a_member_that_cannot_be_asked_any_more(init, way):
    init()
    loss = qd.field(qd.f32, (), needs_grad=True)
    fields = [qd.field(qd.f32, (), needs_grad=True) for _ in range(3)]
    for k, x in enumerate(fields):
        x[None] = 2 + k

    class WithProperty:
        @property
        def now(self):
            return fields[self.t]

    class WithGetattr:
        def __getattr__(self, name):
            if name == "now":
                return fields[self.t]
            raise AttributeError(name)

    @qd.data_oriented
    class Owner(WithProperty if way == "property" else WithGetattr):
        @qd.kernel
        def add(self):
            loss[None] += self.now[None] ** 2

    owner = Owner()
    with qd.ad.Tape(loss):
        for owner.t in range(3):
            owner.add()
        owner.t = 77
    assert [x.grad[None] for x in fields] == [4, 6, 8]
    with pytest.raises(IndexError):
        owner.now  # noqa: B018
    owner.t = 1
    assert owner.now is fields[1] and "now" not in vars(owner)


def test_an_integer_member_that_does_not_fit(init):
    init()

    @qd.data_oriented(template_primitives=False)
    class Owner:
        big = 2**40

        @qd.kernel
        def read(self) -> qd.i64:
            return self.big

    with pytest.raises(qd.QuadrantsTypeError, match="1099511627776 exceeded the range of default_ip"):
        Owner().read()


def _plain():
    return SimpleNamespace(n=3)


def _slots():
    class Slots:
        __slots__ = ("n",)

    made = Slots()
    made.n = 3
    return made


def test_an_array_of_constants(init):
    init()
    loss, x = (qd.field(qd.f32, (), needs_grad=True) for _ in range(2))
    x[None] = 2

    @qd.data_oriented
    class Owner:
        def __init__(self):
            self.c = np.array([3.0, 4.0])

        @qd.kernel
        def add(self):
            loss[None] += x[None] * qd.static(float(self.c[0]))

    owner = Owner()
    with qd.ad.Tape(loss):
        owner.add()
        owner.c[0] = 9
    assert (loss[None], x.grad[None], owner.c[0]) == (6, 3, 9)


@pytest.mark.parametrize("make", [_plain, _slots])
def test_a_number_of_an_inner_object(init, make):
    init()
    loss, x = (qd.field(qd.f32, (), needs_grad=True) for _ in range(2))
    x[None] = 2

    @qd.data_oriented
    class Owner:
        def __init__(self):
            self.inner = make()

        @qd.kernel
        def add(self):
            loss[None] += x[None] * self.inner.n

    owner = Owner()
    with qd.ad.Tape(loss):
        owner.add()
        owner.inner.n = 5
    assert (loss[None], x.grad[None], owner.inner.n) == (6, 3, 5)


def test_a_number_that_is_assigned_in_vain(init):
    init()
    loss, x = (qd.field(qd.f32, (), needs_grad=True) for _ in range(2))

    @qd.data_oriented
    class Owner:
        t = 3

        def __getattribute__(self, name):
            return object.__getattribute__(self, "t" if name == "n" else name)

        @qd.kernel
        def add(self):
            loss[None] += x[None] * self.n

    owner = Owner()
    with pytest.raises(QuadrantsRuntimeError, match="'n' as it was in the launch, and it cannot be put back: what is"):
        with qd.ad.Tape(loss):
            owner.add()
            owner.t = 5
