"""Fields of all kinds below sparse nodes: elements, whole content, dtypes, several in one tree, funcs, templates."""

import numpy as np
import pytest
from sparse_kit import count

import quadrants as qd

DTYPES = [qd.i8, qd.u8, qd.i16, qd.u16, qd.i32, qd.u32, qd.i64, qd.f32]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes(sparse, dtype):
    x, y = qd.field(dtype), qd.field(dtype)
    qd.root.pointer(qd.i, 4).bitmasked(qd.i, 5).place(x, y)

    @qd.kernel
    def write():
        for i in range(20):
            if i % 3 == 0:
                x[i] = i
                y[i] += x[i]

    write()
    expected = [i if i % 3 == 0 else 0 for i in range(20)]
    assert x.to_numpy().tolist() == y.to_numpy().tolist() == expected and count(x) == 7


def test_structs_vectors_matrices(sparse):
    kind = qd.types.struct(a=qd.f32, v=qd.types.vector(3, qd.i32), m=qd.types.matrix(2, 2, qd.f32))
    s = kind.field()
    v = qd.Vector.field(3, qd.f32)
    block = qd.root.pointer(qd.ij, 3)
    block.dense(qd.ij, 2).place(s)
    block.dense(qd.ij, 4).place(v, offset=(-6, -6))

    @qd.kernel
    def write():
        s[1, 2].a = 1.5
        s[1, 2].v = qd.Vector([1, 2, 3])
        s[4, 5].m[1, 0] = 7.0
        for I in qd.grouped(v):
            v[I] += qd.Vector([1.0, I[0], I[1]])

    write()
    assert s[1, 2].v.to_list() == [1, 2, 3] and s[1, 2].a == 1.5 and s[4, 5].m.to_list() == [[0, 0], [7, 0]]
    assert count(s) == 8 and count(v) == 32  # one container has both
    first = v.to_numpy()[..., 0]
    assert first.sum() == 32 and first[:4, 4:8].sum() == 16
    v[-6, -6] = [1, 2, 3]
    assert v[-6, -6].to_list() == [1, 2, 3] and count(v) == 48


def test_fill_and_arrays_touch_active_cells(sparse):
    x = qd.field(qd.i32)
    node = qd.root.pointer(qd.i, 8)
    node.dense(qd.i, 4).place(x)
    x[5] = 1
    x.fill(2)
    assert x.to_numpy().tolist() == [0] * 4 + [2] * 4 + [0] * 24
    x.from_numpy(np.arange(32, dtype=np.int32))
    assert x.to_numpy().tolist() == [0] * 4 + [4, 5, 6, 7] + [0] * 24
    assert count(x) == 4
    plain = qd.field(qd.i32, 32)
    plain.fill(3)
    x.copy_from(plain)
    assert count(x) == 32 and x.to_numpy().tolist() == [3] * 32
    plain.copy_from(x)
    assert plain.to_numpy().sum() == 96


def test_views_are_refused(sparse):
    x = qd.field(qd.i32)
    qd.root.pointer(qd.i, 8).place(x)
    x[1] = 1
    with pytest.raises(ValueError, match="the field is sparse|Zero-copy numpy requires"):
        x.to_numpy(copy=False)
    with pytest.raises(RuntimeError):
        x.to_dlpack()
    assert "<td>1</td>" in x._repr_html_() or "1" in x._repr_html_()
    assert str(x) == "[0 1 0 0 0 0 0 0]"


def test_funcs_templates_and_objects(sparse):
    @qd.func
    def put(target: qd.template(), i, value):
        target[i] = value

    @qd.func
    def twice(x, i):
        return 2 * x[i]

    @qd.data_oriented
    class Solver:
        def __init__(self):
            self.x, self.y = qd.field(qd.i32), qd.field(qd.i32)
            self.node = qd.root.pointer(qd.i, 16)
            self.node.bitmasked(qd.i, 4).place(self.x, self.y)

        @qd.kernel
        def run(self, n: qd.i32):
            for i in range(n):
                put(self.x, 5 * i, i + 1)
            for i in self.x:
                self.y[i] = twice(self.x, i)

        @qd.kernel
        def drop(self):
            for i in self.node:
                if i % 2 == 0:
                    qd.deactivate(self.node, [i])

    @qd.kernel
    def total(x: qd.template()) -> qd.i32:
        s = 0
        for i in x:
            s += x[i]
        return s

    solver = Solver()
    solver.run(12)
    assert total(solver.y) == 2 * 78 and total(solver.x) == 78 and count(solver.x) == 12
    solver.drop()
    left = sum(i + 1 for i in range(12) if 5 * i // 4 % 2)
    assert total(solver.x) == left


def test_kernels_with_graphs(sparse):
    x, left = qd.field(qd.i32), qd.field(qd.i32, ())
    node = qd.root.pointer(qd.i, 64)
    node.place(x)

    @qd.kernel(graph=True)
    def spread(flag: qd.types.ndarray(qd.i32, 0)):
        while qd.graph.do_while(flag):
            for i in x:
                if i < 63:
                    x[i + 1] = x[i] + 1
            for _ in range(1):
                left[None] += 1
                flag[None] = 1 if left[None] < 5 else 0

    x[3] = 1
    flag = qd.ndarray(qd.i32, ())
    flag[None] = 1
    spread(flag)
    assert left[None] == 5 and count(x) >= 6 and x[4] == 2


def test_serial_loops_visit_every_active_cell_once(sparse):
    x, seen, n = qd.field(qd.i32), qd.field(qd.i32, 64), qd.field(qd.i32, ())
    qd.root.pointer(qd.i, 8).bitmasked(qd.i, 8).place(x)

    @qd.kernel
    def run():
        for i in range(64):
            if i % 5 == 0:
                x[i] = 1
        qd.loop_config(serialize=True)
        for i in x:
            seen[i] += 1
            n[None] += 1

    run()
    assert n[None] == 13 and seen.to_numpy().tolist() == [int(i % 5 == 0) for i in range(64)]


@pytest.mark.parametrize("stop", [3, 100])
def test_serial_loops_go_in_the_order_of_memory(sparse, stop):
    x, seen, n = qd.field(qd.i32), qd.Vector.field(2, qd.i32, 64), qd.field(qd.i32, ())
    outer = qd.root.dense(qd.i, 2).pointer(qd.ij, (2, 2))
    outer.pointer(qd.j, 2).dense(qd.ij, (1, 2)).place(x, offset=(1, -1))

    @qd.kernel
    def write():
        for i in range(4):
            x[4 - i, 6 - 2 * i] = 1

    @qd.kernel
    def run():
        n[None] = 0
        qd.loop_config(serialize=True)
        for i, j in x:
            seen[n[None]] = qd.Vector([i, j])
            n[None] += 1
            if n[None] == stop:
                break

    write()
    run()
    cells = [[1, -1], [1, 0], [2, 1], [2, 2], [3, 3], [3, 4], [4, 5], [4, 6]]
    assert n[None] == min(stop, 8) and seen.to_numpy()[: n[None]].tolist() == cells[:stop]


def test_sums_behind_a_task_that_activates(sparse):
    x = qd.field(qd.i32)
    node = qd.root.pointer(qd.i, 64)
    node.dense(qd.i, 4).place(x)

    @qd.kernel
    def over_cells() -> qd.i32:
        for i in range(100):
            x[i] = 1
        total = 0
        for i in x:
            total += x[i]
        return total

    @qd.kernel
    def over_range() -> qd.i32:
        for i in range(100, 120):
            x[i] = 1
        total = 0
        for i in range(256):
            total += x[i]
        return total

    assert over_cells() == 100 and over_range() == 120


def test_checks_of_bounds(init):
    init(debug=True)
    x = qd.field(qd.i32)
    qd.root.pointer(qd.i, 4).dense(qd.i, 4).place(x)

    @qd.kernel
    def write(i: qd.i32):
        x[i] = 1

    write(15)
    with pytest.raises(qd.QuadrantsAssertionError, match="of size \\(16\\)|size \\(16,\\)|with indices"):
        write(16)
        qd.sync()


def test_addresses(sparse):
    x = qd.field(qd.i64)
    qd.root.pointer(qd.i, 4).dense(qd.i, 4).place(x)

    @qd.kernel
    def distance() -> qd.i64:
        x[6] = 1
        return qd.cast(qd.get_addr(x, [7]) - qd.get_addr(x, [6]), qd.i64)

    assert distance() == 8


@pytest.mark.parametrize("below", [("pointer",), ("bitmasked", "pointer"), ("dense", "pointer"), ("pointer", "dense")])
def test_copies_end_where_lists_do(sparse, below):
    """The last chunk of the list has room for three entries that it does not have."""
    x = qd.field(qd.i32)
    builder = qd.FieldsBuilder()
    node = builder.dynamic(qd.i, 5, chunk_size=4)
    for kind in below:
        node = getattr(node, kind)(qd.i, 2)
    node.place(x)
    builder.finalize()
    source = qd.field(qd.i32, x.shape)
    source.fill(7)
    x.copy_from(source)
    assert count(x) == x.shape[0] and (x.to_numpy() == 7).all()
    assert count(node.parent()) <= x.shape[0]
