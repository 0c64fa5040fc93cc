"""language.md 4: dataclasses as arguments: nesting, forwarding, Final members, rebinding, what is refused."""

import dataclasses
from typing import Final

import numpy as np
from kit import fails, specialisations


def run(qd):
    arr = qd.types.NDArray[qd.f32, 1]

    @dataclasses.dataclass(frozen=True)
    class Inner:
        v: arr
        k: qd.i32

    @dataclasses.dataclass(frozen=True)
    class Outer:
        inner: Inner
        scale: qd.f32
        order: Final[int]
        cells: qd.Tensor

    @dataclasses.dataclass
    class Loose:
        a: qd.types.NDArray[qd.i32, 1]
        n: int

    @qd.func
    def add(inner: Inner, i, value):
        inner.v[i] += value * inner.k

    @qd.func
    def apply(o: Outer, i):
        add(o.inner, i, o.scale)
        for k in qd.static(range(o.order)):
            o.cells[i] += k + 1

    @qd.kernel
    def step(o: Outer, factor: qd.i32):
        for i in range(4):
            apply(o, i)
            o.cells[i] *= factor

    @qd.kernel
    def only_inner(inner: Inner) -> qd.f32:
        s = 0.0
        for i in range(inner.v.shape[0]):
            s += inner.v[i]
        return s + inner.k

    @qd.kernel
    def loose(x: Loose, y: Loose):
        for i in range(x.n):
            x.a[i] = y.a[i] + y.n

    @qd.kernel
    def by_keyword(o: Outer) -> qd.f32:
        return o.inner.v[0]

    @qd.kernel
    def assigns(o: Outer):
        o.scale = 1.0

    @qd.kernel
    def aliases(o: Outer) -> qd.i32:
        t = o.inner
        return t.k

    @qd.kernel
    def static_scalar(o: Outer) -> qd.i32:
        s = 0
        for i in qd.static(range(o.inner.k)):
            s += i
        return s

    v = np.arange(4, dtype=np.float32)
    field = qd.field(qd.f32, shape=4)
    nd = qd.ndarray(qd.f32, shape=(4,))
    first = Outer(Inner(v, 2), 0.5, 3, field)
    step(first, 2)
    counts = [specialisations(step)]
    step(Outer(Inner(v, 9), 1.5, 3, field), 1)
    counts.append(specialisations(step))
    step(Outer(Inner(v, 2), 0.5, 1, field), 1)
    counts.append(specialisations(step))
    step(Outer(Inner(v, 2), 0.5, 1, nd), 1)
    counts.append(specialisations(step))
    a, b = qd.ndarray(qd.i32, shape=(3,)), qd.ndarray(qd.i32, shape=(3,))
    b.from_numpy(np.array([1, 2, 3], np.int32))
    x, y = Loose(a, 3), Loose(b, 10)
    loose(x, y)
    y.n = 20
    x.n = 2
    loose(x, y)
    after_change = a.to_numpy()
    x.a = qd.ndarray(qd.i32, shape=(5,))
    loose(x, y)
    return {
        "v": v,
        "field": field.to_numpy(),
        "nd": nd.to_numpy(),
        "counts": counts,
        "inner": only_inner(Inner(v, 3)),
        "loose": [after_change, x.a.to_numpy()],
        "by_keyword": by_keyword(o=first),
        "assigns": fails(lambda: assigns(first), "is immutable in the kernel"),
        "aliases": fails(lambda: aliases(first), ""),
        "static_scalar": fails(lambda: static_scalar(first), ""),
        "wrong_scalar": fails(lambda: step(Outer(Inner(v, "x"), 0.5, 3, field), 2), "cannot be converted"),
    }
