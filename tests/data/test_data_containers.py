"""data.md 2.2, 6.4, 8: every kind of container in dataclasses of any depth, pruned; every option of storage at once."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import quadrants as qd
from quadrants import BufferView

NA = qd.types.NDArray


@dataclasses.dataclass
class Parts:
    """A plain dataclass with a member of each kind."""

    a: NA[qd.f32, 1]
    f: qd.template()
    n: qd.i32
    w: qd.types.vector(2, qd.f32)
    v: BufferView[qd.f32]
    t: qd.Tensor
    unused: NA[qd.f32, 1]


@dataclasses.dataclass(frozen=True)
class Pair:
    """A frozen dataclass of plain ones."""

    p: Parts
    q: Parts


@dataclasses.dataclass(frozen=True)
class Maybe:
    x: qd.Tensor
    unused: qd.Tensor
    none: qd.Tensor


@dataclasses.dataclass(frozen=True)
class One:
    x: NA[qd.f32, 1]


@dataclasses.dataclass(frozen=True)
class OfStructs:
    s: qd.template()
    g: qd.template()


@qd.func
def add(p: Parts):
    for i in range(p.n):
        p.a[i] += p.w[0]
        p.f[i] += p.w[1]
        p.v[i] += p.n
        p.t[i] += 1


@qd.kernel
def add_all(pair: Pair, third: Parts):
    add(pair.p)
    add(pair.q)
    add(third)


def parts(n: int, backend) -> Parts:
    window = qd.ndarray(qd.f32, (2 * n,))[n - 1 : 2 * n - 1]
    tensor = qd.tensor(qd.f32, (n,), backend=backend)
    return Parts(qd.ndarray(qd.f32, (n,)), qd.field(qd.f32, n), n, qd.Vector([1.0, 2.0]), window, tensor, window.arr)


def test_every_kind_at_every_depth(arch):
    """Plain in frozen, passed on to funcs; members of plain ones may change, also what no kernel reads."""
    x, y, z = (parts(n, backend) for n, backend in ((2, 0), (3, 1), (4, 1)))
    add_all(Pair(x, y), z)
    y.unused = qd.ndarray(qd.f32, (9,))
    add_all(Pair(x, y), z)
    z.n, z.w = 2, [5, 7]
    add_all(Pair(x, y), z)
    assert len(add_all) == 1
    for p, n in ((x, 2), (y, 3)):
        assert p.a.to_numpy().tolist() == [3] * n and p.f.to_numpy().tolist() == [6] * n
        assert p.v.arr.to_numpy().tolist() == [0] * (n - 1) + [3 * n] * n + [0]
        assert p.t.to_numpy().tolist() == [3] * n
    assert z.a.to_numpy().tolist() == [7, 7, 2, 2] and z.f.to_numpy().tolist() == [11, 11, 4, 4]
    assert z.v.arr.to_numpy().tolist() == [0] * 3 + [10, 10, 8, 8, 0] and z.t.to_numpy().tolist() == [3, 3, 2, 2]


@qd.kernel
def bump(m: Maybe) -> qd.i32:
    m.x[0, 1] += 1
    result = 0
    if qd.static(m.none == None):  # noqa: E711 - kernels compare members so
        result = 1
    return result


def test_members_of_any_storage(arch):
    """One kernel for wrappers, ndarrays, fields, NumPy and torch arrays, with layouts, orders and offsets."""
    torch = pytest.importorskip("torch", reason="needs the package torch")
    kinds = [
        qd.tensor(qd.f32, (2, 3)), qd.tensor(qd.f32, (2, 3), backend=0), qd.tensor(qd.f32, (2, 3), layout=(1, 0)),
        qd.tensor(qd.f32, (2, 3), layout=(1, 0), backend=0), qd.ndarray(qd.f32, (2, 3)), qd.field(qd.f32, (2, 3)),
        qd.field(qd.f32, (2, 3), order="ji", offset=(-1, 1)), np.zeros((2, 3), np.float32), torch.zeros(2, 3),
    ]  # fmt: skip
    for x in kinds:
        assert bump(Maybe(x, None, None)) == 1 and bump(Maybe(x, 3, x)) == 0
        values = x if isinstance(x, np.ndarray) else x.numpy() if isinstance(x, torch.Tensor) else x.to_numpy()
        at = (1, 0) if getattr(x, "_offset", None) else (0, 1)
        assert values[at] == 2 and values.sum() == 2


def test_unread_members_select_nothing(arch):
    @qd.kernel
    def run(m: Maybe):
        m.x[0] += 1

    x = qd.tensor(qd.f32, (2,))
    others = (None, 3, "text", np.zeros(3), qd.field(qd.i32, 2), qd.tensor(qd.f64, (1, 1)), [1], object())
    for other in others:
        run(Maybe(x, other, None))
    assert x[0] == len(others) and len(run) == 1


@qd.kernel
def write(o: One):
    o.x[0] = 1


MEMBERS = [
    (lambda: qd.field(qd.f32, 2), qd.QuadrantsRuntimeTypeError, "annotate the parameter|field"),
    (lambda: qd.ndarray(qd.i32, (2,)), TypeError, r"Expect element type f32 for argument o.x, but get i32"),
    (lambda: qd.ndarray(qd.f32, (2, 2)), ValueError, "argument o.x - required ndim=1, but 2d ndarray"),
    (lambda: np.zeros(2), ValueError, "argument o.x - required array has dtype=f32"),
    (lambda: np.zeros((2, 2), np.float32), ValueError, "argument o.x - required array has ndim=1"),
    (lambda: np.zeros(4, np.float32)[::2], ValueError, "Non contiguous numpy arrays are not supported"),
    (lambda: qd.ndarray(qd.f32, (4,))[1:2], qd.QuadrantsRuntimeTypeError, "o.x, got BufferView"),
    (lambda: None, qd.QuadrantsRuntimeTypeError, "o.x, got None"),
    (lambda: [1.0], qd.QuadrantsRuntimeTypeError, "o.x, got"),
]


@pytest.mark.parametrize("make, kind, text", MEMBERS)
def test_members_that_do_not_fit(arch, make, kind, text):
    """The errors of 5.1, with the path of the member."""
    with pytest.raises(kind, match=text):
        write(One(make()))
    write(One(qd.ndarray(qd.f32, (2,))))


def test_other_objects_for_a_dataclass(arch):
    for x in (Maybe(None, None, None), One, None, qd.ndarray(qd.f32, (2,))):
        with pytest.raises(qd.QuadrantsRuntimeTypeError, match="Argument o .* cannot be converted into required type"):
            write(x)


@qd.kernel
def struct_members(m: OfStructs):
    for i in m.s:
        m.s[i].p[1] += 1
        m.s[i].p *= 2
        m.s[i].k += i
        m.g[i].p = 3


@pytest.mark.parametrize("layout", [qd.Layout.AOS, qd.Layout.SOA])
def test_struct_fields_and_their_gradients_as_members(arch, layout):
    vector = qd.types.vector(3, qd.f32)
    s = qd.types.struct(p=vector, k=qd.i32).field(shape=3, layout=layout)
    g = qd.types.struct(p=vector).field(shape=3, needs_grad=True, layout=layout)
    struct_members(OfStructs(s, g.grad))
    struct_members(OfStructs(s, g.grad))
    assert s.p.to_numpy().tolist() == [[0, 6, 0]] * 3 and s.k.to_numpy().tolist() == [0, 2, 4]
    assert g.grad.p.to_numpy().tolist() == [[3] * 3] * 3 and not g.p.to_numpy().any()


def test_copies_of_dataclasses(arch):
    """A shallow copy shares the arrays; deep copies and pickles have their own."""
    one = One(qd.ndarray(qd.f32, (2,)))
    one.x[0] = 4
    shallow, deep, again = copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))
    write(one)
    assert shallow.x is one.x and [c.x[0] for c in (shallow, deep, again)] == [1, 4, 4]
    write(again)
    assert again.x[0] == 1


@pytest.mark.parametrize("layout", [qd.Layout.AOS, qd.Layout.SOA])
@pytest.mark.parametrize("kind", ["scalar", "vector", "matrix"])
def test_order_offset_and_gradient_at_once(arch, kind, layout):
    """Canonical everywhere: kernels, host, NumPy; the gradient has the same order and offset; data round-trips."""
    options = {"order": "ji", "offset": (-1, 10), "needs_grad": True}
    element = {"scalar": (), "vector": (2,), "matrix": (2, 3)}[kind]
    if kind == "scalar":
        x = qd.field(qd.f64, (2, 3), **options)
    elif kind == "vector":
        x = qd.Vector.field(2, qd.f64, shape=(2, 3), layout=layout, **options)
    else:
        x = qd.Matrix.field(2, 3, qd.f64, shape=(2, 3), layout=layout, **options)
    assert x.layout == x.grad.layout == (1, 0) and x.shape == x.grad.shape == (2, 3)

    @qd.kernel
    def run():
        for i, j in x:
            x[i, j] += 100 * i + j
            x.grad[i, j] -= 100 * i + j

    base = np.arange(6.0 * np.prod(element, dtype=int)).reshape(2, 3, *element)
    x.from_numpy(base)
    run()
    step = np.fromfunction(lambda i, j: 100 * (i - 1) + j + 10, (2, 3)).reshape(2, 3, *[1] * len(element))
    assert (x.to_numpy() == base + step).all() and (x.grad.to_numpy() == 0 * base - step).all()
    corner = x[-1, 12] if kind == "scalar" else x[-1, 12].to_list()
    assert np.array_equal(corner, (base + step)[0, 2])
    with pytest.raises((IndexError, AssertionError)):
        x[1, 10]


def test_struct_field_with_every_option(arch):
    s = qd.Struct.field(
        {"a": qd.f32, "v": qd.types.vector(2, qd.f32)}, shape=(2, 3), offset=(1, 1), needs_grad=True,
        layout=qd.Layout.SOA,
    )  # fmt: skip

    @qd.kernel
    def run():
        for i, j in s:
            s[i, j].a = 10 * i + j
            s[i, j].v = [i, j]
            s.grad[i, j].v = [j, i]

    run()
    assert s.a.to_numpy().tolist() == [[11, 12, 13], [21, 22, 23]] and s[2, 3].a == 23
    assert s.grad.v.to_numpy()[1].tolist() == [[1, 2], [2, 2], [3, 2]] and not s.grad.a.to_numpy().any()
    other = qd.Struct.field({"a": qd.f32, "v": qd.types.vector(2, qd.f32)}, shape=(2, 3))
    other.copy_from(s)
    assert other[1, 2].to_dict() == {"a": 23, "v": [2, 3]} and not other.has_grad()


def test_structs_are_no_elements_of_ndarrays(arch):
    """As in the reference package: fields hold structs, ndarrays hold numbers, vectors and matrices."""
    struct = qd.types.struct(a=qd.i32)
    with pytest.raises(qd.QuadrantsRuntimeError, match="is not supported as ndarray element type"):
        qd.ndarray(struct, 2)
    with pytest.raises(ValueError, match="Invalid data type"):
        qd.field(struct, 2)
    with pytest.raises(TypeError, match="not StructField"):
        qd.wrap(struct.field(shape=2))
