"""matrix-math.md 14, 15, 19, 23: special values in vectors, random vectors, size limits, idioms of simulators."""

import math
import warnings

import numpy as np
import pytest

import quadrants as qd


@pytest.mark.parametrize("fast_math", [True, False], ids=["fast_math", "strict"])
def test_invalid_values_are_found(arch, fast_math: bool) -> None:
    """The expression that flags invalid contacts, per element and of a whole vector."""
    qd.init(arch=arch, fast_math=fast_math)

    @qd.kernel
    def invalid(x: qd.f32) -> qd.i32:
        return not (abs(x) < qd.math.inf)

    @qd.kernel
    def classify(v: qd.math.vec4) -> qd.types.vector(4, qd.i32):
        a = qd.math.isnan(v).cast(qd.i32)
        b = qd.math.isinf(v).cast(qd.i32)
        c = (not (abs(v) < qd.math.inf)).cast(qd.i32)
        return a + 10 * b + 100 * c

    assert [invalid(x) for x in (math.nan, math.inf, -math.inf, 1.0)] == [1, 1, 1, 0]
    assert classify([math.nan, math.inf, -math.inf, 1.0]).to_list() == [101, 110, 110, 0]


@pytest.mark.parametrize("fast_math", [True, False], ids=["fast_math", "strict"])
def test_bounding_boxes_start_from_infinity(arch, fast_math: bool) -> None:
    qd.init(arch=arch, fast_math=fast_math)
    points = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)

    @qd.kernel
    def bounds(p: qd.types.ndarray(dtype=qd.math.vec3, ndim=1)) -> qd.types.matrix(2, 3, qd.f32):
        lower, upper = qd.math.vec3(qd.math.inf), qd.math.vec3(-qd.math.inf)
        for _ in range(1):
            for i in range(p.shape[0]):
                lower = qd.min(lower, p[i])
                upper = qd.max(upper, p[i])
        return qd.Matrix.rows([lower, upper])

    assert (bounds(points).to_numpy() == [points.min(0), points.max(0)]).all()
    empty = bounds(np.zeros((0, 3), np.float32)).to_numpy()
    assert (empty == [[np.inf] * 3, [-np.inf] * 3]).all()


@pytest.mark.parametrize("fast_math", [True, False], ids=["fast_math", "strict"])
def test_comparisons_and_extrema_with_nan(arch, fast_math: bool) -> None:
    qd.init(arch=arch, fast_math=fast_math)

    @qd.kernel
    def run(n: qd.f32, z: qd.f32) -> qd.types.vector(6, qd.f32):
        return qd.Vector([n < 1.0, n > 1.0, qd.max(n, 2.0), qd.min(3.0, n), 1.0 / z, qd.log(z)])

    assert run(math.nan, 0.0).to_list() == [0, 0, 2, 3, math.inf, -math.inf]


def test_zero_vectors(arch) -> None:
    @qd.kernel
    def run(z: qd.f32) -> qd.types.vector(4, qd.f32):
        v = qd.math.vec3(z)
        n = v.normalized()
        return qd.Vector([v.norm(), v.norm_inv(), qd.math.isnan(n[0]), v.normalized(1e-6)[0]])

    assert run(0.0).to_list() == [0, math.inf, 1, 0]


def test_random_vectors(arch) -> None:
    """Two calls in one expression differ; every draw is in [0, 1)."""

    @qd.kernel
    def run(out: qd.types.ndarray(dtype=qd.math.vec3, ndim=1)):
        for i in out:
            out[i] = qd.Vector([qd.random(), qd.random(), qd.random() - qd.random()])

    out = np.zeros((2000, 3), np.float32)
    run(out)
    assert (out[:, :2] >= 0).all() and (out[:, :2] < 1).all()
    assert (out[:, 0] != out[:, 1]).any() and (out[:, 2] != 0).mean() > 0.99
    assert abs(out[:, :2].mean() - 0.5) < 0.03


def test_size_warnings(arch) -> None:
    """Above 144 entries in Python scope; never for types, fields and values of kernels."""
    with pytest.warns(UserWarning, match="Quadrants matrices/vectors with 12x13 > 144 entries are not suggested."):
        qd.Matrix([[0] * 13 for _ in range(12)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        qd.Vector([0] * 144)
        f = qd.types.matrix(12, 13, qd.f32).field(shape=1)

        @qd.kernel
        def run() -> qd.i32:
            v = qd.Vector([i for i in range(150)])
            f[0][11, 12] = v.sum()
            return v[149]

        assert run() == 149
    with pytest.warns(UserWarning, match="12x13 > 144"):
        f[0]  # noqa: B018 - reading the element makes the large matrix


def test_idioms_of_vectors(arch) -> None:
    eps = 1e-6

    @qd.func
    def first_row(m: qd.types.matrix(4, 3)):
        return m[0, :]

    @qd.kernel
    def run(i: qd.i32, v: qd.math.vec3) -> qd.types.vector(9, qd.f32):
        rot = qd.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
        x, y, z = v / 2.0
        row = qd.Matrix.rows([v])
        bits = (v == 0.0).cast(qd.i32)
        inside = (0 <= v).all() and (v < 4).all()
        seed = qd.u32(1)
        for _ in range(1):
            seed = (seed ^ qd.u32(61)) * qd.u32(2654435769)
        a, b = v[0] > 0, v[1] > 0
        return qd.Vector(
            [rot[:, i].dot(v), x + y + z, row[0, 2], (abs(v - v) < eps).all(), 2 ** bits.sum(), inside,
             (seed >> 16) % 1000, a ^ b ^ (i > 0), first_row(qd.Matrix.one(qd.f32, 4, 3)).sum()]
        )  # fmt: skip

    seed = (1 ^ 61) * 2654435769 % 2**32
    got = run(1, qd.Vector([1.0, 0.0, 3.0])).to_list()
    assert got == [2 + 24, 2, 3, 1, 2, 1, (seed >> 16) % 1000, 0, 3]


def test_idioms_of_fields(arch) -> None:
    f = qd.Vector.field(6, qd.f32, shape=(2, 2))
    s = qd.Matrix.field(3, 3, qd.f32, shape=2)

    @qd.kernel
    def run(k: qd.i32, a: qd.types.matrix(3, 3, qd.f32)):
        for b in range(2):
            f[k, b][0:3] = qd.Vector([1.0, 2.0, 3.0]) * (b + 1)
            f[k, b][3:6] = qd.Vector.zero(qd.f32, 3)
            u, sig, v = qd.svd(a)
            s[b] = sig
            s[b][0, 1] = sig.determinant()

    a = np.array([[1, 2, 0], [0, 3, 1], [2, 0, -1]], np.float32)
    run(1, a)
    assert f.to_numpy()[1].tolist() == [[1, 2, 3, 0, 0, 0], [2, 4, 6, 0, 0, 0]]
    assert abs(s[0][0, 1] - np.linalg.det(a)) < 1e-4
    f[0, 0][2] = 5
    assert f[0, 0][2] == 5


def test_exact_zero_of_parallel_vectors(arch) -> None:
    """Products that cancel exactly must not leave a contraction error: only exact zeros are promised."""

    @qd.kernel
    def run(u: qd.math.vec3, v: qd.math.vec3) -> qd.math.vec3:
        return u.cross(v)

    assert run([0.1, 0.0, 0.0], [0.3, 0.0, 0.0]).to_list() == [0, 0, 0]


@pytest.mark.runtime(exclude=("opencl", "vulkan"))  # whose drivers need not flush
def test_subnormals_are_flushed_in_launches_only(arch) -> None:
    """Results below the normal range become 0; NumPy in the calling thread keeps its own."""
    f = qd.field(qd.f32, 2)

    @qd.kernel
    def run(x: qd.f32):
        f[0] = x * 0.25
        f[1] = x

    run(2e-38)
    assert f.to_numpy().tolist() == [0, np.float32(2e-38)]
    assert np.float32(2e-38) * np.float32(0.25) != 0


@pytest.mark.parametrize("shape", [(3,), (2, 2)], ids=["vector", "matrix"])
def test_extrema_of_two_tensors_and_of_one_meet_in_a_kernel(arch, shape) -> None:
    """Both are functions of the same operand type: neither may take the other's name."""
    count = int(np.prod(shape))
    tensor = qd.types.vector(count, qd.f32) if len(shape) == 1 else qd.types.matrix(*shape, qd.f32)

    @qd.kernel
    def extrema(a: tensor, b: tensor) -> qd.types.vector(4, qd.f32):
        high, low = qd.max(a, b), qd.min(a, b)
        return qd.Vector([high.max(), low.min(), high.min(), low.max()])

    x = np.array([2.0, 3.0, 4.0, -1.0], np.float32)[:count]
    y = np.array([1.0, 5.0, -3.0, 0.5], np.float32)[:count]
    high, low = np.maximum(x, y), np.minimum(x, y)
    found = extrema(tensor(*x.tolist()), tensor(*y.tolist())).to_list()
    assert found == [high.max(), low.min(), high.min(), low.max()]
