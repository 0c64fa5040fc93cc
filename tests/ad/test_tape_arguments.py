"""Derivatives of a tape get the arguments that launches got, whatever Python has made of them since."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import quadrants as qd
from quadrants.errors import QuadrantsRuntimeError


@dataclasses.dataclass
class Pair:
    x: qd.types.ndarray(qd.f32, ndim=1)
    k: qd.f32


@dataclasses.dataclass(frozen=True)
class Fixed:
    x: qd.types.ndarray(qd.f32, ndim=1)
    k: qd.f32


Scales = qd.types.struct(k=qd.f32, v=qd.types.vector(2, qd.f32))


@pytest.fixture(params=[False, True], ids=["", "debug"])
def kit(request, init):
    """A loss, two arrays of ones with gradients, and a kernel that adds `k * sum(x)` of each kind of argument."""
    init(debug=request.param)
    x, y = (qd.ndarray(qd.f32, (4,), needs_grad=True) for _ in range(2))
    x.fill(1)
    y.fill(1)
    return SimpleNamespace(loss=qd.field(qd.f32, (), needs_grad=True), x=x, y=y)


def field_of_ones():
    x = qd.field(qd.f32, 4, needs_grad=True)
    x.fill(1)
    return x


def gradients(*arrays) -> list:
    return [a.grad.to_numpy().tolist()[0] for a in arrays]


def test_members_of_a_dataclass_that_are_assigned(kit):
    loss, p = kit.loss, Pair(kit.x, 2.0)

    @qd.kernel
    def add(p: Pair):
        for i in range(4):
            loss[None] += p.k * p.x[i]

    with qd.ad.Tape(loss):
        add(p)
        p.x, p.k = kit.y, 5.0
        add(p)
        p.k = 7.0
    assert gradients(kit.x, kit.y) == [2, 5] and loss[None] == 28
    assert p.x is kit.y and p.k == 7


def test_dataclasses_inside_of_objects(kit):
    loss = kit.loss

    @qd.data_oriented(template_primitives=False)
    class Owner:
        def __init__(self):
            self.p = Fixed(kit.x, 2.0)

        @qd.kernel
        def add(self):
            for i in range(4):
                loss[None] += self.p.k * self.p.x[i]

    owner = Owner()
    with qd.ad.Tape(loss):
        owner.add()
        owner.p = last = Fixed(kit.y, 5.0)
        owner.add()
    assert gradients(kit.x, kit.y) == [2, 5] and owner.p is last


def test_buffers_that_are_swapped(kit):
    loss = kit.loss

    @qd.data_oriented
    class Steps:
        def __init__(self):
            self.now, self.next = kit.x, kit.y

        @qd.kernel
        def step(self, k: qd.f32):
            for i in range(4):
                self.next[i] += k * self.now[i]

        @qd.kernel
        def add(self):
            for i in range(4):
                loss[None] += self.next[i]

    steps = Steps()
    with qd.ad.Tape(loss):
        steps.step(3.0)  # y += 3 x
        steps.now, steps.next = steps.next, steps.now
        steps.step(5.0)  # x += 5 y
        steps.add()  # x
        steps.now, steps.next = steps.next, steps.now
    assert steps.now is kit.x and loss[None] == 4 * (1 + 5 * 4)
    assert gradients(kit.x, kit.y) == [1 + 5 * 3, 5]


def test_values_that_each_launch_reads(kit):
    loss = kit.loss

    @qd.data_oriented(template_primitives=False)
    class Scaled:
        def __init__(self):
            self.k, self.inner = 2.0, Pair(kit.x, 3.0)

        @qd.kernel
        def add(self, x: qd.types.ndarray(qd.f32, ndim=1)):
            for i in range(4):
                loss[None] += self.k * self.inner.k * x[i]

    scaled = Scaled()
    with qd.ad.Tape(loss):
        scaled.add(kit.x)
        scaled.k, scaled.inner = 5.0, Pair(kit.x, 1.0)
        scaled.add(kit.x)
        scaled.k = scaled.inner.k = 100.0
    assert gradients(kit.x) == [2 * 3 + 5] and scaled.k == scaled.inner.k == 100


@pytest.mark.parametrize(
    "vector",
    [lambda: qd.Vector([1.0, 2.0]), lambda: [1.0, 2.0], lambda: np.array([1, 2], np.float32)],
    ids=["vector", "list", "numpy"],
)
def test_vectors_that_are_written_in_place(kit, vector):
    loss, v = kit.loss, vector()

    @qd.kernel
    def add(x: qd.types.ndarray(qd.f32, ndim=1), v: qd.types.vector(2, qd.f32)):
        for i in range(4):
            loss[None] += (v[0] + v[1]) * x[i]

    with qd.ad.Tape(loss):
        add(kit.x, v)
        v[0] = 10.0
        add(kit.x, v)
        v[1] = 100.0
    assert gradients(kit.x) == [3 + 12]


def test_structs_that_are_written_in_place(kit):
    loss = kit.loss

    @qd.kernel
    def add(x: qd.types.ndarray(qd.f32, ndim=1), s: Scales):
        for i in range(4):
            loss[None] += s.k * s.v[1] * x[i]

    s = Scales(k=2.0, v=[0.0, 3.0])
    with qd.ad.Tape(loss):
        add(kit.x, s)
        s.k, s.v[1] = 5.0, 1.0
        add(kit.x, s)
        s.k = 100.0
    assert gradients(kit.x) == [6 + 5] and s.k == 100


def test_the_check_of_gradients_runs_the_launches_that_were(init):
    init(default_fp=qd.f64)
    x = qd.field(qd.f64, (4,), needs_grad=True)
    loss = qd.field(qd.f64, (), needs_grad=True)
    v = qd.Vector([1.0, 2.0])

    @qd.kernel
    def add(v: qd.types.vector(2, qd.f64)):
        for i in x:
            loss[None] += (v[0] + v[1]) * x[i] * x[i]

    x.fill(1)
    with qd.ad.Tape(loss, grad_check=[x]):
        add(v)
        v[0] = 10.0
        add(v)
    assert x.grad.to_numpy().tolist() == [2 * (3 + 12)] * 4


def test_properties_that_are_arrays(kit):
    loss = kit.loss

    @qd.data_oriented
    class Owner:
        arrays, chosen = (kit.x, kit.y), 0

        @property
        def now(self):
            return self.arrays[type(self).chosen]

        @qd.kernel
        def add(self):
            for i in range(4):
                loss[None] += self.now[i]

    owner, prop = Owner(), Owner.now
    with qd.ad.Tape(loss):
        owner.add()
        Owner.chosen = 1
        for _ in range(3):
            owner.add()
    assert gradients(kit.x, kit.y) == [1, 3]
    assert Owner.now is prop and owner.now is kit.y


def test_properties_that_are_numbers(kit):
    """Of two objects in one launch, each with its own value then; one of them without the attribute in its class."""
    loss, x = kit.loss, field_of_ones()

    @qd.data_oriented(template_primitives=False)
    class Clock:
        def __init__(self, t):
            self.t = t

        @property
        def now(self):
            return self.t * 10

    class Later(Clock):
        pass

    @qd.data_oriented(template_primitives=False)
    class Owner:
        def __init__(self):
            self.first, self.second, self.other = Clock(1.0), Clock(2.0), Later(3.0)

        @qd.kernel
        def add(self):
            for i in range(4):
                loss[None] += (self.first.now + 100 * self.second.now + 10000 * self.other.now) * x[i]

    owner = Owner()
    clocks = (owner.first, owner.second, owner.other)
    with qd.ad.Tape(loss):
        owner.add()
        for clock in clocks:
            clock.t += 3
        owner.add()
        owner.second.t = 0
    assert gradients(x) == [302010 + 605040]
    assert [clock.now for clock in clocks] == [40, 0, 60] and "now" not in vars(Later)


def test_properties_on_the_way_to_an_attribute(kit):
    loss, x = kit.loss, field_of_ones()

    @qd.data_oriented(template_primitives=False)
    class Part:
        def __init__(self, k):
            self.k = k

    @qd.data_oriented(template_primitives=False)
    class Owner:
        def __init__(self):
            self.k = 2.0

        @property
        def part(self):
            return Part(self.k)

        @qd.kernel
        def add(self):
            for i in range(4):
                loss[None] += self.part.k * x[i]

    owner = Owner()
    with qd.ad.Tape(loss):
        owner.add()
        owner.k = 5.0
        owner.add()
        owner.k = 7.0
    assert gradients(x) == [7] and owner.part.k == 7


def test_attributes_of_a_frozen_object(kit):
    loss, x = kit.loss, field_of_ones()

    @qd.data_oriented(template_primitives=False)
    @dataclasses.dataclass(frozen=True)
    class Owner:
        k: float = 2.0

        @qd.kernel
        def add(self):
            for i in range(4):
                loss[None] += self.k * x[i]

    owner, other = Owner(), Owner(3.0)
    with qd.ad.Tape(loss):
        owner.add()
        other.add()
        object.__setattr__(owner, "k", 5.0)
        owner.add()
        object.__setattr__(owner, "k", 7.0)
    assert gradients(x) == [10]
    assert (owner.k, other.k, Owner.k) == (7, 3, 2)


def test_an_attribute_that_cannot_be_put_back_is_named(kit):
    loss, x = kit.loss, field_of_ones()

    @qd.data_oriented(template_primitives=False)
    class Owner:
        t = 1.0

        def __getattribute__(self, name):
            return type(self).t if name == "now" else object.__getattribute__(self, name)

        def __setattr__(self, name, value):
            raise AttributeError(f"{name} is fixed")

        @qd.kernel
        def add(self):
            for i in range(4):
                loss[None] += self.now * x[i]

    owner, before = Owner(), set(vars(Owner))
    told = "'now' as it was in the launch, and it cannot be put back: now is fixed. Make it a plain attribute, pass"
    with pytest.raises(QuadrantsRuntimeError, match=told), qd.ad.Tape(loss):
        owner.add()
        Owner.t = 2.0
    assert set(vars(Owner)) == before


@pytest.mark.parametrize("debug", [False, True])
def test_fields_that_are_members(init, debug):
    """The first launch of each field compiles, so that only what each launch looks at can tell them apart."""
    init(debug=debug)
    loss = qd.field(qd.f32, (), needs_grad=True)
    x, y = (qd.field(qd.f32, 4, needs_grad=True) for _ in range(2))
    x.fill(1)
    y.fill(2)

    @qd.data_oriented
    class Owner:
        weight = 3.0

        def __init__(self):
            self.now = x

        @qd.kernel
        def add(self):
            for i in range(4):
                loss[None] += self.weight * self.now[i] * self.now[i]

    owner = Owner()
    for _ in range(2):
        with qd.ad.Tape(loss):
            owner.add()
            owner.now = y
            owner.add()
            owner.add()
            owner.now = x
            owner.add()
            owner.now = None
        assert loss[None] == 3 * (4 + 16 + 16 + 4)
        assert (x.grad[0], y.grad[3]) == (12, 24)
        assert owner.now is None and list(vars(owner)) == ["now"]
        owner.now = x


def test_stop_grad_in_a_launch_that_is_watched(init):
    init(debug=True)
    x = qd.field(qd.f32, 3, needs_grad=True)
    loss = qd.field(qd.f32, (), needs_grad=True)

    @qd.kernel
    def run():
        for i in x:
            qd.stop_grad(x)
            loss[None] += x[i] * 2.0

    for validation in (False, True):
        with qd.ad.Tape(loss, validation=validation):
            run()
        assert x.grad.to_numpy().tolist() == [0, 0, 0]


def test_containers_and_functions_that_are_members(init):
    """The derivative is compiled when the tape ends, from what each launch had."""
    init()
    loss = qd.field(qd.f32, (), needs_grad=True)
    x, y = (qd.field(qd.f32, 4, needs_grad=True) for _ in range(2))
    x.fill(1)
    y.fill(2)

    @qd.func
    def square(v):
        return v * v

    @qd.func
    def cube(v):
        return v * v * v

    @qd.data_oriented
    class Owner:
        def __init__(self):
            self.listed, self.fn, self.numbers, self.vector, self.weight = [x], square, [3.0], qd.Vector([1.0]), 2.0

        @qd.kernel
        def add(self):
            for i in range(4):
                loss[None] += self.weight * self.numbers[0] * self.vector[0] * self.fn(self.listed[0][i])

    owner = Owner()
    with qd.ad.Tape(loss):
        owner.add()
        owner.fn, owner.listed[0] = cube, y
        owner.add()
        owner.numbers[0] = owner.vector[0] = owner.weight = 100.0  # constants of the kernels, which have 3.0, 1.0, 2.0
        owner.add()
        owner.fn, owner.listed = square, [x]
    assert loss[None] == 6 * (4 * 1 + 2 * 4 * 8)
    assert (x.grad[0], y.grad[0]) == (6 * 2, 2 * 6 * 3 * 4)
    assert (owner.numbers, owner.weight, owner.vector[0]) == ([100.0], 100.0, 100.0)


def test_an_object_in_a_list_that_holds_another_field(init):
    init()
    loss = qd.field(qd.f32, (), needs_grad=True)
    x, y = (qd.field(qd.f32, 4, needs_grad=True) for _ in range(2))

    @qd.data_oriented
    class Owner:
        def __init__(self):
            self.parts = [SimpleNamespace(x=x)]

        @qd.kernel
        def add(self):
            for i in range(4):
                loss[None] += self.parts[0].x[i]

    owner = Owner()
    with pytest.raises(QuadrantsRuntimeError, match="'parts' held in the launch"), qd.ad.Tape(loss):
        owner.add()
        owner.parts[0].x = y
