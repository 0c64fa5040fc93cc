"""Trees: building, materialization, builders, destruction, inspection, companions."""

import contextlib
import gc

import numpy as np
import pytest
from data_kit import live_array

from quadrants import session
from quadrants._ext.core import live_buffers, token_key
from quadrants.arch import extension
from quadrants.data import factories, snode
from quadrants.data.axes import NAMED, axes
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.types import f32, f64, i8, i32

pytestmark = pytest.mark.usefixtures("runtime")
AXIS_I, AXIS_IJ = NAMED["i"], NAMED["ij"]


def test_axis_names():
    assert sorted(NAMED) == sorted("i ij ijk ijkl ijl ik ikl il j jk jkl jl k kl l".split())
    assert axes(0, 2) == NAMED["ik"]
    for bad in (12, 99):
        with pytest.raises(RuntimeError, match="maximum dimensionality is 12"):
            axes(bad)
    with pytest.raises(TypeError):
        axes("a")


def test_several_levels_share_an_axis():
    x = factories.field(i32)
    leaf = snode.root.dense(AXIS_IJ, (4, 8)).dense(AXIS_I, 2)
    assert leaf.place(x) is leaf
    assert x.shape == (8, 8)
    for k, index in enumerate(np.ndindex(8, 8)):
        x[index] = k
    assert np.array_equal(x.to_numpy(), np.arange(64).reshape(8, 8))


def test_storage_order():
    x, y = factories.field(i32), factories.field(i32, (4, 8), order="ji")
    snode.root.dense(axes(1, 0), (4, 8)).place(x)
    assert x.shape == (8, 4) and live_array(x).strides == (16, 4)
    assert y.shape == (4, 8) and y.snode.shape == (8, 4) and y.layout == (1, 0)
    assert live_array(y).strides == (4, 16)
    assert factories.field(i32, (4, 8), order="ij").layout is None
    z = factories.field(i32)
    snode.root.dense(axes(1, 2), (3, 5)).place(z)
    z[2, 4] = 1
    assert z.shape == (3, 5) and z.to_numpy()[2, 4] == 1


def test_cells_follow_c_alignment():
    a, b, c = factories.field(i32), factories.field(f64), factories.field(i8)
    node = snode.root.dense(AXIS_I, 4)
    node.place(a, b)
    node.place(c)
    a.fill(1)
    assert [f.snode._offset_bytes_in_parent_cell for f in (a, b, c)] == [0, 8, 16]
    assert node._cell_size_bytes == 24 and a.to_numpy().tolist() == [1] * 4
    b.fill(2)
    c.fill(3)
    assert a.to_numpy().tolist() == [1] * 4 and b.to_numpy().tolist() == [2] * 4


def test_place_refusals():
    x = factories.field(i32, 3)
    y = factories.field(i32)
    node = snode.root.dense(AXIS_I, 3)
    with pytest.raises(RuntimeError, match="This variable has been placed."):
        node.place(x)
    with pytest.raises(RuntimeError, match="This variable has been placed."):
        node.place(y, y)
    for thing in (3, "x", None, factories.ndarray(i32, 3)):
        with pytest.raises(ValueError, match="cannot be placed"):
            node.place(thing)
    with pytest.raises(RuntimeError, match="offset"):
        node.place(y, offset=(1, 2))
    node.place(y, offset=-4)
    y[-4] = 1
    assert y.to_numpy().tolist() == [1, 0, 0] and x[0] == 0


def test_place_takes_lists_companions_and_structs():
    v = factories.matrix_field(2, 1, f32, ndim=1, needs_grad=True)
    s = factories.struct_field({"a": i32, "p": {"q": f32}})
    snode.root.dense(AXIS_IJ, (2, 3)).place([v, v.grad], s)
    v.fill(1)
    v.grad.fill(2)
    s.p.q.fill(3)
    assert v.has_grad() and v.to_numpy().sum() == 12 and v.grad.to_numpy().sum() == 24 and s.shape == (2, 3)
    assert s.a.to_numpy().sum() == 0 and not v.grad.has_grad()
    x = factories.field(f32)
    assert snode.root.place(x) is snode.root
    x[None] = 5
    assert x.shape == () and x[None] == 5


@pytest.mark.parametrize(
    "build, kind",
    [(lambda r: r.dense(AXIS_I, (3, 4)), QuadrantsRuntimeError), (lambda r: r.dense(3, 3), TypeError),
     (lambda r: r.dense(AXIS_I, 2.5), TypeError), (lambda r: r.dense(AXIS_I, 0), QuadrantsRuntimeError),
     (lambda r: r.dense(axes(0, 0), 3), QuadrantsRuntimeError),
     (lambda r: r.dense(AXIS_IJ, (2, -1)), QuadrantsRuntimeError)],
)  # fmt: skip
def test_node_refusals_leave_nothing_behind(build, kind):
    with pytest.raises(kind):
        build(snode.root)
    assert not snode.current().root.children


@pytest.mark.parametrize(
    "name, build",
    [("Pointer", lambda r: r.pointer(AXIS_I, 4)), ("Bitmasked", lambda r: r.bitmasked(AXIS_I, 4)),
     ("Dynamic", lambda r: r.dynamic(AXIS_I, 4))],
)  # fmt: skip
def test_sparse_nodes_are_refused(name, build):
    session.get_runtime().missing.add(extension.sparse)  # as a device says that lacks what they take
    for where in (snode.root, snode.FieldsBuilder(), snode.root.dense(axes(3), 1)):
        with pytest.raises(QuadrantsRuntimeError, match=f"{name} SNode is not supported on this backend."):
            build(where)


def test_childless_node():
    f = factories.field(i32, 2)
    node = snode.root.dense(AXIS_I, 4)
    with pytest.raises(RuntimeError, match="must have at least one child"):
        f.fill(1)
    x = factories.field(i32)
    node.place(x)
    f.fill(1)
    assert f[1] == 1 and x[3] == 0


def test_components_of_unequal_shape():
    v = factories.matrix_field(2, 1, f32, ndim=1)
    snode.root.dense(AXIS_I, 4).place(v.get_scalar_field(0))
    snode.root.dense(AXIS_I, 5).place(v.get_scalar_field(1))
    with pytest.raises(RuntimeError, match="have different shapes"):
        v.fill(0)


@pytest.mark.parametrize("wanted", [("grad",), ("dual",), ("grad", "dual")])
def test_companions_without_a_place_are_told_from_their_fields(wanted):
    x = factories.field(f32, **{f"needs_{which}": True for which in wanted})
    snode.root.dense(AXIS_I, 4).place(x)
    with pytest.raises(RuntimeError) as caught:
        x[0]
    text = str(caught.value)
    assert "These field(s) are not placed" not in text
    for which in wanted:
        assert f"their {which} field(s) are not placed" in text and f"place(x, x.{which})" in text
        assert f"qd.root.lazy_{which}()" in text


def test_unplaced_fields_name_their_line():
    x = factories.field(f32)
    ok = factories.field(f32, 2)
    with pytest.raises(RuntimeError, match="These field.s. are not placed") as caught:
        ok.fill(1)
    assert "x = factories.field(f32)" in str(caught.value) and __file__ in str(caught.value)
    with pytest.raises(RuntimeError, match="not placed"):
        x[0]
    del x, caught
    gc.collect()
    ok.fill(1)
    assert ok[0] == 1
    y = factories.field(f32, needs_grad=True)
    snode.root.dense(AXIS_I, 2).place(y)
    with pytest.raises(RuntimeError, match="needs_grad=True"):
        y.fill(0)
    snode.root.dense(AXIS_I, 2).place(y.grad)
    y.fill(0)


def test_trees_are_numbered_and_independent():
    a = factories.field(i32, 2)
    b = factories.field(i32, 2)
    a[0] = 1
    cell, token = a.cell, a.token
    c = factories.field(i32, 2)
    assert c.cell is None
    c[0] = 2
    assert [f.snode._snode_tree_id for f in (a, b, c)] == [0, 0, 1]
    assert a.cell is cell and a.token == token and a[0] == 1
    assert len({a.token, b.token, c.token}) == 3 and token_key(token)[0] == "field"
    with pytest.raises(QuadrantsRuntimeError, match="FieldsBuilder finalized"):
        a.parent().place(factories.field(i32))


def test_storage_is_zero_also_when_memory_is_reused():
    for _ in range(5):
        builder = snode.FieldsBuilder()
        x = factories.field(i32)
        builder.dense(AXIS_I, 5000).place(x)
        tree = builder.finalize()
        assert not x.to_numpy().any()
        x.fill(-1)
        tree.destroy()


def test_builder_life():
    builder = snode.FieldsBuilder()
    z, y = factories.field(i32), factories.field(i32, 3)
    builder.dense(AXIS_I, 4).place(z)
    with pytest.raises(QuadrantsRuntimeError, match="is not finalized"):
        y.fill(0)
    tree = builder.finalize()
    assert tree.id == 0 and builder.finalized
    z[0], y[0] = 3, 4
    assert (z[0], y[0]) == (3, 4)
    for use in (lambda: builder.dense(AXIS_I, 3), lambda: builder.place(factories.field(i32)), builder.finalize):
        with pytest.raises(QuadrantsRuntimeError, match="FieldsBuilder finalized"):
            use()
    gc.collect()
    before = live_buffers()
    tree.destroy()
    assert live_buffers() == before - 1
    for use in (tree.destroy, lambda: tree.id):
        with pytest.raises(QuadrantsRuntimeError, match="SNode tree has been destroyed"):
            use()
    with pytest.raises(QuadrantsRuntimeError, match="dead"):
        z[0]
    assert z.token == -1 and y[0] == 4


def test_empty_builder_warns():
    with pytest.warns(UserWarning, match="empty"):
        snode.FieldsBuilder().finalize()
    snode.FieldsBuilder().finalize(raise_warning=False)
    forgotten = snode.FieldsBuilder()
    f = factories.field(i32, 2)
    with pytest.raises(QuadrantsRuntimeError, match="is not finalized"):
        f.fill(1)
    del forgotten
    gc.collect()
    f.fill(1)


def test_inspection():
    f = factories.field(i32, (4, 8), name="a")
    f.fill(0)
    place, node = f.snode, f.parent()
    assert str(place) == "qd.root => dense [4, 8] => place [4, 8]" and repr(node) == "<qd.SNode of type dense>"
    assert node.shape == (4, 8) and place.parent() is node and node.parent() is snode.root
    assert f.parent(2) is snode.root and f.parent(3) is None and snode.root.parent() is None
    assert place == f.snode and place != node and node._get_children() == [place]
    assert place._path_from_root() == [snode.root, node, place]
    assert (place._name, node._name) == ("a", "") and node._cell_size_bytes == 4 and repr(snode.root) == "qd.root"
    g = factories.field(f32, 2, name="g", needs_grad=True)
    assert (g._name, g.grad._name, g.grad.snode._name) == ("g", "g.grad", "g.grad")


def test_companions():
    f, k = factories.field(f32, (2, 3), order="ji", offset=(1, 2)), factories.field(i32, 2)
    assert k.grad is None and k.dual is None and f.grad is f.grad and f.grad is not f.dual
    assert not f.has_grad() and not f.has_dual() and not k.has_grad()
    assert f.grad.grad is None
    snode.root.lazy_grad()
    assert f.has_grad() and not f.has_dual() and not k.has_grad()
    f.grad[1, 2] = 5
    assert f.grad.shape == (2, 3) and f.grad.layout == (1, 0) and f.grad.to_numpy()[0, 0] == 5
    assert not f.to_numpy().any()
    g = factories.field(f32, (2, 3), order="ji", offset=(1, 2), needs_grad=True, needs_dual=True)
    g.grad[2, 4], g.dual[2, 4] = 1, 2
    assert g.has_grad() and g.has_dual() and g.grad.to_numpy()[1, 2] == 1 and g.dual.to_numpy()[1, 2] == 2
    g.copy_from(f)
    assert g.grad[2, 4] == 1


def test_lazy_companions_of_vectors_below_a_node():
    v, other = factories.matrix_field(3, 1, f32, ndim=1), factories.field(f32, 2)
    node = snode.root.dense(AXIS_I, 4).place(v)
    v.get_scalar_field(0)
    node.lazy_dual()
    assert v.has_dual() and not v.has_grad() and not other.has_dual()
    v.dual[1] = [1, 2, 3]
    assert v.dual.interleaved and v.get_scalar_field(1).dual[1] == 2


def test_clients_may_replace_the_materialize_hook(monkeypatch):
    original, calls = session.PyQuadrants.materialize, []

    def materialize(self):
        calls.append(len(snode.trees()))
        original(self)
        helper.fill(1)

    helper = factories.field(i32, 1)
    helper.fill(0)
    monkeypatch.setattr(session.PyQuadrants, "materialize", materialize)
    f = factories.field(i32, 2)
    f[0] = 1
    assert calls and helper[0] == 1
    seen = len(calls)
    with contextlib.suppress(RuntimeError):  # where no other package can address the memory
        f.to_dlpack()
    assert len(calls) > seen
    seen = len(calls)
    f[0], f[1]
    assert len(calls) == seen


def test_reset_frees_everything():
    gc.collect()
    before = live_buffers()
    fields = [factories.field(f32, 10) for _ in range(10)] + [factories.ndarray(f32, 10)]
    for f in fields:
        f.fill(1)
    session.reset()
    gc.collect()
    assert live_buffers() == before


def test_memory_exhaustion_leaves_the_runtime_usable():
    kept = factories.field(i32, 2)
    kept.fill(3)
    gc.collect()
    before = live_buffers()
    huge = factories.field(f64, (2**30, 2**30))
    with pytest.warns(UserWarning, match="32-bit"), pytest.raises(QuadrantsRuntimeError, match=str(2**63)):
        huge.fill(0)
    with pytest.raises(QuadrantsRuntimeError, match=str(2**60 * 8)):
        factories.ndarray(f64, (2**30, 2**30))
    assert live_buffers() == before
    small = factories.field(i32, 2)
    small.fill(1)
    assert kept[0] == 3 and small[0] == 1
    with pytest.raises(QuadrantsRuntimeError, match="no memory"):
        huge[0, 0]
