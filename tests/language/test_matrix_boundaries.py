"""matrix-math.md 18: tensors as parameters, results, captured constants, elements of containers, printed."""

import numpy as np
import pytest
from matrix_kit import module_of

import quadrants as qd

vec3, ivec3 = qd.math.vec3, qd.math.ivec3


def entries(value) -> list:
    return value.to_numpy().tolist()


@pytest.mark.parametrize(
    "value",
    [qd.Vector([1.0, 2.0, 3.0]), [1, 2, 3], (1.0, 2, 3), np.array([1, 2, 3])],
    ids=["vector", "list", "tuple", "numpy"],
)
def test_vector_parameters(arch, value) -> None:
    @qd.kernel
    def twice(a: vec3) -> vec3:
        return a * 2

    got = twice(value)
    assert isinstance(got, qd.Vector) and got.to_numpy().dtype == np.float32
    assert entries(got) == [2, 4, 6]


@pytest.mark.parametrize(
    "value",
    [qd.Matrix([[1, 2], [3, 4]]), [[1, 2], [3, 4]], np.array([[1.0, 2], [3, 4]])],
    ids=["matrix", "list", "numpy"],
)
def test_matrix_parameters(arch, value) -> None:
    @qd.kernel
    def turned(a: qd.math.mat2) -> qd.math.mat2:
        return a.transpose()

    got = turned(value)
    assert isinstance(got, qd.Matrix) and entries(got) == [[1, 3], [2, 4]]


def test_parameters_that_do_not_fit(arch) -> None:
    @qd.kernel
    def take(a: ivec3) -> qd.i32:
        return a.sum()

    @qd.kernel
    def take_matrix(a: qd.types.matrix(2, 2, qd.f32)) -> qd.f32:
        return a.sum()

    assert take(qd.Vector([1, 2, 3])) == 6
    with pytest.raises(qd.QuadrantsRuntimeTypeError, match="cannot be converted into required type i32"):
        take(qd.Vector([1.5, 2.0, 3.0]))
    with pytest.raises(IndexError):
        take(qd.Vector([1, 2]))
    with pytest.raises(TypeError):
        take(3)
    assert take([1, 2, 4]) == 7
    # What is beyond the type is ignored.
    assert take(qd.Vector([1, 2, 3, 4])) == 6
    assert take_matrix(np.ones((2, 3), np.float32)) == 4


def test_parameter_without_dtype_is_an_error(arch) -> None:
    @qd.kernel
    def take(a: qd.types.vector(3)) -> qd.f32:
        return a[0]

    with pytest.raises(qd.QuadrantsCompilationError, match="dtype"):
        take(qd.Vector([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("name", ["u1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"])
def test_results_of_every_dtype(arch, name: str) -> None:
    """Exact, in the NumPy dtype of the annotation."""
    t = qd.types.vector(3, getattr(qd, name))
    kind = {"u1": np.bool_, "f16": np.float16, "f32": np.float32, "f64": np.float64}.get(name)
    dtype = np.dtype(kind or f"{'int' if name[0] == 'i' else 'uint'}{name[1:]}")
    top = True if name == "u1" else (dtype.type(0.5) if name[0] == "f" else np.iinfo(dtype).max)

    @qd.kernel
    def same(a: t) -> t:
        return a

    value = np.array([0, 1, top], dtype)
    got = same(value).to_numpy()
    assert got.dtype == dtype and (got == value).all()


def test_results_from_lists_tuples_and_many_elements(arch) -> None:
    big = qd.types.matrix(12, 12, qd.i32)

    @qd.kernel
    def nested(x: qd.i32) -> qd.types.matrix(2, 2, qd.f32):
        return [[x, 1], [2, 3]]

    @qd.kernel
    def several(x: qd.i32) -> tuple[qd.i32, vec3]:
        return x, vec3(x)

    @qd.kernel
    def many(x: qd.i32) -> big:
        m = qd.Matrix([[12 * i + j for j in range(12)] for i in range(12)])
        return m + x

    assert entries(nested(4)) == [[4, 1], [2, 3]]
    number, vector = several(5)
    assert number == 5 and entries(vector) == [5, 5, 5]
    assert (many(1).to_numpy().ravel() == np.arange(1, 145)).all()


RETURNS = [
    ("vec3", "vec2(1, 2)", r"Return matrix shape mismatch, expecting=\(3,\), got=\(2,\)."),
    ("vec3", "mat2(1)", r"Return matrix ndim mismatch, expecting=1, got=2."),
    ("ivec3", "vec3(1.5)", r"Return \(type=f32\) cannot be converted into required type i32"),
]


@pytest.mark.parametrize("annotation, text, message", RETURNS)
def test_return_errors(arch, annotation: str, text: str, message: str, tmp_path) -> None:
    run = module_of(f"@qd.kernel\ndef run() -> {annotation}:\n    return {text}\n", tmp_path).run
    with pytest.raises(qd.QuadrantsCompilationError, match=message):
        run()


def test_return_without_annotation(arch) -> None:
    @qd.kernel
    def run():
        return vec3(1)

    with pytest.raises(qd.QuadrantsSyntaxError, match="must be annotated with a return type"):
        run()


def test_funcs_take_tensors_by_value_and_templates_by_reference(arch) -> None:
    @qd.func
    def by_value(v):
        v[0] = 100
        return v.sum()

    @qd.func
    def by_reference(v: qd.template()):
        v[0] = 100

    @qd.kernel
    def run() -> qd.types.vector(3, qd.i32):
        a, b = qd.Vector([1, 2]), qd.Vector([1, 2])
        s = by_value(a)
        by_reference(b)
        return qd.Vector([a[0], b[0], s])

    assert entries(run()) == [1, 100, 102]


def test_annotated_func_parameters_keep_the_dtype(arch) -> None:
    """The shape is checked, the dtype is not converted, also where the type has none."""

    @qd.func
    def half(v: qd.math.vec2):
        return v[0] // 2

    @qd.func
    def corner(m: qd.types.matrix(4, 3)):
        return m[3, 2]

    @qd.kernel
    def run(i: qd.i32) -> qd.f32:
        m = qd.Matrix.zero(qd.f32, 4, 3)
        m[3, 2] = 0.5
        return half(qd.Vector([i, i])) + corner(m) + corner(qd.Matrix.one(qd.i32, 4, 3))

    assert run(7) == 4.5


WRONG = [
    ("qd.types.vector(2, qd.f32)", "1.0", "is expected to be a Matrix, but got"),
    ("qd.types.vector(2, qd.f32)", "mat2(1)", "is expected to be a Matrix with ndim 1, but got 2"),
    ("qd.types.vector(2, qd.f32)", "vec3(1)", "with n 2, but got 3."),
    ("qd.types.matrix(2, 4)", "mat2(1)", "with m 4, but got"),
]


@pytest.mark.parametrize("annotation, text, message", WRONG)
def test_func_parameter_errors(arch, annotation: str, text: str, message: str, tmp_path) -> None:
    source = f"@qd.func\ndef f(v: {annotation}):\n    return v\n\n@qd.kernel\ndef run():\n    y = f({text})\n"
    with pytest.raises(qd.QuadrantsSyntaxError, match=message):
        module_of(source, tmp_path).run()


def test_captured_values_are_constants(arch) -> None:
    """Arithmetic, run-time indices, methods, @ and whole results; NumPy's dtypes become the defaults."""
    v, m = qd.Vector([1.5, 2.5]), qd.Matrix([[1, 2], [3, 4]])

    @qd.kernel
    def run(i: qd.i32) -> qd.types.vector(5, qd.f32):
        return qd.Vector([v[i], m[i, 0] // 2, v.sum(), (m @ v)[1], (v * 2)[0]])

    @qd.kernel
    def whole() -> qd.types.vector(2, qd.f32):
        return v

    @qd.kernel
    def by_template(w: qd.template()) -> qd.f32:
        return w.dot(w)

    assert entries(run(1)) == [2.5, 1, 4, 14.5, 3]
    v[0] = 100
    assert entries(run(1))[2] == 4
    assert entries(whole()) == [100, 2.5]
    assert by_template(qd.Vector([3.0, 4.0])) == 25
    assert by_template(qd.Vector([1.0, 2.0])) == 5


CONTAINERS = [
    ("vector field", lambda: qd.Vector.field(3, qd.f32, shape=4)),
    ("field of a type", lambda: qd.field(vec3, 4)),
    ("vector ndarray", lambda: qd.Vector.ndarray(3, qd.f32, 4)),
    ("ndarray of a type", lambda: qd.ndarray(vec3, 4)),
    ("vector tensor", lambda: qd.Vector.tensor(3, qd.f32, (4,))),
]


@pytest.mark.parametrize("make", [row[1] for row in CONTAINERS], ids=[row[0] for row in CONTAINERS])
def test_elements_of_containers(arch, make) -> None:
    """Every kind of write in a kernel, live views from Python, and the kernel sees what Python wrote."""
    f = make()

    @qd.kernel
    def write(x: qd.Tensor):
        x[0] = vec3(1, 2, 3)
        x[1] = 4
        x[2] = [5, 6, 7]
        x[3] = x[0] + x[1]
        x[0].x = 9
        x[1].yz = [8, 7]
        x[2][0] += 0.5
        x[2][1:3] = qd.Vector([1.0, 2.0])
        x[3] += x[0]

    @qd.kernel
    def total(x: qd.Tensor) -> qd.f32:
        s = 0.0
        for _ in range(1):
            for k in qd.static(range(4)):
                s += x[k].sum()
        return s

    write(f)
    assert f.to_numpy().tolist() == [[9, 2, 3], [4, 8, 7], [5.5, 1, 2], [14, 8, 10]]
    element = f[0]
    f[0][1] = 20
    assert element[1] == 20
    f[1].xy = [1, 2]
    f[2] = [0, 0, 1]
    assert f.to_numpy().tolist() == [[9, 20, 3], [1, 2, 7], [0, 0, 1], [14, 8, 10]]
    assert total(f) == 32 + 10 + 1 + 32
    with pytest.raises(TypeError):
        f[0] = 3
    f.fill(2)
    assert (f.to_numpy() == 2).all()


def test_matrix_elements(arch) -> None:
    f = qd.Matrix.field(2, 3, qd.i32, shape=(2, 2))

    @qd.kernel
    def write():
        for i, j in f:
            for r, c in qd.static(qd.ndrange(2, 3)):
                f[i, j][r, c] = 100 * i + 10 * j + 3 * r + c

    write()
    assert (f.n, f.m, f.shape, f.to_numpy().shape) == (2, 3, (2, 2), (2, 2, 2, 3))
    assert f[1, 1].to_list() == [[110, 111, 112], [113, 114, 115]]
    f[0, 1][1, 2] = -1
    assert f.to_numpy()[0, 1].tolist() == [[10, 11, 12], [13, 14, -1]]


def test_external_arrays_of_vectors(arch) -> None:
    data = np.arange(6, dtype=np.float32).reshape(2, 3)

    @qd.kernel
    def twice(x: qd.types.ndarray(dtype=vec3, ndim=1)):
        for i in x:
            x[i] *= 2

    twice(data)
    assert data.tolist() == [[0, 2, 4], [6, 8, 10]]
    with pytest.raises(
        ValueError, match=r"required element_shape=\(3,\), array with element shape of \(2,\) is provided"
    ):
        twice(np.zeros((2, 2), np.float32))
    with pytest.raises(ValueError, match="required element type"):
        twice(qd.Vector.ndarray(2, qd.f32, 2))


def test_print(arch, capfd) -> None:
    """Elements as %f, %.12f or decimal; a format specification counts per element."""

    @qd.kernel
    def show(x: qd.f32):
        v = qd.Vector([1.0, x])
        print(v)
        print(qd.Matrix([[1, 2], [3, 4]]))
        print(qd.Vector([1.0, 2.0], qd.f64), v > 1)
        print("{:.2f}".format(v), f"{v.x:.1f} {v}")
        print(qd.math.vec4(qd.Vector([1.0, 2]), 3, 4))

    show(2.0)
    qd.sync()
    assert capfd.readouterr().out.splitlines()[-5:] == [
        "[1.000000, 2.000000]",
        "[[1, 2], [3, 4]]",
        "[1.000000000000, 2.000000000000] [0, 1]",
        "[1.00, 2.00] 1.0 [1.000000, 2.000000]",
        "[1.000000, 2.000000, 3.000000, 4.000000]",
    ]
