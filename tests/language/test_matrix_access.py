"""matrix-math.md 5, 6: indices, slices, swizzles, iteration, assignment and augmented assignment in kernels."""

import numpy as np
import pytest

import quadrants as qd


def entries(value) -> list:
    return value.to_numpy().tolist()


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"])
def test_indices_of_every_integer_dtype(arch, dtype: str) -> None:
    """Run-time and constant indices, read, write and augmented write, on locals, temporaries and fields."""
    t = getattr(qd, dtype)
    f = qd.Vector.field(3, qd.f32, shape=2)

    @qd.kernel
    def access(i: t) -> qd.types.vector(5, qd.f32):
        v = qd.Vector([0.0, 0.0, 0.0])
        v[i] = 10
        v[i] += 0.5
        v[qd.cast(1, t)] = 3
        f[i][i] = 7
        f[1][i] *= 2
        f[0][i] -= 1
        return qd.Vector([v[i], v[1], f[1][i], (v * 2)[i], f[0][i]])

    f.fill(1)
    assert entries(access(1)) == [3, 3, 14, 6, 0]


def test_boolean_and_vector_indices(arch) -> None:
    f = qd.field(qd.i32, shape=(2, 3))

    @qd.kernel
    def access(i: qd.i32) -> qd.types.vector(4, qd.i32):
        m = qd.Matrix([[1, 2], [3, 4]])
        at = qd.Vector([i, 0])
        f[at] = 5
        m[at] = 9
        v = qd.Vector([6, 7])
        return qd.Vector([m[at], m[1, 0], f[1, 0], v[i > 0]])

    assert entries(access(1)) == [9, 9, 5, 7]


def test_long_vectors_with_run_time_indices(arch) -> None:
    @qd.kernel
    def run(n: qd.i32) -> qd.i32:
        v = qd.Vector([0 for _ in range(64)])
        total = 0
        for _ in range(1):
            for i in range(n):
                v[i] = 10 * i
            for i in range(n):
                total += v[i] * (i % 3)
        return total

    assert run(64) == sum(10 * i * (i % 3) for i in range(64))


def test_slices_read(arch) -> None:
    @qd.kernel
    def read(i: qd.i32) -> qd.types.vector(9, qd.i32):
        v = qd.Vector([1, 2, 3, 4])
        m = qd.Matrix([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        b = m[0:2, 1:3]
        return qd.Vector(
            [v[1:3].sum(), v[::2].sum(), v[:].sum(), v[1:].n, m[i, :].sum(), m[:, i].dot(m[i, :]), b[1, 0], b.m,
             (v * 2)[2:4].sum()]
        )  # fmt: skip

    assert entries(read(1)) == [5, 4, 10, 3, 15, 2 * 4 + 5 * 5 + 8 * 6, 5, 2, 14]


def test_slices_written(arch) -> None:
    f = qd.Vector.field(6, qd.f32, shape=2)
    s = qd.Matrix.field(2, 3, qd.f32, shape=())

    @qd.kernel
    def write(k: qd.i32) -> qd.types.matrix(2, 2, qd.i32):
        m = qd.Matrix([[1, 2], [3, 4]])
        m[0, :] = qd.Vector([9, 8])
        m[:, 1] *= -1
        v = qd.Vector([1, 2, 3, 4])
        v[1:3] = 7
        v[2:4] = [5, 6]
        v[0:2] += 10
        f[k][0:3] = qd.Vector([1.0, 2.0, 3.0])
        f[k][3:6] = v[1:4]
        s[None][k, :] = qd.Vector.one(qd.f32, 3)
        return m

    assert entries(write(1)) == [[9, -8], [3, -4]]
    assert f.to_numpy().tolist() == [[0] * 6, [1, 2, 3, 17, 5, 6]]
    assert s.to_numpy().tolist() == [[0, 0, 0], [1, 1, 1]]


def test_swizzles(arch) -> None:
    """Every set of letters, reads with repeats, chains, writes with the right side read first."""
    f = qd.Vector.field(3, qd.f32, shape=1)

    @qd.kernel
    def read() -> qd.types.vector(10, qd.i32):
        v = qd.Vector([1, 2, 3, 4])
        w, x, y = v.wzyx, v.rgb, v.xxyy
        return qd.Vector([w[0], w[3], x[2], y[1], v.stpq[3], v.xy.yx[0], (v + 1).a, v.q, v.zz.sum(), v.x])

    @qd.kernel
    def write() -> qd.types.vector(4, qd.i32):
        v = qd.Vector([1, 2, 3, 4])
        v.wx = v.xw
        v.yz = qd.Vector([20, 30])
        v.rg += 1
        v.z = v.z - 0.5
        f[0].xy = [7, 8]
        f[0].zx = f[0].xy
        return v

    assert entries(read()) == [4, 1, 3, 1, 4, 2, 5, 4, 6, 1]
    assert entries(write()) == [5, 21, 29, 1]
    assert f[0].to_list() == [8, 8, 7]


@qd.func
def grow(v: qd.template()):
    """Writes components of what may be components of the caller's."""
    v.x += 10
    v[1] *= 3
    qd.atomic_add(v.y, 5)


@qd.func
def swap(v: qd.template()):
    v.xy = v.yx


@qd.func
def corner(m: qd.template()):
    m[0, 1] = 7
    m[1, :].x -= 1


def test_components_of_swizzles_and_slices_are_the_variables(arch) -> None:
    """Of variables and of cells, by themselves and as an argument by reference."""
    f = qd.Vector.field(3, qd.i32, shape=2)

    @qd.kernel
    def of_variable() -> qd.types.vector(4, qd.i32):
        v = qd.Vector([1, 2, 3, 4])
        v.zy.x += 10
        v.wx[1] = 9
        v.wzyx.xy.y -= 1
        copy = v.zy
        copy.x = 100
        return v

    @qd.kernel
    def of_variable_by_reference() -> qd.types.vector(4, qd.i32):
        v = qd.Vector([1, 2, 3, 4])
        grow(v.wz)
        grow(v[0:2])
        swap(v.xwy)
        return v

    @qd.kernel
    def of_cell(i: qd.i32):
        f[i] = [1, 2, 3]
        f[i].zy.y += 4
        grow(f[i].zx)
        swap(f[i][1:3])

    @qd.kernel
    def of_matrix() -> qd.types.matrix(3, 3, qd.i32):
        m = qd.Matrix([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        corner(m[0:2, 1:3])
        m[2, :].z = 0
        return m

    assert entries(of_variable()) == [9, 2, 12, 4]
    assert entries(of_variable_by_reference()) == [14, 11, 14, 11]
    of_cell(1)
    assert f.to_numpy().tolist() == [[0, 0, 0], [8, 13, 6]]
    assert entries(of_matrix()) == [[1, 2, 7], [4, 4, 6], [7, 8, 0]]


@qd.dataclass
class Body:
    """A struct with a vector member."""

    pos: qd.math.vec3
    mass: qd.f32


def test_swizzles_of_struct_members(arch) -> None:
    f = Body.field(shape=2)

    @qd.kernel
    def run() -> qd.f32:
        f[1].pos.xz = qd.Vector([1.0, 2.0])
        b = Body(pos=f[1].pos.zyx, mass=3.0)
        b.pos.y += b.mass
        return b.pos.x * 100 + b.pos.y * 10 + b.pos.z

    assert run() == 231


def test_iteration_and_unpacking(arch) -> None:
    @qd.func
    def pair(a):
        return qd.Vector([a, a * 10])

    @qd.func
    def three(a, b, c):
        return a * 100 + b * 10 + c

    @qd.kernel
    def run() -> qd.types.vector(8, qd.i32):
        w = qd.Vector([8.0, 6.0, 4.0])
        x, y, z = w / 2.0
        m = qd.Matrix([[1, 2], [3, 4]])
        p, q = m[:, 1]
        g, h = pair(4)
        rows = qd.Vector([r[0] + r[1] for r in m])
        twice = qd.Vector([2 * e for e in rows])
        total = 0
        for i in qd.static(range(rows.n)):
            total += rows[i]
        shape = m.get_shape()
        return qd.Vector(
            [qd.cast(x * 100 + y * 10 + z, qd.i32), p * 10 + q, g + h, rows[1], twice.sum(), total,
             three(*qd.Vector([1, 2, 3])), len(m) * 100 + m.m * 10 + shape[1]]
        )  # fmt: skip

    assert entries(run()) == [432, 24, 44, 7, 20, 10, 123, 222]


def test_augmented_assignment_converts_first_on_memory(arch) -> None:
    """+= on memory converts the right side to the target's dtype; *= computes in the promoted dtype."""
    f = qd.Vector.field(2, qd.i32, shape=3)

    @qd.kernel
    def run():
        for i in range(3):
            f[i] += qd.Vector([0.6, 1.6])
            f[i] *= 1.5
            f[i][0] += 3
            f[i][0] *= 1.5

    run()
    assert f.to_numpy().tolist() == [[4, 1]] * 3


def test_augmented_assignment_of_locals(arch) -> None:
    @qd.kernel
    def run() -> qd.types.vector(5, qd.i32):
        a, b, c, d, e = 3, 3, 7, 7, 6
        for _ in range(1):
            a += 0.6
        b *= 1.5
        c //= 2
        d %= 4
        e |= 1
        return qd.Vector([a, b, c, d, e])

    assert entries(run()) == [3, 4, 3, 3, 7]


def test_atomic_sums_of_vectors(arch) -> None:
    """From many threads, exactly."""
    f = qd.Vector.field(3, qd.f32, shape=1)
    old = qd.Vector.field(3, qd.f32, shape=2)

    @qd.kernel
    def run():
        for _ in range(10000):
            f[0] += qd.Vector([1.0, 2.0, 3.0])
        for i in range(1):
            old[0] = qd.atomic_add(f[i], qd.Vector([1.0, 1.0, 1.0]))
            old[1] = qd.atomic_sub(f[i], 1.0)

    run()
    assert f[0].to_list() == [10000, 20000, 30000]
    assert old.to_numpy().tolist() == [[10000, 20000, 30000], [10001, 20001, 30001]]


@pytest.mark.runtime(debug=True)
@pytest.mark.parametrize("at", [(2, 0), (0, 2), (-1, 0)])
def test_each_axis_is_checked_in_debug_mode(arch, at: tuple) -> None:
    """m[0, 2] of a 2x2 matrix is inside the storage, and still an error."""

    @qd.kernel
    def read(i: qd.i32, j: qd.i32) -> qd.i32:
        m = qd.Matrix([[1, 2], [3, 4]])
        return m[i, j]

    assert read(1, 0) == 3
    with pytest.raises(qd.QuadrantsAssertionError, match="Out of bound access"):
        read(*at)
    assert read(1, 1) == 4


def test_element_indices_are_apart_from_container_indices(arch) -> None:
    f = qd.Vector.field(2, qd.f32, shape=3)
    a = qd.Vector.ndarray(2, qd.f32, 3)

    @qd.kernel
    def on_field():
        f[0, 1] = 1.0

    @qd.kernel
    def on_array(x: qd.types.ndarray()):
        x[0, 1] = 1.0

    with pytest.raises(qd.QuadrantsIndexError if hasattr(qd, "QuadrantsIndexError") else IndexError) as caught:
        on_field()
    assert "Field with dim 1 accessed with indices of dim 2" in str(caught.value)
    with pytest.raises(IndexError, match="Array with dim 1 accessed with indices of dim 2"):
        on_array(a)


def test_empty_slice(arch) -> None:
    @qd.kernel
    def run() -> qd.i32:
        v = qd.Vector([1, 2, 3])
        return v[1:1].n

    assert run() == 0


def test_numpy_views_agree(arch) -> None:
    """A random walk of slices of a matrix against NumPy."""
    rng = np.random.default_rng(5)
    data = rng.integers(-9, 9, (4, 5)).astype(np.int32)
    for _ in range(6):
        a, b = sorted(rng.integers(0, 5, 2).tolist())
        c, d = sorted(rng.integers(0, 6, 2).tolist())
        if a == b or c == d:
            continue
        step = int(rng.integers(1, 3))
        want = data[a:b:step, c:d]

        @qd.kernel
        def read() -> qd.types.matrix(*want.shape, qd.i32):
            m = qd.Matrix(data)  # noqa: B023 - the kernel runs inside this iteration
            return m[a:b:step, c:d]  # noqa: B023

        assert entries(read()) == want.tolist()
