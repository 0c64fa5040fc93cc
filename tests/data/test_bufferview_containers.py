"""data.md 9.2, 9.4: buffer views in dataclasses and objects, read anew at every launch."""

import dataclasses

import numpy as np
import pytest
from view_kit import fill, zeros

import quadrants as qd
from quadrants import BufferView


@dataclasses.dataclass(frozen=True)
class Frozen:
    """A frozen container of one view."""

    v: BufferView[qd.f32]


@dataclasses.dataclass
class Plain:
    """A plain container; its view has no declared dtype."""

    v: BufferView
    n: qd.i32


@dataclasses.dataclass(frozen=True)
class Outer:
    """A frozen container of a frozen container and an array."""

    inner: Frozen
    x: qd.types.NDArray[qd.f32, 1]


@qd.func
def set_ones(v: BufferView[qd.f32]):
    for i in range(v.size):
        v[i] = 1.0


@qd.func
def set_all(s: Frozen):
    set_ones(s.v)


@qd.kernel
def one_frozen(s: Frozen):
    for _ in range(1):
        set_all(s)


@qd.kernel
def one_plain(s: Plain):
    for i in range(s.v.size):
        s.v[i] = s.n


@qd.kernel
def one_nested(s: Outer):
    for i in range(s.inner.v.size):
        s.inner.v[i] = 1.0
        s.x[i] += 1.0


def test_containers_are_read_at_every_launch(arch) -> None:
    """9.6.23 and 9.4: frozen, plain and nested dataclasses of temporaries set every element."""
    for wrap, kernel in (
        (Frozen, one_frozen),
        (lambda v: Plain(v, 1), one_plain),
        (lambda v: Outer(Frozen(v), x), one_nested),
    ):
        a, x = zeros(), zeros(4)
        for k in range(0, 32, 4):
            kernel(wrap(a[k : k + 4]))
        assert a.to_numpy().tolist() == [1] * 32
        assert len(kernel) == 1
    assert x.to_numpy().tolist() == [8] * 4


def test_one_container_whose_view_changes(arch) -> None:
    """Changing the view inside a frozen dataclass, and every member of a plain one, is seen."""
    a = zeros()
    s = Frozen(a[0:2])
    one_frozen(s)
    s.v.offset = 30
    one_frozen(s)
    p = Plain(a[10:11], 5)
    one_plain(p)
    p.n, p.v = 7, a[12:13]
    one_plain(p)
    assert {int(k): a.to_numpy()[k] for k in np.flatnonzero(a.to_numpy())} == {0: 1, 1: 1, 10: 5, 12: 7, 30: 1, 31: 1}


def test_members_of_another_dtype(arch) -> None:
    """A bare member is compiled anew for another dtype; a declared one is an error."""
    a = zeros(dtype=qd.i32)
    one_plain(Plain(zeros()[0:4], 3))
    one_plain(Plain(a[0:4], 3))
    assert a.to_numpy()[:5].tolist() == [3, 3, 3, 3, 0]
    with pytest.raises(TypeError, match="Expect element type f32"):
        one_frozen(Frozen(a[0:4]))
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="expects a BufferView"):
        one_frozen(Frozen(zeros()))


@qd.data_oriented
class Holder:
    """An object with a view; kernels read it at every launch."""

    def __init__(self, v):
        self.v = v

    @qd.kernel
    def run(self, x: qd.f32):
        for i in range(self.v.size):
            self.v[i] = x


def test_members_of_data_oriented_objects(arch) -> None:
    a = zeros()
    holder = Holder(a[0:2])
    holder.run(1)
    holder.v = a[6:8]
    holder.run(2)
    assert a.to_numpy()[:9].tolist() == [1, 1, 0, 0, 0, 0, 2, 2, 0]


def test_random_slices(arch) -> None:
    """1000 slices against NumPy, as arguments and in frozen dataclasses."""
    rng = np.random.default_rng(1)
    a, want = zeros(), np.zeros(32, np.float32)
    for k in range(1000):
        low, high = (int(x) for x in rng.integers(-40, 41, 2))
        if k % 2:
            fill(a[low:high], 1)
        else:
            one_frozen(Frozen(a[low:high]))
        want[low:high] = 1
        assert (a.to_numpy() == want).all()
        if want.all():
            want[:] = 0
            a.fill(0)


def test_fastcache_kernels(arch) -> None:
    """Keyed on the dtype alone: other windows are right and compile nothing."""

    @qd.kernel(fastcache=True)
    def run(v: BufferView[qd.f32]):
        for i in range(v.size):
            v[i] += 1

    a = zeros()
    for k in range(0, 32, 8):
        run(a[k : k + 8])
    assert a.to_numpy().tolist() == [1] * 32 and len(run) == 1


def test_graph_kernels(arch) -> None:
    @qd.kernel(graph=True)
    def run(v: BufferView[qd.f32]):
        for i in range(v.size):
            v[i] += 1
        for i in range(v.size):
            v[i] += 1

    a = zeros()
    for k in range(0, 32, 8):
        run(a[k : k + 8])
    assert a.to_numpy().tolist() == [2] * 32
