"""matrix-math.md 1, 2, 3: values, type objects and constructors of vectors and matrices in kernels."""

import numpy as np
import pytest
from matrix_kit import module_of

import quadrants as qd

vec2, vec3, vec4, ivec3, mat2 = qd.math.vec2, qd.math.vec3, qd.math.vec4, qd.math.ivec3, qd.math.mat2


def entries(value) -> list:
    return value.to_numpy().tolist()


def test_assignment_copies(arch) -> None:
    """`b = a` copies, loads from memory copy, and shapes of rank 1 and 2 stay apart."""
    f = qd.Vector.field(2, qd.i32, shape=1)

    @qd.kernel
    def copies() -> qd.types.vector(6, qd.i32):
        a = qd.Vector([1, 2])
        b = a
        b[0] = 9
        f[0] = a
        w = f[0]
        w[1] = 7
        f[0][0] = 5
        return qd.Vector([a[0], a[1], b[0], w[0], w[1], f[0][1]])

    assert entries(copies()) == [1, 2, 9, 1, 7, 2]
    assert f[0].to_list() == [5, 2]


def test_first_assignment_fixes_dtype_and_shape(arch) -> None:
    """Later assignments convert elementwise and broadcast scalars; another shape is an error."""

    @qd.kernel
    def keeps() -> qd.types.vector(3, qd.i32):
        a = qd.Vector([1, 2, 3])
        a = qd.Vector([1.9, -2.9, 3.5])
        a[1] = a[1] * 2.25
        return a

    @qd.kernel
    def broadcast() -> qd.types.matrix(2, 2, qd.i32):
        a = qd.Matrix([[1, 2], [3, 4]])
        a = 2.5
        return a

    assert entries(keeps()) == [1, -4, 3]
    assert entries(broadcast()) == [[2, 2], [2, 2]]


@pytest.mark.parametrize("default_fp", ["f32", "f64"])
def test_types_of_qd_math_follow_init(arch, default_fp: str) -> None:
    """The objects keep their identity, their dtype is that of the current qd.init."""
    before = qd.math.vec3
    qd.init(arch=arch, default_fp=getattr(qd, default_fp), default_ip=qd.i64)
    assert qd.math.vec3 is before
    assert qd.math.vec3.dtype == getattr(qd, default_fp)
    assert (qd.math.ivec2.dtype, qd.math.uvec4.dtype, qd.math.mat3.dtype) == (qd.i64, qd.u64, getattr(qd, default_fp))
    assert qd.math.mat3.to_string() == f"MatrixType[3,3, {default_fp}]"

    @qd.kernel
    def third(x: qd.math.vec3) -> qd.math.vec3:
        return x / 3

    got = third(qd.Vector([1.0, 2.0, 3.0])).to_numpy()
    assert got.dtype == np.dtype({"f32": "float32", "f64": "float64"}[default_fp])
    assert got[0] == got.dtype.type(1) / got.dtype.type(3)


@pytest.mark.cpu_only
def test_type_attributes() -> None:
    """n, m, ndim, get_shape, to_string; equal types are different objects."""
    v, m = qd.types.vector(3, qd.f32), qd.types.matrix(2, 3, qd.i32)
    assert (v.n, v.m, v.ndim, v.get_shape(), v.to_string()) == (3, 1, 1, (3,), "VectorType[3, f32]")
    assert (m.n, m.m, m.ndim, m.get_shape(), m.to_string()) == (2, 3, 2, (2, 3), "MatrixType[2,3, i32]")
    assert v != qd.types.vector(3, qd.f32)
    with pytest.raises(ValueError, match="Invalid data type"):
        qd.types.vector(3, "f32")


def test_containers_of_types(arch) -> None:
    """T.field and T.ndarray, also of matrices; qd.field(T) and qd.ndarray(T)."""
    m = qd.types.matrix(2, 3, qd.f32)
    for container in (m.field(shape=4), m.ndarray(4), qd.field(m, 4), qd.ndarray(m, 4)):
        assert container.to_numpy().shape == (4, 2, 3)
    v = qd.types.vector(3, qd.i32)
    for container in (v.field(shape=4), v.ndarray(4), qd.field(v, 4), qd.ndarray(v, 4)):
        assert container.to_numpy().shape == (4, 3)


CONSTRUCTED = [
    ("scalar broadcast", "vec3(a)", [0.5, 0.5, 0.5]),
    ("list is the argument list", "vec3([a, 1, 2])", [0.5, 1, 2]),
    ("numpy is raveled", "vec4(np.array([[1, 2], [3, 4]]))", [1, 2, 3, 4]),
    ("mix", "vec4(vec2(a, 1), 3, a)", [0.5, 1, 3, 0.5]),
    ("swizzle", "vec4(vec3(1, 2, 3).xyz, 1.0)", [1, 2, 3, 1]),
    ("truncates", "ivec3(1.9, -2.9, 3)", [1, -2, 3]),
    ("rows", "mat2([1, 2], [3, a])", [[1, 2], [3, 0.5]]),
    ("two vectors", "mat2(vec2(1, 2), vec2(3, a))", [[1, 2], [3, 0.5]]),
    ("four scalars", "mat2(1, 2, 3, a)", [[1, 2], [3, 0.5]]),
    ("one scalar", "mat2(5)", [[5, 5], [5, 5]]),
    ("infinity", "vec3(qd.math.inf)", [np.inf] * 3),
    ("promotion", "qd.Vector([1, 2.5, 3])", [1, 2.5, 3]),
    ("dt truncates", "qd.Vector([1.7, -2.7], qd.i32)", [1, -2]),
    ("dt int", "qd.Vector([1.7, a], int)", [1, 0]),
    ("bools are ints", "qd.Vector([True, True, False]) * 2", [2, 2, 0]),
    ("rank follows nesting", "qd.Vector([[1, 2], [3, 4]])", [[1, 2], [3, 4]]),
    ("matrix of rank 1", "qd.Matrix([1, 2])", [1, 2]),
    ("zero", "qd.Matrix.zero(qd.f32, 2, 3)", [[0] * 3] * 2),
    ("one", "qd.Vector.one(qd.i32, 3)", [1, 1, 1]),
    ("identity", "qd.Matrix.identity(qd.f32, 2) * a", [[0.5, 0], [0, 0.5]]),
    ("unit", "qd.Vector.unit(3, 1)", [0, 1, 0]),
    ("unit at run time", "qd.Vector.unit(3, qd.cast(a * 4, qd.i32), qd.f32)", [0, 0, 1]),
    ("diag", "qd.Matrix.diag(2, a)", [[0.5, 0], [0, 0.5]]),
    ("rows of vectors", "qd.Matrix.rows([qd.Vector([1, 2]), [3.5, 4]])", [[1, 2], [3.5, 4]]),
    ("one row", "qd.Matrix.rows([qd.Vector([1, a])])", [[1, 0.5]]),
    ("cols", "qd.Matrix.cols([qd.Vector([1, 2]), qd.Vector([3.5, 4])])", [[1, 3.5], [2, 4]]),
    ("one of", "qd.one(vec2(a)) + qd.zero(a)", [1, 1]),
]


@pytest.mark.parametrize("text, want", [row[1:] for row in CONSTRUCTED], ids=[row[0] for row in CONSTRUCTED])
def test_constructors(arch, text: str, want, tmp_path) -> None:
    """Every form of construction, with a run-time a = 0.5 among the operands."""
    shape = np.array(want).shape
    t = qd.types.vector(shape[0], qd.f32) if len(shape) == 1 else qd.types.matrix(*shape, qd.f32)
    run = module_of(f"@qd.kernel\ndef run(a: qd.f32) -> T:\n    return {text}\n", tmp_path, T=t).run
    assert entries(run(0.5)) == np.array(want, np.float32).tolist()


def test_typed_constructor_keeps_a_value_of_its_shape(arch) -> None:
    """`vec3(ivec)` returns the vector as it is: the quotient below is that of integers."""

    @qd.kernel
    def kept(x: ivec3) -> qd.f32:
        return (vec3(x) // 2)[0] + (vec3(x)[1] >> 1)

    assert kept(qd.Vector([7, 9, 0])) == 7


@pytest.mark.cpu_only
def test_python_scope_types() -> None:
    """The same call syntax outside kernels: broadcast, flatten, convert."""
    assert vec3(2).to_list() == [2, 2, 2]
    assert vec4(vec2(1, 2), [3], 4).to_list() == [1, 2, 3, 4]
    assert ivec3(1.9, -2.9, 3).to_list() == [1, -2, 3]
    assert mat2([1, 2], [3, 4]).to_list() == [[1, 2], [3, 4]]
    with pytest.raises(IndexError):
        vec3(1, 2)
    assert qd.types.vector(1, qd.u8)(300).to_list() == [44]


def test_empty_vector_indexes_a_field_without_axes(arch) -> None:
    f = qd.field(qd.i32, shape=())

    @qd.kernel
    def write():
        f[qd.Vector([])] = 4

    write()
    assert f[None] == 4
