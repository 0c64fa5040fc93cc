"""matrix-math.md 20 and the error sentences of 3, 5, 6, 7, 9: class and text of what users match on."""

import pytest
from matrix_kit import module_of

import quadrants as qd
from quadrants.lang.exception import QuadrantsIndexError

SYNTAX, TYPE, INDEX = qd.QuadrantsSyntaxError, qd.QuadrantsTypeError, QuadrantsIndexError
COMPILE = qd.QuadrantsCompilationError


KERNEL = """@qd.kernel
def run(x: qd.f32, i: qd.i32):
    for _ in range(1):
        v = qd.Vector([1, 2, 3, i])
        m = qd.Matrix([[1, 2], [3, i]])
        y = {}
"""

# Expressions of a real run-time x, an integer run-time i, a vector v of 4 ints, and a 2x2 matrix m of ints.
EXPRESSIONS = [
    ("index count of a matrix", "m[0]", INDEX, "Expected 2 indices, got 1"),
    ("index twice", "m[0][1]", INDEX, "Expected 2 indices, got 1"),
    ("index count of a vector", "v[0, 0]", INDEX, "Expected 1 indices, got 2"),
    ("real index", "v[x]", TYPE, "indices must be integers, however 'f32' is provided as index 0"),
    ("negative index", "v[-1]", SYNTAX, "Negative indices are not supported in Quadrants kernels."),
    ("negative bound", "v[-2:]", SYNTAX, "Negative indices are not supported"),
    ("index past the end", "v[4]", INDEX, "out of range"),
    ("slice past the end", "v[0:5]", INDEX, "out of range"),
    ("run-time bound", "v[0:i]", COMPILE, "Quadrants does not support variables in slice now"),
    ("swizzle letter", "v.xy.z", SYNTAX, r"vec2 only has attributes=\('x', 'y'\), got=\('z',\)"),
    ("letters of two sets", "v.xg", COMPILE, "xg"),
    ("five letters", "v.xyzwx", COMPILE, "xyzwx"),
    ("letter of a matrix", "m.x", INDEX, "Expected 2 indices, got 1"),
    ("word of a matrix", "m.xy", INDEX, "Expected 2 indices, got 1"),
    ("swizzle of a scalar", "x.x", COMPILE, "Getting shape of non-tensor type: f32"),
    ("columns of a vector", "v.m", COMPILE, "Getting m of tensor type < 2D"),
    ("membership", "1 in v", SYNTAX, "in"),
    ("identity", "v is None", SYNTAX, "is"),
    ("vector + matrix", "v + m", TYPE,
     r"unsupported operand type\(s\) for '\+': '\[Tensor \(4\) i32\]' and '\[Tensor \(2, 2\) i32\]'; .*same shape"),
    ("floor division prints /", "v // m", TYPE, r"unsupported operand type\(s\) for '/'"),
    ("bits of a real", "x & i", TYPE, r"unsupported operand type\(s\) for '&'"),
    ("shift of a real", "v << x", TYPE, r"unsupported operand type\(s\) for '<<'"),
    ("and of a real", "x and i", TYPE, r"unsupported operand type\(s\) for '&&'"),
    ("or of a real", "i or x", TYPE, r"unsupported operand type\(s\) for '\|\|'"),
    ("not of a real", "not x", TYPE, "'logic_not' takes integral inputs only"),
    ("comparison", "v < v.xy", TYPE, r"unsupported operand type\(s\) for '<'"),
    ("max of two shapes", "qd.max(v, m)", TYPE, r"unsupported operand type\(s\) for 'max'"),
    ("atan2 of two shapes", "qd.atan2(v * x, m * x)", TYPE, r"for 'atan2'"),
    ("numpy operand", "x + ARRAY", TYPE, "Only 0-dimensional numpy array can be used"),
    ("select shapes", "qd.select(v > 1, v, v.xyz)", COMPILE, "Cannot broadcast tensor to tensor"),
    ("select of a real condition", "qd.select(x, v, v)", TYPE, ""),
    ("vector condition", "1 if v else 2", SYNTAX, "qd.select"),
    ("floor of ints", "qd.floor(i)", TYPE, "'floor' takes real inputs only"),
    ("sin of ints", "qd.sin(v)", TYPE, "'sin' takes real inputs only"),
    ("rsqrt of ints", "qd.rsqrt(i)", TYPE, "rsqrt"),
    ("popcnt of a real", "qd.math.popcnt(x)", TYPE, "'popcnt' takes integral inputs only, however 'f32'"),
    ("clz of a real", "qd.math.clz(x)", TYPE, "takes integral inputs only"),
    ("ffs of a real", "qd.math.ffs(v * x)", TYPE, "takes integral inputs only"),
    ("literal range", "qd.Vector([3000000000], qd.i64)", TYPE, "exceeded the range of default_ip"),
    ("scalar literal range", "i + 3000000000", TYPE, "exceeded the range of default_ip"),
    ("transpose of a vector", "v.transpose()", COMPILE, "cannot apply to a vector"),
    ("trace of 3x2", "qd.Matrix([[1, 2]] * 3).trace()", COMPILE,
     r"expected a square matrix, got shape \(3, 2\)"),
    ("determinant of 2x3", "qd.Matrix([[1, 2, 3]] * 2).determinant()", COMPILE,
     r"expected a square matrix, got shape \(2, 3\)"),
    ("determinant of 5x5", "qd.Matrix.identity(qd.i32, 5).determinant()", COMPILE,
     r"only dimension < 5 is supported, got shape \(5, 5\)"),
    ("inverse of 13x13", "qd.Matrix.identity(qd.i32, 13).inverse()", COMPILE, "only dimension < 13 is supported"),
    ("normalized matrix", "m.normalized()", COMPILE, "expected a vector"),
    ("dot of a matrix", "m.dot(v)", COMPILE, "lhs for dot is not a vector"),
    ("dot with a matrix", "v.dot(m)", COMPILE, "rhs for dot is not a vector"),
    ("dot of two lengths", "v.dot(v.xy)", TYPE, r"unsupported operand type\(s\) for '\*'"),
    ("cross of length 4", "v.cross(v)", COMPILE, r"only dimension < 4 is supported, got shape \(4,\)"),
    ("cross of two lengths", "v.xyz.cross(v.xy)", COMPILE, "required shapes to be the same"),
    ("product shapes", "m @ v", COMPILE,
     r"dimension mismatch between \(2, 2\) and \(4,\) for matrix multiplication"),
    ("product with a scalar", "m @ x", COMPILE, ""),
    ("method of a scalar", "x.norm()", COMPILE, "not tensor type"),
    ("unknown method", "v.nrom()", COMPILE, "nrom"),
    ("builtin sum", "sum(v)", COMPILE, r"\.sum\(\)"),
    ("no shape attribute", "v.shape", COMPILE, "shape"),
    ("no to_numpy", "v.to_numpy()", COMPILE, "to_numpy"),
    ("ragged rows", "qd.Matrix([[1, 2], [3]])", COMPILE, ""),
    ("matrix of vectors", "qd.Matrix([v, v])", COMPILE, "rows"),
    ("vector in a vector", "qd.Vector([v, 3.0])", COMPILE, ""),
    ("star of a number", "qd.Vector([*i, 3.0])", TYPE, "A value of type i32 is not iterable"),
    ("vector of a scalar", "qd.Vector(3)", COMPILE, ""),
    ("vector of a vector", "qd.Vector(v)", COMPILE, ""),
    ("text in a vector", 'qd.Vector(["a"])', TYPE, "Element type of the matrix is invalid."),
    ("no value", "qd.math.vec3()", SYNTAX, "need to be created with an initial value"),
    ("too few", "qd.math.vec3(1.0, 2.0)", COMPILE, ""),
    ("too many", "qd.math.vec3(1.0, 2.0, 3.0, 4.0)", COMPILE, ""),
    ("another shape", "qd.math.vec3(v)", COMPILE, ""),
    ("unit outside", "qd.Vector.unit(3, 3)", COMPILE, ""),
    ("rows of two lengths", "qd.Matrix.rows([v, v.xy])", COMPILE,
     r"required shapes to be the same, got shapes \["),
    ("i32 of a real literal", "qd.i32(1.5)", TYPE,
     r"Floating-point literals must be annotated with a floating-point type.*use `qd\.cast\(1\.5, qd\.i32\)`"),
    ("f32 of an int literal", "qd.f32(1)", TYPE,
     r"Integer literals must be annotated with a integer type.*use `qd\.cast\(1, qd\.f32\)`"),
    ("u8 of 300", "qd.u8(300)", TYPE, "exceeded the range of specified dtype"),
    ("i32 of a vector", "qd.i32(v)", SYNTAX,
     "A primitive type cannot decorate an expression with a compound type."),
    ("bit_cast to another width", "qd.bit_cast(x, qd.i64)", TYPE, "same size.*qd.cast to a type of 64 bits first"),
    ("negative power", "i ** -1", RuntimeError, r"Negative exponent in pow\(int, int\) is not allowed. Write qd.cast"),
    ("random of 8 bits", "qd.random(qd.u8)", TYPE, ""),
    ("math.sin", "math.sin(x)", COMPILE, "qd.sin"),
    ("np.sin", "np.sin(x)", COMPILE, "qd.sin"),
    ("wrong call of a function", "qd.sin(x, x)", TYPE, "TypeError when calling `sin`"),
    ("wrong call of a method", "v.dot()", TYPE, "TypeError when calling `dot`"),
]  # fmt: skip


@pytest.mark.parametrize("text, kind, message", [row[1:] for row in EXPRESSIONS], ids=[row[0] for row in EXPRESSIONS])
def test_expressions(arch, text: str, kind, message: str, tmp_path) -> None:
    """The class, or a subclass, and the sentence, with the line of the user."""
    run = module_of(KERNEL.format(text), tmp_path).run
    with pytest.raises(kind, match=message) as caught:
        run(1.5, 2)
    assert text in str(caught.value) or kind is RuntimeError


def assign_shape():
    a = qd.Vector([1, 2, 3, 4])
    a = qd.Vector([1, 2, 3])  # noqa: F841 - the assignment is what fails


def assign_slice():
    a = qd.Vector([1, 2, 3, 4])
    a[0:2] = qd.Vector([1, 2, 3])


def assign_vector_to_element():
    a = qd.Vector([1, 2])
    a[0] = qd.Vector([1, 2])


def product_in_place():
    a = qd.Matrix([[1, 2], [3, 4]])
    a @= a


def condition_of_if():
    a = qd.Vector([1, 2])
    if a:
        a = qd.Vector([2, 3])


def condition_of_while():
    a = qd.Vector([1, 2])
    while a:
        a = qd.Vector([2, 3])


def condition_of_assert():
    a = qd.Vector([1, 2])
    assert a


def unpack_count():
    a = qd.Vector([1, 2])
    x, y, z = a


def unpack_matrix():
    a = qd.Matrix([[1, 2], [3, 4]])
    x, y = a


def unpack_scalar():
    a = 1
    x, y = a


def loop_over_vector():
    a = qd.Vector([1, 2])
    for x in a:
        a[0] = x


def swizzle_length():
    a = qd.Vector([1, 2, 3])
    a.xy = qd.Vector([1, 2, 3])


def atomic_shapes():
    a = qd.Vector([1, 2, 3])
    qd.atomic_add(a, qd.Vector([1, 2]))


def atomic_on_a_scalar():
    a = 1
    qd.atomic_add(a, qd.Vector([1, 2]))


def compare_and_swap():
    a = qd.Vector([1, 2])
    qd.atomic_cas(a, qd.Vector([1, 2]), qd.Vector([3, 4]))


def type_in_a_kernel():
    t = qd.types.vector(3, qd.f32)
    a = t(1.0)  # noqa: F841 - binding the type above is what fails


STATEMENTS = [
    (assign_shape, TYPE, r"cannot assign '\[Tensor \(3\) i32\]' to '\[Tensor \(4\) i32\]'"),
    (assign_slice, TYPE, "cannot assign"),
    (assign_vector_to_element, TYPE, "take one element of it"),
    (product_in_place, COMPILE, "@"),
    (condition_of_if, TYPE, "`if` conditions must be an integer; found"),
    (condition_of_while, TYPE, "`while` conditions must be an integer; found"),
    (condition_of_assert, TYPE, "conditions must be an integer; found"),
    (unpack_count, SYNTAX, "The number of targets is not equal to value length"),
    (unpack_matrix, COMPILE, "Matrices with more than one columns cannot be unpacked"),
    (unpack_scalar, SYNTAX, "Cannot unpack type"),
    (loop_over_vector, COMPILE, ""),
    (swizzle_length, TYPE, "cannot assign"),
    (atomic_shapes, TYPE, "atomic_add"),
    (atomic_on_a_scalar, TYPE, r"unsupported operand type\(s\) for 'atomic_add'"),
    (compare_and_swap, TYPE, ""),
    (type_in_a_kernel, COMPILE, ""),
]


@pytest.mark.parametrize("func, kind, message", STATEMENTS, ids=[row[0].__name__ for row in STATEMENTS])
def test_statements(arch, func, kind, message: str) -> None:
    with pytest.raises(kind, match=message):
        qd.kernel(func)()


@pytest.mark.parametrize("form", ["a = 1", "a += 1", "a[0] = 1", "a.x = 1", "a.xy += 1", "a.fill(2)"])
def test_parameters_are_immutable(arch, form: str, tmp_path) -> None:
    """Writes of a vector parameter would be lost, so all of them are refused."""
    module = module_of(f"@qd.kernel\ndef run(a: qd.math.vec3):\n    {form}\n", tmp_path)
    with pytest.raises(SYNTAX, match='Kernel argument "a" is immutable in the kernel.'):
        module.run(qd.Vector([1.0, 2.0, 3.0]))


def test_errors_of_python_scope(arch) -> None:
    with pytest.raises(AssertionError, match="zero cannot be called in Python-scope"):
        qd.Matrix.zero(qd.f32, 2)
    with pytest.raises(TYPE, match="can only be initialized with an array-like object"):
        qd.Vector(3)
    v = qd.Vector([1, 2, 3])
    with pytest.raises(qd.QuadrantsRuntimeError, match="value len does not match the swizzle pattern=xy"):
        v.xy = [1, 2, 3]
    with pytest.raises(SYNTAX, match=r"vec3 only has attributes=\('x', 'y', 'z'\), got=\('w',\)"):
        v.w  # noqa: B018 - the attribute is what raises
    with pytest.raises(qd.QuadrantsRuntimeError, match="needs_grad=True"):
        qd.Vector.ndarray(2, qd.i32, 3, needs_grad=True)


@pytest.mark.cpu_only
def test_classes() -> None:
    """The bases that users catch."""
    for kind, bases in (
        (SYNTAX, (COMPILE, SyntaxError)), (TYPE, (COMPILE, TypeError)), (INDEX, (COMPILE, IndexError)),
        (qd.QuadrantsRuntimeError, (RuntimeError,)),
        (qd.QuadrantsAssertionError, (qd.QuadrantsRuntimeError, AssertionError)),
        (qd.QuadrantsRuntimeTypeError, (qd.QuadrantsRuntimeError, TypeError)),
    ):  # fmt: skip
        assert issubclass(kind, bases[0]) and all(issubclass(kind, base) for base in bases)
