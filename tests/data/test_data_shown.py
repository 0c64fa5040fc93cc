"""What Python's own tools make of containers and kernels: NumPy, consoles, notebooks, pickle and copy."""

from __future__ import annotations

import copy
import pickle
from html.parser import HTMLParser

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.usefixtures("arch")


def containers():
    return [
        qd.field(qd.f32, shape=(3, 4)), qd.Vector.field(3, qd.i32, shape=(3, 4)), qd.Matrix.field(2, 2, qd.f32, (3, 4)),
        qd.ndarray(qd.f32, (3, 4)), qd.Vector.ndarray(3, qd.i32, (3, 4)), qd.Matrix.ndarray(2, 2, qd.f32, (3, 4)),
        qd.tensor(qd.f32, (3, 4)), qd.tensor(qd.f32, (3, 4), backend=qd.Backend.FIELD),
        qd.Vector.field(3, qd.f32, (3, 4), layout=qd.Layout.SOA),
    ]  # fmt: skip


def numbers(container) -> np.ndarray:
    shape = container.to_numpy().shape
    return np.arange(np.prod(shape)).reshape(shape).astype(container.to_numpy().dtype)


class Cells(HTMLParser):
    """The texts of the cells of a table, which has to be well formed."""

    def __init__(self, text: str):
        super().__init__()
        self.open, self.cells = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["td"]:
            self.cells[-1] += data


@pytest.mark.parametrize("which", range(9))
def test_numpy_takes_them(which):
    container = containers()[which]
    values = numbers(container)
    container.from_numpy(values)
    assert np.array_equal(np.asarray(container), values) and np.asarray(container).dtype == values.dtype
    assert np.asarray(container, dtype=np.float64).dtype == np.float64
    assert np.array_equal(np.add(container, 1), values + 1)
    np.asarray(container)[...] = 0
    assert np.array_equal(container.to_numpy(), values), "a copy was asked for"


@pytest.mark.parametrize("which", range(9))
def test_notebooks_show_the_elements(which):
    container = containers()[which]
    values = numbers(container)
    container.from_numpy(values)
    shown = Cells(container._repr_html_()).cells
    assert len(shown) == 12
    wanted = np.array2string(values.reshape(12, *values.shape[2:])[7], precision=4, separator=", ")
    assert shown[7] == wanted.replace("\n", "")


def test_large_and_small_ranks():
    assert Cells(qd.field(qd.f32, ())._repr_html_()).cells == ["0."]
    line = Cells(qd.field(qd.f32, 100)._repr_html_()).cells
    assert len(line) == 9 and line[-1] == "…"
    assert len(Cells(qd.ndarray(qd.f32, (5, 20, 20))._repr_html_()).cells) == 8 * 9 + 1


def test_what_has_no_memory_says_so():
    unplaced, dead = qd.field(qd.f32), qd.ndarray(qd.f32, 3)
    assert "<table>" not in unplaced._repr_html_() and "qd.field" in unplaced._repr_html_()
    qd.reset()
    assert "dead" in dead._repr_html_() and "dead" in str(dead)


def test_consoles_say_dtype_shape_and_layout():
    class Printer:
        text = staticmethod(lambda said: told.append(said))

    told: list[str] = []
    qd.field(qd.f32, (3, 4), order="ji", needs_grad=True)._repr_pretty_(Printer, False)
    assert told == ["<qd.field> f32, shape (3, 4), order ji, with gradient"]
    assert str(qd.Vector.ndarray(3, qd.i32, 5)) == "<3 Layout.AOS qd.Vector.ndarray> 3 i32, shape (5,)"


def test_a_look_allocates_nothing():
    said: list[str] = []
    x = qd.field(qd.f32, 3)

    class Printer:
        text = staticmethod(said.append)

    x._repr_pretty_(Printer, False)
    assert said == ["<qd.field> f32, shape (3,)"] and x._leaves[0].cell is None


def test_struct_fields_show_each_member():
    field = qd.Struct.field({"a": qd.i32, "b": qd.f32}, shape=2)
    assert len(Cells(field._repr_html_()).cells) == 4


@qd.kernel
def doubled(a: qd.types.ndarray(dtype=qd.f32, ndim=1), n: qd.i32):
    for i in range(n):
        a[i] *= 2.0


@qd.func
def twice(x):
    return 2 * x


@qd.data_oriented
class Holder:
    def __init__(self):
        self.a = qd.ndarray(qd.f32, 2)

    @qd.kernel
    def fill(self, x: qd.f32):
        for i in range(2):
            self.a[i] = x


@pytest.mark.parametrize("named", [doubled, doubled.grad, twice, Holder.fill])
def test_kernels_are_pickled_by_name(named):
    assert pickle.loads(pickle.dumps(named)) is named and copy.deepcopy(named) is named and copy.copy(named) is named


def test_kernels_tell_their_parameters():
    assert repr(doubled).startswith("<qd.kernel doubled(a: ") and "n: i32" in repr(doubled)


def test_methods_are_copied_with_their_object():
    holder = Holder()
    other = copy.deepcopy(holder.fill)
    other(3.0)
    assert other.__self__ is not holder and holder.a[0] == 0.0 and other.__self__.a[1] == 3.0
    assert copy.copy(holder.fill) == holder.fill
    loaded = pickle.loads(pickle.dumps(holder.fill))
    loaded(4.0)
    assert loaded.__self__.a[0] == 4.0


def test_ndarrays_structs_and_matrices_are_copied():
    a = qd.ndarray(qd.f32, 3)
    a.fill(2.0)
    for made in (copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        made[0] = 5.0
        assert a[0] == 2.0 and made[1] == 2.0
    v, s = qd.Vector([1.0, 2.0]), qd.Struct(a=1, b=qd.Vector([1, 2]))
    assert pickle.loads(pickle.dumps(v)).to_list() == copy.deepcopy(v).to_list() == [1.0, 2.0]
    assert pickle.loads(pickle.dumps(s)).to_dict() == copy.deepcopy(s).to_dict() == s.to_dict()


def test_fields_say_what_to_pickle_instead():
    for field in (qd.field(qd.f32, 3), qd.Struct.field({"a": qd.i32}, shape=2)):
        with pytest.raises(TypeError, match=r"Pickle to_numpy\(\), or a qd.Tensor"):
            pickle.dumps(field)
        with pytest.raises(TypeError, match="to_numpy"):
            copy.deepcopy(field)


def test_what_is_dead_says_so(arch):
    kept = [qd.field(qd.f32, 4), qd.Vector.field(2, qd.f32, 3), qd.types.struct(a=qd.f32).field(shape=3)]
    kept.append(qd.ndarray(qd.f32, 3))
    qd.reset()
    for container in kept:
        assert "is dead: its memory went with qd.reset()" in str(container)
