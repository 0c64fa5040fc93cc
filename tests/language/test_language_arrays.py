"""language.md 3.4: array parameters."""

import numpy as np
import pytest
from language_kit import alive, array, raises, specialisations

import quadrants as qd
from quadrants.lang.exception import QuadrantsIndexError, QuadrantsRuntimeTypeError


@qd.kernel
def grid(a: qd.types.ndarray(dtype=qd.f32, ndim=2)) -> qd.f32:
    return a[0, 1]


@qd.kernel
def vectors(a: qd.types.ndarray(dtype=qd.math.vec3, ndim=1)) -> qd.f32:
    return a[1][2]


PREFIX = "exception while trying to ensure compiled"


def test_external_arrays_against_the_annotation(arch):
    assert grid(np.arange(4, dtype=np.float32).reshape(2, 2)) == 1
    for value, text in (
        (np.zeros((2, 2)), "required array has dtype=f32, array with dtype=f64 is provided"),
        (np.zeros(2, np.float32), "required array has ndim="),
    ):
        with raises(ValueError, text) as caught:
            grid(value)
        assert PREFIX in str(caught.value)
    alive()


def test_ndarrays_against_the_annotation(arch):
    with raises(TypeError, "Expect element type"):
        grid(qd.ndarray(qd.i32, shape=(2, 2)))
    with raises(ValueError, "required ndim="):
        grid(qd.ndarray(qd.f32, shape=4))
    for value in ([1, 2], None, 3):
        with raises(QuadrantsRuntimeTypeError, "Invalid type for argument"):
            grid(value)
    with raises(QuadrantsRuntimeTypeError):
        grid(qd.field(qd.f32, shape=(2, 2)))
    assert grid(qd.ndarray(qd.f32, shape=(2, 2))) == 0


def test_checks_of_func_parameters(arch):
    @qd.func
    def inner(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        return a[0]

    @qd.kernel
    def outer(a: qd.types.ndarray()) -> qd.f32:
        return inner(a)

    assert outer(np.full(2, 3, np.float32)) == 3
    for value in (np.zeros(2), np.zeros((2, 2), np.float32)):
        with raises(qd.QuadrantsCompilationError):
            outer(value)
    alive()


def test_switching_the_checks_off(arch):
    @qd.kernel
    def plain(a: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> qd.i32:
        return a.shape[0]

    flags = qd.lang._template_mapper.__builtins__
    with raises(TypeError):
        plain(qd.ndarray(qd.i32, shape=3))
    flags["__debug__"] = False
    try:
        assert plain(qd.ndarray(qd.i32, shape=3)) == 3
        with raises(ValueError):
            plain(np.zeros(3, np.int32))
    finally:
        flags["__debug__"] = True


def test_element_axes(arch):
    @qd.kernel
    def by_dim(a: qd.types.ndarray(element_dim=1)) -> qd.i32:
        return a[1][2]

    assert vectors(np.arange(6, dtype=np.float32).reshape(2, 3)) == 5
    assert vectors(np.arange(6, dtype=np.int32).reshape(2, 3)) == 5
    assert by_dim(np.arange(6, dtype=np.int32).reshape(2, 3)) == 5
    with raises(ValueError, "required element_shape="):
        vectors(np.zeros((2, 2), np.float32))
    alive()


@qd.kernel
def double(a: qd.types.ndarray()):
    for I in qd.grouped(a):
        a[I] *= 2


def test_numpy_memory(arch):
    flat = np.arange(6, dtype=np.int64).reshape(2, 3)
    double(flat)
    assert flat.tolist() == [[0, 2, 4], [6, 8, 10]]
    fortran = np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3))
    double(fortran)
    assert fortran.tolist() == [[0, 2, 4], [6, 8, 10]] and fortran.flags.f_contiguous
    with raises(ValueError, "Non contiguous numpy arrays"):
        double(np.zeros((4, 4))[:, ::2])
    empty = np.zeros((0, 3), np.float32)
    double(empty)


@pytest.mark.parametrize("order", ["C", "F"])
def test_read_only_memory_is_not_written(arch, order):
    """A kernel that writes refuses it and takes the next array; one that reads takes both alike."""

    @qd.kernel
    def total(a: qd.types.ndarray(ndim=2)) -> qd.i64:
        s = qd.i64(0)
        for i in range(1):
            s += a[0, 0] + a[0, 1] + a[1, 0] + a[1, 1]
        return s

    for writeable in (False, True, False):
        a = np.array([[1, 2], [3, 4]], np.int64, order=order)
        a.flags.writeable = writeable
        assert total(a) == 10
        if writeable:
            double(a)
            assert a.tolist() == [[2, 4], [6, 8]]
            continue
        with pytest.raises(ValueError, match="Argument .* is read-only, and the kernel writes to it"):
            double(a)
        assert a.tolist() == [[1, 2], [3, 4]]
    assert specialisations(total) == 1


def test_captured_arrays_need_constant_indices(arch):
    table = np.arange(3)

    @qd.kernel
    def constant() -> qd.i32:
        return table[2]

    @qd.kernel
    def runtime(i: qd.i32) -> qd.i32:
        return table[i]

    assert constant() == 2
    with raises(qd.QuadrantsCompilationError, "pass it as an argument annotated with qd.types.ndarray"):
        runtime(1)


@pytest.mark.parametrize("name", "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split())
def test_dtypes(arch, name):
    @qd.kernel
    def add(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in a:
            b[i] = a[i] + b[i]

    values = np.arange(3).astype(name)
    out = np.full(3, 4, name)
    add(values, out)
    assert out.tolist() == [4, 5, 6] and out.dtype == name


def test_bool_arrays(arch):
    @qd.kernel
    def flip(a: qd.types.ndarray()):
        for i in a:
            a[i] = not a[i]

    values = np.array([True, False, True])
    flip(values)
    assert values.tolist() == [False, True, False]
    for dtype in (np.complex64, object, "S3"):
        with raises(QuadrantsRuntimeTypeError):
            flip(np.zeros(3, dtype))
    alive()


def test_needs_grad(arch):
    @qd.kernel
    def k(a: qd.types.ndarray(dtype=qd.f32, ndim=1, needs_grad=True)) -> qd.f32:
        return a[0]

    with raises(ValueError, "required needs_grad=True"):
        k(qd.ndarray(qd.f32, shape=2))
    assert k(qd.ndarray(qd.f32, shape=2, needs_grad=True)) == 0


def test_aliased_arguments(arch):
    @qd.kernel
    def shift(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in range(3):
            a[i] = b[i] + 1
            b[i] = a[i] * 10

    a, x = array(qd.i32, [1, 2, 3]), np.array([1, 2, 3])
    shift(a, a)
    shift(x, x)
    assert [a[i] for i in range(3)] == x.tolist() == [20, 30, 40]


def test_shape_and_indices(arch):
    @qd.kernel
    def run(a: qd.types.ndarray(), s: qd.types.ndarray(), v: qd.types.ndarray(qd.math.vec2, 1)) -> qd.types.vector(
        6, qd.i32
    ):
        n, m = a.shape
        s[None] += 1
        s[()] += 1
        v[1][0] = 5
        v[1].y = 6
        I = qd.Vector([1, 2])
        a[I] = 9
        return qd.Vector([n, m, len(a.shape), a.shape[1], a[1, 2], s[None]])

    a, s, v = np.zeros((2, 3), np.int32), np.zeros((), np.int32), np.zeros((2, 2), np.float32)
    assert list(run(a, s, v)) == [2, 3, 2, 3, 9, 2]
    assert v[1].tolist() == [5, 6]
    count = specialisations(run)
    assert list(run(np.zeros((4, 5), np.int32), s, v))[:2] == [4, 5]
    assert specialisations(run) == count


def test_wrong_number_of_indices(arch):
    @qd.kernel
    def run(a: qd.types.ndarray(ndim=1)) -> qd.f32:
        return a[0, 1]

    with raises(QuadrantsIndexError, "Array with dim 1 accessed with indices of dim 2"):
        run(np.zeros(3, np.float32))
    alive()


def test_clamped_indices(arch):
    @qd.kernel
    def run(a: qd.types.ndarray(dtype=qd.i32, ndim=1, boundary="clamp"), i: qd.i32) -> qd.i32:
        return a[i]

    a = array(qd.i32, [7, 8, 9])
    assert [run(a, i) for i in (-5, 0, 1, 2, 100)] == [7, 7, 8, 9, 9]


BEYOND_I32 = [
    (qd.u32, 2**31, 2), (qd.u32, 2**32 - 1, 2), (qd.i64, 2**32 + 1, 2), (qd.i64, -(2**32) + 1, 0),
    (qd.i64, 2**63 - 1, 2), (qd.i64, -(2**63), 0), (qd.u64, 2**32 + 1, 2), (qd.u64, 2**64 - 1, 2),
]  # fmt: skip


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("t, i, nearest", BEYOND_I32, ids=str)
def test_clamped_indices_are_limited_by_their_value(init, debug, t, i, nearest):
    """Not by what is left of it in 32 bits, which may be the number of another cell."""
    init(debug=debug)
    vectors = qd.types.ndarray(dtype=qd.types.vector(3, qd.i32), ndim=1, boundary="clamp")

    @qd.kernel
    def run(
        a: qd.types.ndarray(qd.i32, 1, boundary="clamp"), b: qd.types.ndarray(qd.i32, 2, boundary="clamp"),
        c: vectors, i: t, k: qd.i32,
    ) -> qd.i32:  # fmt: skip
        for _ in range(4):
            a[i] += 1
        b[i, k] = 5
        b[k, i] = a[i]
        c[i][i] = 7
        return a[i] * 1000 + b[i, k] * 100 + b[k, i] * 10 + c[i][i]

    a, b, c = np.zeros(3, np.int32), np.zeros((3, 3), np.int32), np.zeros((3, 3), np.int32)
    assert run(a, b, c, i, 1) == 4547
    assert run(a, b, c, 1, 1) == 4447
    assert (a[nearest], b[nearest, 1], b[1, nearest], c[nearest, nearest]) == (4, 5, 4, 7)
    assert (np.count_nonzero(a), np.count_nonzero(b), np.count_nonzero(c)) == (2, 3, 2)


def test_constants_that_are_clamped(arch):
    """Constants that i32 does not hold, too."""

    @qd.kernel
    def run(a: qd.types.ndarray(qd.i32, 1, boundary="clamp")) -> qd.i32:
        return a[2**32 + 1] * 100 + a[qd.i64(2**33)] * 10 + a[2**64 - 1]

    assert run(array(qd.i32, [7, 8, 9])) == 999


@pytest.mark.parametrize("t, i, nearest", BEYOND_I32, ids=str)
def test_derivatives_over_clamped_indices(arch, t, i, nearest):
    @qd.kernel
    def run(x: qd.types.ndarray(qd.f32, 1, boundary="clamp"), i: t):
        for k in range(3):
            loss[None] += x[i] * x[i] * x[k]

    loss = qd.field(qd.f32, shape=(), needs_grad=True)
    x = qd.ndarray(qd.f32, 3, needs_grad=True)
    x.from_numpy(np.array([2.0, 3.0, 5.0], np.float32))
    loss.grad[None] = 1.0
    run(x, i)
    run.grad(x, i)
    at = float(x[nearest])
    want = np.full(3, at**2)
    want[nearest] += 2 * at * 10
    assert loss[None] == at**2 * 10 and x.grad.to_numpy().tolist() == want.tolist()


def test_same_array_as_input_and_output(arch):
    @qd.kernel
    def copy(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i in a:
            b[i] = a[i]

    x = np.arange(5.0)
    copy(x, x)
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_clamped_components(arch):
    """Indices of components are limited like those of cells: in loads, stores, atomics, slices, and as constants."""

    @qd.kernel
    def run(a: qd.types.ndarray(dtype=qd.types.vector(3, qd.i32), ndim=1, boundary="clamp"), i: qd.i32, k: qd.i32):
        a[i][k] += 10
        a[3][k] = a[i][k] + a[0][7]

    a = qd.Vector.ndarray(3, qd.i32, shape=4)
    a.from_numpy(np.arange(12, dtype=np.int32).reshape(4, 3))
    run(a, 1, 100_000_000)
    assert a.to_numpy().tolist() == [[0, 1, 2], [3, 4, 15], [6, 7, 8], [9, 10, 17]]
    run(a, 100_000_000, -100_000_000)
    assert a.to_numpy().tolist() == [[0, 1, 2], [3, 4, 15], [6, 7, 8], [21, 10, 17]]


@pytest.mark.parametrize("debug", [False, True])
def test_clamped_components_of_matrices(init, debug):
    init(debug=debug)

    @qd.kernel
    def run(a: qd.types.ndarray(dtype=qd.types.matrix(2, 3, qd.i32), ndim=1, boundary="clamp"), i: qd.i32, j: qd.i32):
        a[0][i, j] = 90
        a[1][i, :] = a[0][j, :]

    a = qd.Matrix.ndarray(2, 3, qd.i32, shape=2)
    a.from_numpy(np.arange(12, dtype=np.int32).reshape(2, 2, 3))
    run(a, 100_000_000, -100_000_000)
    assert a.to_numpy().tolist() == [[[0, 1, 2], [90, 4, 5]], [[6, 7, 8], [0, 1, 2]]]


def test_clamped_components_of_views(arch):
    @qd.kernel
    def run(a: qd.BufferView[qd.types.vector(3, qd.i32), "clamp"], i: qd.i32):  # noqa: F821 - no forward reference
        a[0][i] = 5

    a = qd.Vector.ndarray(3, qd.i32, shape=4)
    run(a[2:4], 100_000_000)
    run(a[1:2], -100_000_000)
    assert a.to_numpy().tolist() == [[0, 0, 0], [5, 0, 0], [0, 0, 5], [0, 0, 0]]


def test_rows_of_matrices_are_checked(init):
    init(debug=True)

    @qd.kernel
    def run(a: qd.types.ndarray(dtype=qd.types.matrix(2, 3, qd.i32), ndim=1), i: qd.i32):
        a[0][i, :] = qd.Vector([1, 2, 3])

    a = qd.Matrix.ndarray(2, 3, qd.i32, shape=2)
    with pytest.raises(qd.QuadrantsAssertionError, match="Out of bound access to a"):
        run(a, 7)


CLAMPED = qd.types.ndarray(qd.f64, 2, boundary="clamp")
CLAMPED_VECTORS = qd.types.ndarray(qd.types.vector(3, qd.f64), 1, boundary="clamp")


@qd.func
def clamped_sum(a: CLAMPED, i):
    return a[i, 0] + a[0, i]


@qd.kernel
def use_clamped(a: CLAMPED, v: CLAMPED_VECTORS, i: qd.i32, out: qd.types.ndarray(qd.f64, 1)):
    a[i, 2] = 5.0
    a[i, i] += 1.0
    old = qd.atomic_max(a[i, 1], 7.0)
    v[i] = qd.Vector([1.0, 2.0, 3.0])
    v[i][i] += 1.0
    for k in range(100):
        a[0, 0] += 1.0
    out[0] = a[i, 1] + 10.0
    out[1] = old + 20.0
    out[2] = v[i].sum() + v[i].y + 30.0
    out[3] = clamped_sum(a, i) + 40.0


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (0, 1 << 20)])
def test_clamped_indices_of_empty_arrays(arch, shape):
    """There is no cell: 0 is read, and what is written is lost, also beside the array."""
    memory, out = np.full(8, 9.0), np.zeros(4)
    a, v = memory[4:4].reshape(shape), memory[4:4].reshape(0, 3)
    for i in (0, 5, -5):
        use_clamped(a, v, i, out)
        assert out.tolist() == [10.0, 20.0, 30.0, 40.0]
    assert memory.tolist() == [9.0] * 8


def test_the_same_kernel_on_arrays_with_cells(arch):
    a, v, out = np.zeros((1, 3)), np.zeros((2, 3)), np.zeros(4)
    use_clamped(a, v, 1, out)
    assert a.tolist() == [[100.0, 7.0, 5.0]]
    assert v.tolist() == [[0.0] * 3, [1.0, 3.0, 3.0]]
    assert out.tolist() == [17.0, 21.0, 40.0, 147.0]


@pytest.mark.runtime(debug=True)
@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_clamped_indices_of_empty_arrays_are_checked(arch, shape):
    @qd.kernel
    def read(a: CLAMPED, i: qd.i32) -> qd.f64:
        return a[i, 0]

    with pytest.raises(qd.QuadrantsAssertionError, match="Out of bound access"):
        read(np.zeros(shape), 0)
    assert read(np.ones((2, 2)), 9) == 1.0


def test_derivatives_over_clamped_arrays_without_cells(arch):
    torch = pytest.importorskip("torch")
    x, y = torch.zeros(0, requires_grad=True), torch.ones(3, requires_grad=True)
    loss = qd.field(qd.f32, shape=(), needs_grad=True)

    @qd.kernel
    def run(x: qd.types.ndarray(qd.f32, 1, boundary="clamp"), y: qd.types.ndarray(qd.f32, 1, boundary="clamp")):
        for i in range(4):
            loss[None] += (x[i] + 1.0) * y[i] * y[i]

    run(x, y)
    loss.grad[None] = 1.0
    run.grad(x, y)
    assert loss[None] == 4.0
    assert y.grad.tolist() == [2.0, 2.0, 4.0]
