"""Who hears of writes: every way to change a container ends a snapshot of its data, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd
from quadrants._ext.core import Snapshot, dependants, everything_written


@pytest.fixture(autouse=True)
def runtime(init):
    init()


def fields():
    n = qd.field(qd.i32, (4,))
    n.fill(1)
    return n


def arrays():
    n = qd.ndarray(qd.i32, (4,))
    n.fill(1)
    return n


CONTAINERS = [pytest.param(fields, id="field"), pytest.param(arrays, id="ndarray")]


def snapshot(*containers) -> Snapshot:
    return Snapshot([x._writes for x in containers])


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda n, other: n.__setitem__(2, 7), id="element"),
        pytest.param(lambda n, other: n.__setitem__(2, 1), id="the same value"),
        pytest.param(lambda n, other: n.__setitem__((2,), 7), id="tuple"),
        pytest.param(lambda n, other: n.fill(3), id="fill"),
        pytest.param(lambda n, other: n.from_numpy(np.arange(4, dtype=np.int32)), id="from_numpy"),
        pytest.param(lambda n, other: n.copy_from(other), id="copy"),
        pytest.param(lambda n, other: qd.wrap(n).__setitem__(2, 7), id="through a tensor"),
    ],
)
def test_writes_of_python_count(make, write):
    n, other = make(), make()
    kept, kept_other = snapshot(n), snapshot(other)
    assert kept.holds
    write(n, other)
    assert not kept.holds
    assert kept_other.holds
    assert snapshot(n).holds


def test_a_tensor_of_torch_is_a_write():
    torch = pytest.importorskip("torch", reason="needs torch")
    for n in (fields(), arrays()):
        kept = snapshot(n)
        n.from_torch(torch.arange(4, dtype=torch.int32))
        assert not kept.holds


@pytest.mark.parametrize("make", CONTAINERS)
def test_reads_do_not_count(make):
    n, y = make(), qd.ndarray(qd.i32, (4,))
    kept = snapshot(n)
    assert n[2] == 1
    assert n.to_numpy().tolist() == [1, 1, 1, 1]
    y.from_numpy(n.to_numpy())
    assert str(n)
    assert kept.holds


def test_kernels_count_what_they_may_write():
    read, stored, added, untouched = fields(), fields(), fields(), fields()
    a, b = arrays(), arrays()

    @qd.func
    def put(x: qd.i32):
        stored[0] = x

    @qd.kernel
    def k(source: qd.types.ndarray(qd.i32, 1), target: qd.types.ndarray(qd.i32, 1), go: qd.i32):
        for i in range(4):
            if go:
                qd.atomic_add(added[i], source[i] + read[i])
                target[i] = 3
                put(i)

    k(a, b, 0)
    kept = {x: snapshot(x) for x in (read, stored, added, untouched, a, b)}
    k(a, b, 0)
    # What might have been written counts.
    assert [kept[x].holds for x in (read, stored, added, untouched, a, b)] == [True, False, False, True, True, False]
    kept = {x: snapshot(x) for x in (a, b)}
    k(b, a, 1)
    assert [kept[x].holds for x in (a, b)] == [False, True]


def test_in_place_updates_are_writes():
    # `x[i] = x[i] + 1` loads and stores one and the same place.
    n, m = fields(), fields()

    @qd.kernel
    def plus():
        for i in n:
            n[i] = n[i] + 1

    @qd.kernel
    def index():
        for i in n:
            m[n[i] % 4] += 1

    plus(), index()
    kept, kept_m = snapshot(n), snapshot(m)
    index()
    assert kept.holds and not kept_m.holds
    plus()
    assert not kept.holds


def test_members_views_and_tensors_count():
    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.n = arrays()

        @qd.kernel
        def k(self):
            for i in range(4):
                self.n[i] += 1

    @qd.kernel
    def through_view(v: qd.BufferView[qd.i32]):
        for i in range(2):
            v[i] = 5

    @qd.kernel
    def through_tensor(t: qd.Tensor):
        for i in range(4):
            t[i] = 5

    holder, n = Holder(), arrays()
    kept = snapshot(holder.n)
    holder.k()
    assert not kept.holds
    kept = snapshot(n)
    through_view(n[1:3])
    assert not kept.holds
    for x in (fields(), arrays()):
        kept = snapshot(x)
        through_tensor(qd.wrap(x))
        assert not kept.holds


def test_components_of_a_field_count_together():
    v = qd.Vector.field(2, qd.i32, (3,))
    x, y = v.get_scalar_field(0), v.get_scalar_field(1)
    kept = snapshot(y)
    v[1] = [1, 2]
    assert not kept.holds
    kept = snapshot(y)
    v.fill(0)
    assert not kept.holds

    @qd.kernel
    def k():
        for i in v:
            v[i][1] = i

    @qd.kernel
    def of_component():
        for i in x:
            x[i] = i

    for kernel in (k, of_component):
        kept = snapshot(y)
        kernel()
        assert not kept.holds


def test_structs_count():
    s = qd.types.struct(n=qd.i32, x=qd.f32).field(shape=(3,))
    kept = snapshot(s.n)

    @qd.kernel
    def reals():
        for i in s:
            s[i].x = 1.0

    @qd.kernel
    def integers():
        for i in s:
            s[i].n = 1

    reals()
    assert kept.holds
    integers()
    assert not kept.holds
    kept = snapshot(s.n)
    s[1] = {"n": 3, "x": 1.0}
    assert not kept.holds
    # A struct of Python is a live view: from here on nobody knows.
    assert s[1].n == 3
    assert not snapshot(s.n).holds


@pytest.mark.runtime(exclude=("cuda", "amdgpu", "metal", "vulkan", "opencl"))
@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize(
    "expose",
    [
        pytest.param(lambda n: n.to_numpy(copy=False), id="view"),
        pytest.param(lambda n: n.to_numpy(copy=None), id="view where there is one"),
        pytest.param(lambda n: n.to_dlpack(), id="DLPack"),
    ],
)
def test_what_others_can_write_never_holds(make, expose):
    n = make()
    kept = snapshot(n)
    view = expose(n)
    assert view is not None
    assert not kept.holds
    assert not snapshot(n).holds


def test_an_exposed_vector_field():
    v = qd.Vector.field(2, qd.i32, (3,))
    assert snapshot(v.get_scalar_field(0)).holds
    v[0][1] = 3
    assert not snapshot(v.get_scalar_field(0)).holds


def test_everything_may_be_written_at_once():
    n = arrays()
    kept = snapshot(n)
    everything_written()
    assert not kept.holds


def test_nothing_depends_on_reals():
    assert qd.field(qd.f32, (2,))._writes is None
    assert qd.ndarray(qd.f64, (2,))._writes is None


def test_counts_begin_and_end_with_the_snapshots():
    before, n = dependants(), arrays()
    assert not n._writes.watched
    kept, other = snapshot(n), snapshot(n)
    assert n._writes.watched and dependants() == before + 2
    del kept
    assert n._writes.watched
    del other
    assert not n._writes.watched and dependants() == before


def test_a_launch_that_fails_has_written(init):
    init(debug=True)
    n = fields()

    @qd.kernel
    def k():
        for i in range(4):
            n[i] = 5
            assert i < 2, "stop"

    kept = snapshot(n)
    with pytest.raises(AssertionError):
        k()
        qd.sync()
    assert not kept.holds
