"""language.md 19, runtime.md 26, data.md 12: kernels as plain Python after `qd.init(qd.python)`."""

import traceback
import warnings

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only
torch = pytest.importorskip("torch", reason="needs the package torch")


@pytest.fixture
def python():
    """The python arch, reset after the test."""
    qd.init(qd.python, random_seed=3)
    yield
    qd.reset()


@qd.func
def cell_of(i, j):
    return i * 3 + j


@qd.kernel
def mixed(f: qd.template(), h: qd.template(), v: qd.template(), n: qd.i32) -> qd.i32:
    for i, j in qd.ndrange(2, 3):
        f[i, j] = cell_of(i, j)
    for I in qd.grouped(f):
        f[I] += I[0] * 10
        qd.atomic_max(h[0], f[I])
    for I in qd.grouped(qd.ndrange((0, 2), (1, 3))):
        h[1 + I[0]] += f[I] // 2
    total = 0
    for k in range(n):
        if k % 2 == 0:
            continue
        old = qd.atomic_add(h[3], k)
        total += old
    for k in qd.static(range(2)):
        v[k] = qd.Vector([1.0, 2.0, 3.0]) * (k + 1)
        v[k].y += 0.5
        v[k][0] = qd.max(k, 4) + qd.cast(2.75, qd.i32)
    v[0] += v[1].cross(qd.Vector([0.0, 0.0, 1.0]))
    return total


def run_mixed() -> tuple:
    f, h, v = qd.field(qd.i32, (2, 3)), qd.field(qd.i32, 4), qd.Vector.field(3, qd.f32, shape=2)
    total = mixed(f, h, v, 8)
    return total, f.to_numpy().tolist(), h.to_numpy().tolist(), v.to_numpy().tolist()


def test_agrees_with_the_cpu() -> None:
    """ndrange, grouped, atomics, static loops, funcs and vectors give what compiled kernels give."""
    results = []
    for arch in (qd.cpu, qd.python):
        qd.init(arch)
        results.append(run_mixed())
    qd.reset()
    assert results[0] == results[1]
    assert results[1][2][3] == 1 + 3 + 5 + 7


def test_back_to_compiled_kernels(python) -> None:
    """The same kernel object runs on whichever arch was initialised last."""

    @qd.kernel
    def wraps(x: qd.i32) -> qd.i32:
        return x * 2

    assert wraps(2**31 - 1) == 2**32 - 2
    qd.init(qd.cpu)
    assert wraps(2**31 - 1) == -2
    qd.init(qd.python)
    assert wraps(x=4) == 8


def test_any_python_goes(python) -> None:
    """Early returns, raised exceptions, nested kernels, reassigned parameters, strings."""

    @qd.kernel
    def inner(x: qd.i32) -> qd.i32:
        return x + 1

    @qd.kernel
    def outer(x: qd.i32) -> qd.i32:
        x = inner(x)
        if x > 3:
            return "large"
        if x < 0:
            raise KeyError(x)
        return [x]

    assert (outer(5), outer(1)) == ("large", [2])
    with pytest.raises(KeyError):
        outer(-5)


def test_ordinary_tracebacks(python) -> None:
    """The frames of kernel and func are in it, with their variables: a debugger can stop there."""

    @qd.func
    def divide(a, b):
        return a // b

    @qd.kernel
    def run(n: qd.i32):
        for k in range(n):
            divide(1, k)

    with pytest.raises(ZeroDivisionError) as caught:
        run(2)
    frames = [f for f, _ in traceback.walk_tb(caught.value.__traceback__) if f.f_code.co_filename == __file__]
    assert [f.f_code.co_name for f in frames][-2:] == ["run", "divide"]
    assert frames[-2].f_locals["k"] == 0


def test_containers_are_torch_tensors(python) -> None:
    """`shape` is that of the container, `size()` has the elements; zeroed; other names of the interface."""
    for made in (qd.Vector.field(3, qd.f32, shape=10), qd.Vector.ndarray(3, qd.f32, 10), qd.field(qd.math.vec3, 10)):
        assert isinstance(made, torch.Tensor) and made.dtype is torch.float32
        assert tuple(made.shape) == (10,) and tuple(made.size()) == (10, 3) and made.n == 3
        assert not made.to_numpy().any()
    made.from_numpy(np.arange(30).reshape(10, 3))
    assert made.y[2] == 7 and made[1].to_list() == [3, 4, 5]
    made.fill(qd.Vector([1, 2, 3]))
    assert (made.to_numpy() == [1, 2, 3]).all()
    assert made.grad.shape == (10,) and made.grad is made.grad
    assert float((made * 2)[3, 1]) == 4
    m = qd.Matrix.field(2, 2, qd.f64, shape=())
    m[None] = [[1, 2], [3, 4]]
    assert m[0][1, 0] == 3 and m[None].trace() == 5


@pytest.mark.parametrize("dtype", ["i32", "i64", "f32", "f64", "u1"])
def test_numbers(python, dtype: str) -> None:
    """Elements have the dtype; what was read does not change when memory does; writes convert."""
    f = qd.field(getattr(qd, dtype), 2)
    f[0] = 1
    before = f[0]
    f[0], f[1] = f[1], f[0]
    f[1] += 0
    assert (before, f[0], f[1]) == (1, 0, 1)
    assert np.asarray(f[0]).dtype == f.to_numpy().dtype
    f[1] = 2.75
    assert f[1] == {"u1": 1, "i32": 2, "i64": 2}.get(dtype, 2.75)


def test_indices_outside(python) -> None:
    f = qd.field(qd.f32, (2, 3))
    for at in ((2, 0), (0, 3), (-1, 0), (0, 0, 0)):
        with pytest.raises(IndexError):
            f[at]  # noqa: B018 - reading is what raises
        with pytest.raises(IndexError):
            f[at] = 1


def test_atomics_return_the_old_value(python) -> None:
    f = qd.field(qd.i32, 1)
    assert [qd.atomic_add(f[0], 5), qd.atomic_max(f[0], 9), qd.atomic_sub(f[0], 2)] == [0, 5, 9]
    x = f[0]
    qd.atomic_add(f[0], 1)
    assert qd.atomic_add(x, 1) == 8 and f[0] == 9


def test_random_numbers(python) -> None:
    """In range, of the dtype, new at every call, the same after the same seed."""

    @qd.kernel
    def draw():
        return [qd.random(), qd.random(qd.f64), qd.random(qd.i32), qd.randn()]

    first, second = draw(), draw()
    assert first != second
    values = [draw()[0] for _ in range(2000)]
    assert 0 <= min(values) and max(values) < 1 and abs(np.mean(values) - 0.5) < 0.03
    assert isinstance(values[0], np.float32) and isinstance(first[2], np.int32)
    qd.init(qd.python, random_seed=3)
    assert draw() == first
    qd.init(qd.python, random_seed=4)
    assert draw() != first
    with pytest.raises(TypeError, match="qd.random"):
        qd.random(qd.u1)


def test_hints_asserts_and_prints(python, capsys) -> None:
    @qd.kernel
    def run(n: qd.i32):
        qd.loop_config(serialize=True, block_dim=64)
        for k in range(n):
            assert k < 1, "too large"
            print("k is", k)

    with pytest.raises(AssertionError, match="too large"):
        run(2)
    qd.sync()
    assert capsys.readouterr().out.endswith("k is 0\n")


@qd.data_oriented
class Counter:
    """An object whose methods are kernels."""

    def __init__(self):
        self.count = qd.field(qd.i32, ())

    @qd.kernel
    def add(self, n: qd.i32):
        for _ in range(n):
            self.count[None] += self.step()

    @qd.func
    def step(self):
        return 2


def test_data_oriented_classes(python) -> None:
    counter = Counter()
    counter.add(3)
    counter.add(n=1)
    assert counter.count[None] == 8


def test_what_is_missing(python) -> None:
    f = qd.field(qd.i32, 1)
    for call in (lambda: qd.math.popcnt(f[0]), lambda: qd.field(qd.f32), lambda: qd.field(qd.f32, 2, offset=1)):
        with pytest.raises(NotImplementedError, match="python arch"):
            call()


def test_numpy_arguments(python) -> None:
    """No conversion: the kernel sees the caller's array."""

    @qd.kernel
    def double(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        for i in range(a.shape[0]):
            a[i] *= 2

    a = np.ones(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        double(a)
    assert a.tolist() == [2, 2, 2]


# ---------------------------------------------------------------- elements, fields without axes, fields of structs


def test_elements_are_like_tensors(python) -> None:
    v = qd.Vector.field(3, qd.f32, shape=(2, 2))
    v[1, 0] = qd.Vector([1, 2, 3])
    one = v[1, 0]
    assert one.tolist() == [1, 2, 3] and one.shape == (3,) and one.dtype == torch.float32
    assert one.numpy().tolist() == [1, 2, 3] and torch.sum(one).item() == 6
    assert torch.dot(one, v[1, 0]).item() == 14 and torch.stack([one, one]).shape == (2, 3)
    assert (one + 1).tolist() == [2, 3, 4] and one.sum() == 6
    one.mul_(2)
    assert v[1, 0].tolist() == [2, 4, 6]
    assert not hasattr(one, "no_such_attribute") and not hasattr(one, "__array_interface__")


def test_more_indices_go_into_elements(python) -> None:
    v, m = qd.Vector.field(3, qd.f32, shape=(2, 2)), qd.Matrix.ndarray(2, 3, qd.i32, shape=2)
    v[1, 0, 2] = 9
    assert v[1, 0, 2] == 9 and v[1, 0].tolist() == [0, 0, 9]
    m[1, 0, 2] = 5
    assert m[1, 0].tolist() == [0, 0, 5] and m[1][0, 2] == 5
    with pytest.raises(IndexError):
        v[1, 0, 3]
    with pytest.raises(IndexError):
        v[1, 0, 0, 0]


def test_slices(python) -> None:
    """They share the memory, as tensors or, of an element, as vectors."""
    v, f = qd.Vector.field(3, qd.f32, shape=(2, 2)), qd.field(qd.i32, shape=5)
    v[:, 0] = torch.tensor([1.0, 2.0, 3.0])
    assert v[1, 0].tolist() == [1, 2, 3] and v[:, 0].shape == (2, 3) and v[0].shape == (2, 3)
    assert v[1, 0, 1:].tolist() == [2, 3]
    part = v[1, 0][0:2]
    part[1] = 7
    part += qd.Vector([1, 1])
    assert v[1, 0].tolist() == [1, 7, 3] and part.tolist() == [2, 8]
    f[1:3] = 4
    f[1:3] += 1
    assert f.to_numpy().tolist() == [0, 5, 5, 0, 0] and f[0:3].sum().item() == 10
    with pytest.raises(IndexError):
        v[2, :]


def test_fields_without_axes(python) -> None:
    z, v, m = (
        qd.field(qd.i32, shape=()), qd.Vector.field(3, qd.f32, shape=()), qd.Matrix.field(2, 2, qd.f32, shape=())
    )  # fmt: skip

    @qd.kernel
    def step():
        z[None] += 2
        qd.atomic_add(z[None], 3)
        qd.atomic_add(v[None][1], 4)
        qd.atomic_add(v[None], qd.Vector([1, 1, 1]))
        m[None][0, 1] += z[None]
        for I in qd.grouped(z):
            z[I] += 10

    step()
    assert z[None] == 15 and z[()] == 15 and v[None].tolist() == [1, 5, 1] and m[None].tolist() == [[0, 5], [0, 0]]
    assert list(range(z[None]))[-1] == 14 and z.shape == ()
    v[None, 2] = 8
    assert v[None][2] == 8


@pytest.mark.parametrize("shape", [4, (2, 3), ()])
def test_fields_of_structs(python, shape) -> None:
    @qd.dataclass
    class Cell:
        a: qd.f32
        v: qd.types.vector(3, qd.f32)
        n: qd.types.struct(k=qd.i32)

        @qd.func
        def scaled(self):
            return self.a * self.v

    cells = Cell.field(shape=shape)

    @qd.kernel
    def step():
        for I in qd.grouped(cells):
            cells[I].a = 2
            cells[I].v = qd.Vector([1, 2, 3])
            cells[I].v[1] += 5
            cells[I].n.k += 1
            qd.atomic_add(cells[I].a, 1)
            cells.v[I] = cells[I].scaled()

    step()
    at = tuple(extent - 1 for extent in cells.shape) or None
    assert cells[at].a == 3 and cells[at].v.tolist() == [3, 21, 9] and cells[at].n.k == 1
    assert cells.to_numpy()["v"].shape == (*cells.shape, 3) and cells.keys == ["a", "v", "n"]
    assert cells.n.k.to_numpy().sum() == np.prod(cells.shape)
    cells[at] = Cell(a=5, v=[1, 1, 1], n={"k": 6})
    assert cells.a[at] == 5 and cells[at].n.k == 6
    other = Cell.field(shape=shape)
    other.copy_from(cells)
    other.fill(0)
    other.from_numpy(cells.to_numpy())
    assert other[at].n.k == 6 and other.a[at] == 5
    assert cells.grad.a[at] == 0
    if shape:
        with pytest.raises(IndexError):
            cells[(9,) * len(cells.shape)]


def test_fields_of_structs_by_their_members(python) -> None:
    s = qd.Struct.field({"a": qd.f32, "b": qd.i32}, shape=4)
    s[1].a = 3
    s.b[2] = 7
    assert s[1].a == 3 and s[2].b == 7 and s.get_member_field("b").to_numpy().tolist() == [0, 0, 7, 0]
    with pytest.raises(AttributeError, match="no member 'c'"):
        print(s.c)


def test_what_is_no_number(python) -> None:
    f, v = qd.field(qd.f32, shape=2), qd.Vector.field(2, qd.f32, shape=1)
    f[0], v[0] = float("nan"), qd.Vector([1.0, float("inf")])

    @qd.kernel
    def look():
        return [qd.math.isnan(f[0]), qd.math.isnan(f[1]), qd.math.isinf(v[0]).to_list(), qd.math.isnan(v[0]).to_list()]

    assert look() == [True, False, [0, 1], [0, 0]]


@pytest.mark.parametrize("arch", [qd.cpu, qd.python])
def test_vectors_are_no_tensors_of_other_archs(arch) -> None:
    qd.init(arch)
    try:
        v = qd.Vector([1.0, 2.0])
        assert hasattr(v, "tolist") == (arch == qd.python)
        if arch == qd.cpu:
            with pytest.raises(TypeError):
                torch.sum(v)
        else:
            assert torch.sum(v).item() == 3
    finally:
        qd.reset()
