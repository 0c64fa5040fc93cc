"""data.md 3.2, 3.3: addresses, scaled indices and nodes in kernels, for dense trees; sizes that tools read."""

import numpy as np
import pytest

import quadrants as qd
from quadrants.lang.exception import QuadrantsIndexError


@qd.kernel
def addresses(x: qd.template(), out: qd.types.ndarray(dtype=qd.u64, ndim=1)):
    for k in range(out.shape[0]):
        out[k] = qd.get_addr(x, [k // 3, k % 3])


@pytest.mark.parametrize(
    "make, strides",
    [
        (lambda: qd.field(qd.f32, (2, 3)), (12, 4)),
        (lambda: qd.field(qd.f64, (2, 3), order="ji"), (8, 16)),
        (lambda: qd.tensor(qd.i16, (2, 3), layout=(1, 0), backend=qd.Backend.FIELD), (2, 4)),
        (lambda: qd.Vector.field(2, qd.f32, shape=(2, 3)), (24, 8)),
        (lambda: qd.Vector.field(2, qd.f32, shape=(2, 3), layout=qd.Layout.SOA), (12, 4)),
        (lambda: qd.Struct.field({"a": qd.i32, "b": qd.f64}, shape=(2, 3)).b, (48, 16)),
    ],
    ids=["scalar", "order", "tensor", "vector", "soa", "member"],
)
def test_addresses(arch, make, strides):
    """Indices are canonical; elements are as far apart as the layout says, and aligned."""
    x, out = make(), qd.ndarray(qd.u64, (6,))
    addresses(x, out)
    found = [int(out[k]) for k in range(6)]
    assert [a - found[0] for a in found] == [k // 3 * strides[0] + k % 3 * strides[1] for k in range(6)]
    assert found[0] % x.dtype.size == 0 and found[0] > 4096


def test_addresses_of_what_has_none(arch):
    x = qd.field(qd.f32, (2, 3))

    @qd.kernel
    def count() -> qd.u64:
        return qd.get_addr(x, 1)

    @qd.kernel
    def array(a: qd.types.ndarray()) -> qd.u64:
        return qd.get_addr(a, 0)

    with pytest.raises(QuadrantsIndexError, match="dim 2"):
        count()
    with pytest.raises(qd.QuadrantsTypeError, match="get_addr takes a field"):
        array(qd.ndarray(qd.f32, 3))


def test_rescaled_indices(arch):
    """By the integer ratio of the shapes, axis by axis, for fields, nodes and vectors of run-time values."""
    fine, coarse, out = qd.field(qd.f32, (8, 32)), qd.field(qd.f32, (4, 8)), qd.ndarray(qd.i32, (8, 2))

    @qd.kernel
    def run(o: qd.types.ndarray(dtype=qd.i32, ndim=2)):
        for k in range(2):
            up = qd.rescale_index(coarse, fine, qd.Vector([1 + k, 2]))
            down = qd.rescale_index(fine.parent(), coarse.parent(), qd.Vector([7, 30 - k]))
            same = qd.rescale_index(fine, fine.snode, qd.Vector([7, k]))
            for a in qd.static(range(2)):
                o[3 * k, a], o[3 * k + 1, a], o[3 * k + 2, a] = up[a], down[a], same[a]
        for I in qd.grouped(coarse):
            J = qd.rescale_index(coarse, fine, I)
            qd.atomic_max(o[6, 0], J[0])
            qd.atomic_max(o[6, 1], J[1])

    run(out)
    assert out.to_numpy()[:7].tolist() == [[2, 8], [3, 7], [7, 0], [4, 8], [3, 7], [7, 1], [6, 28]]

    @qd.kernel
    def wrong():
        print(qd.rescale_index(coarse, fine, 3))

    with pytest.raises(qd.QuadrantsTypeError, match="must be a vector"):
        wrong()


def test_nodes_in_kernels(arch):
    """`parent()` and `snode` of captured fields and of template arguments: extents, and loops over their cells."""
    x = qd.field(qd.i32)
    outer = qd.root.dense(qd.i, 4)
    outer.dense(qd.ij, (2, 3)).place(x)
    cells, sub = qd.field(qd.i32, 4), qd.Vector.field(2, qd.f32, shape=3)

    @qd.kernel
    def run(y: qd.template(), v: qd.template()) -> qd.i32:
        for i in x.parent(2):
            cells[i] += y.parent().shape[1]
        for i, j in y.snode:
            y[i, j] += 1
        v.get_scalar_field(1)[2] = 5.0
        return y.snode.shape[0] + y.parent(2).shape[0]

    assert run(x, sub) == 12
    assert cells.to_numpy().tolist() == [3] * 4 and x.to_numpy().tolist() == [[1] * 3] * 8
    assert sub.to_numpy().tolist() == [[0, 0], [0, 0], [0, 5]]


@pytest.mark.parametrize("offset", [None, (-3, 7)])
def test_loops_run_block_by_block(arch, offset):
    """In the order of the memory: all cells of a block before the next one, indices canonical, offsets included."""
    x, seen, number = qd.field(qd.i32), qd.field(qd.i32, ()), qd.field(qd.i32)
    qd.root.dense(qd.ij, (2, 3)).dense(qd.ij, 2).place(x, number, offset=offset)

    @qd.kernel
    def run():
        qd.loop_config(serialize=True)
        for i, j in x:
            x[i, j] = 100 * i + j
            number[i, j] = seen[None]
            seen[None] += 1

    @qd.kernel
    def again():
        for I in qd.grouped(x):
            x[I] -= 100 * I[0] + I[1]

    run()
    i, j = np.indices((4, 6))
    shift = offset or (0, 0)
    assert x.to_numpy().tolist() == (100 * (i + shift[0]) + j + shift[1]).tolist()
    assert number.to_numpy().tolist() == (i // 2 * 12 + j // 2 * 4 + i % 2 * 2 + j % 2).tolist()
    again()
    assert not x.to_numpy().any()


def test_operations_of_sparse_nodes_on_dense_ones(arch):
    """Dense cells are always active: activating changes nothing; the rest are errors."""
    x = qd.field(qd.i32, 4)
    node = x.parent()

    @qd.kernel
    def switch():
        qd.activate(node, 1)
        qd.deactivate(node, [2])

    x.fill(7)
    switch()
    assert x.to_numpy().tolist() == [7] * 4

    @qd.kernel
    def active() -> qd.i32:
        return qd.is_active(node, 1)

    @qd.kernel
    def length() -> qd.i32:
        return qd.length(node, 1)

    @qd.kernel
    def append():
        qd.append(node, 1, 2)

    @qd.kernel
    def of_a_field():
        qd.activate(x, 1)

    for kernel, text in ((active, "only works on pointer"), (length, "only works on dynamic"), (append, "dynamic")):
        with pytest.raises(qd.QuadrantsTypeError, match=text):
            kernel()
    with pytest.raises(qd.QuadrantsSyntaxError, match="takes a node of a field tree"):
        of_a_field()


@pytest.mark.parametrize("materialized", [False, True])
def test_sizes_that_tools_read(arch, materialized):
    """Cells follow C alignment, and say so before they have memory; reading it declares nothing finished."""
    s = qd.types.struct(a=qd.i32, b=qd.f64).field(shape=4)
    if materialized:
        s.fill(0)
    node = s.a.parent()
    assert [s.a.snode._offset_bytes_in_parent_cell, s.b.snode._offset_bytes_in_parent_cell] == [0, 8]
    assert node._cell_size_bytes == 16 and s.a.snode._cell_size_bytes == 0
    later = qd.field(qd.f32, 3)
    later[1] = 2
    assert (later.snode._snode_tree_id == node._snode_tree_id) is not materialized


def test_containers_are_not_printed_in_kernels(arch):
    """What would be the text of an internal object is an error that names the way."""
    f, a = qd.field(qd.f32, 3), qd.ndarray(qd.f32, (3,))

    @qd.kernel
    def field():
        print("f", f)

    @qd.kernel
    def template(x: qd.template()):
        print(x)

    @qd.kernel
    def array(x: qd.types.ndarray()):
        print(x)

    @qd.kernel
    def view(x: qd.BufferView[qd.f32]):
        print(f"{x}")

    for kernel, arguments in ((field, ()), (template, (f,)), (array, (a,)), (view, (a[1:],))):
        with pytest.raises(qd.QuadrantsTypeError, match="cannot be printed in a kernel"):
            kernel(*arguments)
