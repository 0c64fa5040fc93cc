"""Activation, deactivation, questions and loops, by kind of node."""

import numpy as np
import pytest
from sparse_kit import count

import quadrants as qd
from quadrants.errors import (
    QuadrantsAssertionError,
    QuadrantsCompilationError,
    QuadrantsRuntimeError,
    QuadrantsTypeError,
)


def pointer_over_dense(dtype=None, cells=8, block=4):
    x = qd.field(dtype or qd.f32)
    node = qd.root.pointer(qd.i, cells)
    node.dense(qd.i, block).place(x)
    return x, node


def test_a_write_activates_a_block(sparse):
    x, node = pointer_over_dense()

    @qd.kernel
    def write():
        x[5] = 2.0

    @qd.kernel
    def drop():
        qd.deactivate(node, [1])

    write()
    assert count(x) == 4 and count(node) == 1 and x[5] == 2.0
    drop()
    assert count(x) == 0 and x[5] == 0.0


def test_reads_activate_nothing(sparse):
    x, node = pointer_over_dense()

    @qd.kernel
    def read() -> qd.f32:
        total = 0.0
        for i in range(32):
            total += x[i]
        return total

    assert read() == 0.0 and x[9] == 0.0 and x.to_numpy().sum() == 0
    assert count(x) == 0 and node._num_dynamically_allocated == 0


def test_atomics_activate(sparse):
    x, node = pointer_over_dense(qd.i32)

    @qd.kernel
    def add():
        for i in range(100000):
            x[i % 20] += 1

    add()
    assert count(node) == 5 and x.to_numpy()[:20].tolist() == [5000] * 20
    assert node._num_dynamically_allocated == 5  # all threads wanted the same cells


def test_memory_is_reused_and_zero(sparse):
    x, node = pointer_over_dense(qd.i32)

    @qd.kernel
    def cycle(k: qd.i32):
        x[4 * k] = 7
        for i in range(1):
            if x[4 * k + 1] == 0:
                x[4 * k + 1] = 1

    @qd.kernel
    def drop(k: qd.i32):
        qd.deactivate(node, [k])

    for n in range(40):
        cycle(n % 8)
        assert x[4 * (n % 8) + 1] == 1 and x[4 * (n % 8) + 2] == 0
        drop(n % 8)
        assert count(node) == 0
    counters = node.tree.sparse.nodes[0].pool.lists["counters"]
    from quadrants.data.sparse.host import numbers_of
    from quadrants.ir.sparse import HIGH

    assert numbers_of(counters).item(HIGH) == 1  # forty cells took the memory of one


def test_activation_in_the_task_that_freed(sparse):
    x, node = pointer_over_dense(qd.i32)

    @qd.kernel
    def fill():
        for i in range(32):
            x[i] = i + 1

    @qd.kernel
    def renew():
        for k in range(8):
            qd.deactivate(node, [k])
            x[4 * k] = 100 + k

    fill()
    for _ in range(3):
        renew()
    assert x.to_numpy().tolist() == [100 + i // 4 if i % 4 == 0 else 0 for i in range(32)]
    assert count(node) == 8


def test_explicit_activation_and_questions(sparse):
    x, node = pointer_over_dense()
    found = qd.field(qd.i32, 3)

    @qd.kernel
    def ask():
        found[0] = qd.is_active(node, [2])
        qd.activate(node, [2])
        found[1] = qd.is_active(node, 2)
        found[2] = qd.is_active(node, [3])

    ask()
    assert found.to_numpy().tolist() == [0, 1, 0] and count(x) == 4 and x.to_numpy().sum() == 0


def test_bits(sparse):
    b = qd.field(qd.i32)
    node = qd.root.bitmasked(qd.i, 70)
    node.place(b)

    @qd.kernel
    def write():
        for i in range(70):
            if i % 3 == 0:
                b[i] = i

    @qd.kernel
    def drop():
        for i in range(70):
            if i % 2 == 0:
                qd.deactivate(node, [i])

    write()
    assert count(b) == 24
    drop()
    odd = [i for i in range(0, 70, 3) if i % 2]
    assert count(b) == len(odd) and np.flatnonzero(b.to_numpy()).tolist() == odd


def test_lists(sparse):
    d = qd.field(qd.i32)
    node = qd.root.dense(qd.i, 3).dynamic(qd.j, 64, chunk_size=8)
    node.place(d)
    found = qd.field(qd.i32, 8)

    @qd.kernel
    def work():
        found[0] = d[1].length()
        found[1] = d[1].append(7)
        found[2] = qd.append(node, [1], 8)
        found[3] = qd.length(node, 1)
        d[0, 20] = 5
        found[4] = d[0].length()

    @qd.kernel
    def clear():
        d[0].deactivate()
        found[5] = d[0].length()
        found[6] = d[0, 20]

    work()
    assert found.to_numpy()[:5].tolist() == [0, 0, 1, 2, 21] and count(d) == 23
    clear()
    assert found.to_numpy()[5:7].tolist() == [0, 0] and count(d) == 2


@pytest.mark.parametrize("chunk", [1, 16, 1 << 12])
def test_concurrent_appends_get_slots_of_their_own(sparse, chunk):
    d = qd.field(qd.i32)
    node = qd.root.dynamic(qd.i, 1 << 12, chunk_size=chunk)
    node.place(d)
    slots = qd.field(qd.i32, 3000)

    @qd.kernel
    def fill():
        for i in range(3000):
            slots[i] = qd.append(node, [], i)

    fill()
    assert sorted(slots.to_numpy()) == list(range(3000))
    assert (d.to_numpy()[slots.to_numpy()] == np.arange(3000)).all() and count(d) == 3000


def test_a_full_list_drops_what_is_appended(sparse):
    d = qd.field(qd.i32)
    node = qd.root.dynamic(qd.i, 10, chunk_size=4)
    node.place(d)

    @qd.kernel
    def fill() -> qd.i32:
        for i in range(50):
            qd.append(node, [], i + 1)
        return qd.length(node, [])

    assert fill() == 10 and count(d) == 10 and len(set(d.to_numpy())) == 10


def test_a_full_list_fails_in_debug_mode(init):
    init(debug=True)
    d = qd.field(qd.i32)
    node = qd.root.dynamic(qd.i, 4)
    node.place(d)

    @qd.kernel
    def fill(n: qd.i32):
        for i in range(n):
            qd.append(node, [], i)

    fill(4)
    with pytest.raises(QuadrantsAssertionError, match="full list"):
        fill(1)


def test_structs_in_lists(sparse):
    particle = qd.types.struct(a=qd.i32, v=qd.types.vector(2, qd.f32), m=qd.types.matrix(2, 2, qd.i32))
    s = particle.field()
    node = qd.root.dense(qd.i, 2).dynamic(qd.j, 16)
    node.place(s)

    @qd.kernel
    def fill():
        s[1].append(particle(a=5, v=qd.Vector([1.0, 2.0]), m=qd.Matrix([[1, 2], [3, 4]])))
        qd.append(node, 1, particle(a=6, v=qd.Vector([3.0, 4.0]), m=qd.Matrix([[5, 6], [7, 8]])))

    fill()
    assert s[1, 0].a == 5 and s[1, 1].v.to_list() == [3.0, 4.0] and s[1, 1].m.to_list() == [[5, 6], [7, 8]]
    assert count(s) == 2


def test_elements_deactivate_themselves(sparse):
    x = qd.field(qd.i32)
    node = qd.root.pointer(qd.ij, 4)
    node.place(x, offset=(-2, 3))

    @qd.kernel
    def work():
        for i, j in qd.ndrange((-2, 2), (3, 7)):
            x[i, j] = 1
        for i, j in x:
            if i == j - 4:
                x[i, j].deactivate()

    work()
    assert count(x) == 13 and x.to_numpy().sum() == 13


def test_a_cell_that_deactivates_itself_can_be_written_again(sparse):
    x, node = pointer_over_dense(qd.i32)
    y = qd.field(qd.i32)
    bits = qd.root.bitmasked(qd.i, 40)
    bits.place(y)

    @qd.kernel
    def renew():
        for i in x:
            if i % 4 == 1:
                qd.deactivate(node, [i // 4])
                x[i] = 100 + i
        for i in y:
            qd.deactivate(bits, [i])
            if y[i] == 0:
                y[i] = i

    for i in (5, 13, 30):
        x[i] = y[i] = 1
    renew()
    assert x[5] == 105 and x[13] == 113 and x[29] == 129 and x.to_numpy().sum() == 347 and count(node) == 3
    assert y.to_numpy().nonzero()[0].tolist() == [5, 13, 30] and y[30] == 30


def test_loops_over_nodes_use_their_coordinates(sparse):
    x = qd.field(qd.i32)
    outer = qd.root.pointer(qd.ij, (2, 4))
    inner = outer.pointer(qd.ij, 2)
    inner.dense(qd.ij, (2, 1)).place(x, offset=(10, -5))
    seen = qd.field(qd.i32, (4, 8))

    @qd.kernel
    def mark():
        x[10 + 7, -5 + 3] = 1
        for i, j in inner:
            seen[i, j] += 1
        for I in qd.grouped(outer):
            seen[I] += 10

    mark()
    assert seen.to_numpy().sum() == 11 and seen[3, 3] == 1 and seen[1, 1] == 10


def test_deactivate_all(sparse):
    x, node = pointer_over_dense(qd.i32)
    d = qd.field(qd.i32)
    builder = qd.FieldsBuilder()
    lists = builder.dynamic(qd.i, 8)
    lists.place(d)
    builder.finalize()
    x[3] = x[30] = 1
    d[4] = 9
    node.deactivate_all()
    assert count(x) == 0 and count(d) == 5
    x[7] = 2
    qd.deactivate_all_snodes()
    assert count(x) == count(d) == 0 and x.to_numpy().sum() == d.to_numpy().sum() == 0
    x[7] = 2
    qd.root.deactivate_all()
    assert count(x) == 0


def test_grids_and_their_usage(sparse):
    grid = qd.sparse.grid({"mass": qd.f32, "velocity": qd.types.vector(2, qd.f32)}, (10, 10))

    @qd.kernel
    def write():
        grid[1, 2].mass = 3.0
        grid[4, 4].velocity = qd.Vector([1.0, 2.0])

    write()
    assert qd.sparse.usage(grid) == pytest.approx(0.02) and count(grid) == 2
    with pytest.raises(Exception, match="Only 2D and 3D sparse grids are supported"):
        qd.sparse.grid({"mass": qd.f32}, (10,))


def test_rescaled_indices(sparse):
    x, node = pointer_over_dense(qd.i32)

    @qd.kernel
    def mark():
        x[13] = 1
        for i in x:
            qd.activate(node, qd.rescale_index(x, node, qd.Vector([(i + 8) % 32])))

    mark()
    assert count(node) == 2 and x.to_numpy().sum() == 1


def test_refusals(sparse):
    d, x = qd.field(qd.i32), qd.field(qd.i32)
    lists = qd.root.dense(qd.i, 2).dynamic(qd.j, 4)
    lists.place(d)
    node = qd.root.pointer(qd.i, 4)
    node.place(x)

    @qd.kernel
    def asks_a_list() -> qd.i32:
        return qd.is_active(lists, [0])

    @qd.kernel
    def too_many():
        qd.activate(node, [1, 2])

    @qd.kernel
    def not_a_list():
        qd.append(node, [1], 2)

    with pytest.raises(QuadrantsTypeError, match="only works on pointer"):
        asks_a_list()
    with pytest.raises((QuadrantsRuntimeError, QuadrantsCompilationError), match="has 1 indices. Indexed with 2."):
        too_many()
    with pytest.raises(QuadrantsTypeError, match="only works on dynamic"):
        not_a_list()
    with pytest.raises(QuadrantsRuntimeError, match="standalone dimensionality"):
        qd.root.dense(qd.i, 4).dynamic(qd.i, 4)


def test_a_destroyed_tree_leaves_zeros(sparse):
    for _ in range(2):
        x = qd.field(qd.i32)
        builder = qd.FieldsBuilder()
        builder.pointer(qd.i, 4).dense(qd.i, 2).place(x)
        tree = builder.finalize()
        assert x.to_numpy().sum() == 0 and count(x) == 0
        x[3] = 5
        assert count(x) == 2
        tree.destroy()


def test_lists_of_lists(sparse):
    x = qd.field(qd.i32)
    outer = qd.root.dynamic(qd.i, 8, chunk_size=2)
    inner = outer.dynamic(qd.j, 6, chunk_size=4)
    inner.place(x)

    @qd.kernel
    def fill():
        x[3, 4] = 5
        for i in range(5):
            x[1].append(i + 1)

    @qd.kernel
    def drop_one():
        qd.deactivate(inner, [1])

    @qd.kernel
    def drop_all():
        qd.deactivate(outer, [])

    fill()
    assert count(x) == 10 and count(outer) == 4 and sorted(x.to_numpy()[1]) == [0, 1, 2, 3, 4, 5]
    drop_one()
    assert count(x) == 5 and x.to_numpy().sum() == 5
    drop_all()
    assert count(x) == count(outer) == 0 and x.to_numpy().sum() == 0


def test_sums_into_a_cell_that_the_kernel_knows(sparse):
    x, y = qd.field(qd.f32), qd.field(qd.i32)
    node = qd.root.pointer(qd.i, 8)
    node.dense(qd.i, 4).place(x)
    bits = qd.root.bitmasked(qd.i, 8)
    bits.place(y)

    @qd.kernel
    def add(n: qd.i32, v: qd.i32):
        for _ in range(n):
            x[5] += qd.cast(v, qd.f32)
            y[2] += v

    active = []
    for n, v in ((0, 1), (10, 0), (1000, 1)):
        add(n, v)
        active.append((node._num_dynamically_allocated, int(x.to_numpy().sum()), int(y.to_numpy().sum())))
    assert active == [(0, 0, 0), (1, 0, 0), (1, 1000, 1000)]
    assert (x[5], y[2]) == (1000, 1000)
