"""Struct fields: members, live elements, layouts, companions, dictionaries of arrays."""

import numpy as np
import pytest

from quadrants.data import factories, snode
from quadrants.data.axes import NAMED
from quadrants.errors import QuadrantsRuntimeError
from quadrants.ir.types import f32, f64, i8, i32
from quadrants.lang.struct_type import StructType
from quadrants.lang.tensor_types import MatrixType, VectorType

pytestmark = pytest.mark.usefixtures("runtime")

INNER = StructType({"q": f64, "w": VectorType(2, i8)})
OUTER = StructType({"a": i32, "p": VectorType(3, f32), "inner": INNER})


def fill(s, offset=0):
    for k in range(3):
        s[k + offset].a = k
        s[k + offset].p = [k, 2 * k, 3 * k]
        s[k + offset].inner = {"q": k / 2, "w": [k, -k]}


@pytest.mark.parametrize("layout", [0, 1])
def test_layouts_agree(layout):
    s = OUTER.field(shape=3, layout=layout)
    fill(s)
    out = s.to_numpy()
    assert list(out) == ["a", "p", "inner"] and s.keys == ["a", "p", "inner"] and s.shape == (3,)
    assert out["a"].tolist() == [0, 1, 2] and out["p"][2].tolist() == [2, 4, 6]
    assert out["inner"]["q"].tolist() == [0, 0.5, 1] and out["inner"]["w"].tolist() == [[0, 0], [1, -1], [2, -2]]
    assert s.inner.w[2].to_list() == [2, -2] and s.inner.q is s.get_member_field("inner").get_member_field("q")
    assert s.p.interleaved and s.inner.w.interleaved


def test_cells():
    s = OUTER.field(shape=3)
    s.fill(0)
    node = s.a.parent()
    assert node._cell_size_bytes == 32 and all(part.parent() is node for part in (s.a, s.p, s.inner.q, s.inner.w))
    offsets = [f.snode._offset_bytes_in_parent_cell for f in (s.a, s.p, s.inner.q, s.inner.w)]
    assert offsets == [0, 4, 16, 24]
    soa = OUTER.field(shape=3, layout=1)
    soa.fill(0)
    assert len({f.parent() for f in (soa.a, soa.p, soa.inner.q, soa.inner.w)}) == 4


def test_elements_are_live():
    s = OUTER.field(shape=(2, 2))
    element = s[1, 0]
    element.a = 7
    s[1, 0].p[2] = 5
    s[1, 0]["inner"].q = 2.5
    assert (s.a[1, 0], s.p[1, 0].to_list(), s.inner.q[1, 0]) == (7, [0, 0, 5], 2.5)
    assert (element.a, element["a"], element.inner.q, len(element), element.keys) == (7, 7, 2.5, 3, s.keys)
    assert str(element) == str(element.to_dict()) and "object at" not in str(element)
    assert isinstance(element, OUTER)
    s[0, 1] = OUTER(1, [1, 2, 3])
    s[0, 0] = s[1, 0]
    s[1, 1] = {"a": 4, "p": (4, 5, 6), "inner": {"q": 1, "w": [1, 2]}}
    assert s.a.to_numpy().tolist() == [[7, 1], [7, 4]] and s.p[1, 1].to_list() == [4, 5, 6]
    s[0, 0].p = [9, 9, 9]
    assert s.p[0, 0].to_list() == [9, 9, 9]
    with pytest.raises(TypeError):
        element.a = "x"
    with pytest.raises(AttributeError):
        _ = element.missing
    with pytest.raises(AttributeError):
        element.missing = 1
    with pytest.raises(KeyError):
        s[0, 0] = {"a": 1}
    with pytest.raises(TypeError):
        s[0, 0] = 3
    with pytest.raises(AssertionError):
        s[0]
    with pytest.raises(IndexError):
        s[2, 0]


def test_methods_of_the_type_work_on_elements():
    kind = StructType({"a": f32}, {"twice": lambda self: 2 * self.a})
    s = kind.field(shape=2)
    s[1].a = 4
    assert s[1].twice() == 8 and "twice" in s.struct_methods


@pytest.mark.parametrize("layout", [0, 1])
def test_offset(layout):
    s = OUTER.field(shape=3, offset=-7, layout=layout)
    fill(s, -7)
    assert s.to_numpy()["a"].tolist() == [0, 1, 2] and s.p[-5].to_list() == [2, 4, 6]
    with pytest.raises(IndexError):
        s[0]


def test_companions():
    kind = StructType({"v": VectorType(2, f32), "x": f64})
    s = kind.field(shape=(2,), needs_grad=True)
    s.grad.fill(3)
    s.grad[1].v = [0, 0]
    s.grad.x[0] = 9
    assert s.grad.v.to_numpy().tolist() == [[3, 3], [0, 0]] and s.v.grad is s.grad.v
    assert s.grad.to_numpy()["x"].tolist() == [9, 3] and not s.to_numpy()["v"].any()
    assert s.has_grad() and not s.has_dual() and s.grad is s.grad and s.grad.grad is None
    mixed = StructType({"k": i32, "x": f32}).field(shape=2)
    snode.root.lazy_grad()
    mixed.grad.fill(1)
    assert mixed.grad.get_member_field("k") is None and not hasattr(mixed.grad, "k")
    assert mixed.grad.x.to_numpy().tolist() == [1, 1] and list(mixed.grad.to_numpy()) == ["x"]


def test_lazy_gradients_live_beside_their_members():
    s = StructType({"v": VectorType(2, f32), "k": i32, "x": f64}).field(shape=3, offset=-1, layout=1)
    snode.root.lazy_grad()
    s.grad.v[-1] = [1, 2]
    s.grad.x[1] = 3
    assert s.grad.v.parent() is s.v.parent() and s.grad.x.parent() is s.x.parent() is not s.v.parent()
    assert s.grad.to_numpy()["v"].tolist() == [[1, 2], [0, 0], [0, 0]] and s.grad.x.to_numpy().tolist() == [0, 0, 3]


def test_bulk():
    s, t = OUTER.field(shape=3), OUTER.field(shape=3, layout=1)
    fill(s)
    t.from_numpy(s.to_numpy())
    assert str(s.to_numpy()) == str(t.to_numpy()) == str(s)
    s.fill(-1)
    assert s.a[0] == -1 and s.inner.w[2].to_list() == [-1, -1]
    s.copy_from(t)
    assert str(s.to_numpy()) == str(t.to_numpy())
    with pytest.raises(KeyError):
        s.from_numpy({"a": np.zeros(3)})
    with pytest.raises(TypeError):
        s.from_numpy(np.zeros(3))
    with pytest.raises(ValueError):
        s.copy_from(INNER.field(shape=3))
    with pytest.raises(ValueError):
        s.copy_from(OUTER.field(shape=4))
    with pytest.raises(TypeError, match="Cannot copy from a non-field object"):
        s.copy_from({})


@pytest.mark.cpu_only
def test_views_per_member():
    soa = OUTER.field(shape=3, layout=1)
    views = soa.to_numpy(copy=False)
    views["p"][1] = [1, 2, 3]
    views["inner"]["q"][2] = 4
    assert soa.p[1].to_list() == [1, 2, 3] and soa.inner.q[2] == 4
    aos = OUTER.field(shape=3)
    with pytest.raises(ValueError, match="Zero-copy not available"):
        aos.to_numpy(copy=False)
    assert aos.to_numpy(copy=None)["a"].tolist() == [0, 0, 0]
    with pytest.raises(RuntimeError):
        soa.to_dlpack()


def test_members_named_like_attributes():
    s = factories.struct_field({"shape": f32, "fill": i32, "vel": f32}, shape=4)
    assert s.shape == (4,) and s.keys == ["shape", "fill", "vel"]
    s.get_member_field("shape")[1] = 2
    assert s[1].shape == 2 and s.to_numpy()["shape"].tolist() == [0, 2, 0, 0]
    with pytest.raises(AttributeError):
        _ = s._tc
    s._tc = 1
    assert s._tc == 1


def test_declared_first_placed_later():
    s = OUTER.field()
    assert str(s) == "<Field: Definition of this field is incomplete>"
    with pytest.raises(RuntimeError, match="not placed"):
        s.fill(1)
    snode.root.dense(NAMED["ij"], (2, 3)).place(s)
    s.fill(1)
    assert s.shape == (2, 3) and s.inner.w[1, 2].to_list() == [1, 1]


def test_nested_dictionaries_and_matrices():
    s = factories.struct_field({"m": MatrixType(2, 2, f32), "d": {"x": i32}}, shape=())
    s[None].m = [[1, 2], [3, 4]]
    s[None].d.x = 5
    assert s.m[None][1, 0] == 3 and s.d.x[None] == 5
    with pytest.raises(QuadrantsRuntimeError, match="not supported"):
        factories.struct_field({"m": {"k": i32}}, shape=1, needs_dual=True)
