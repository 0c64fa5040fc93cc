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


def test_an_attribute_that_cannot_be_put_back_is_named(kit):
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

    owner = Owner()
    with qd.ad.Tape(loss):
        owner.add()
    assert gradients(kit.x) == [1]
    with pytest.raises(QuadrantsRuntimeError, match="'now' as it was in the launch"), qd.ad.Tape(loss):
        owner.add()
        Owner.chosen = 1


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
