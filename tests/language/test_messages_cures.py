"""Programs of a first hour that are wrong: each is told its line, and what to write instead."""

from __future__ import annotations

import linecache
import re
import textwrap
import warnings

import pytest

import quadrants as qd
from quadrants.errors import QuadrantsCompilationError

pytestmark = pytest.mark.cpu_only

PRELUDE = """
import dataclasses
import math
import numpy as np
import quadrants as qd
f = qd.field(qd.f32, shape=8)
grid = qd.field(qd.f32, shape=(4, 4))
one = qd.field(qd.f32, shape=())
vectors = qd.Vector.field(3, qd.f32, shape=4)
captured = np.zeros(4, np.float32)
many = np.zeros((4, 4), np.float32)
LARGE = 10**400
WIDE = 3000000000
names = [1, 2, 3]
items = qd.field(qd.i32)
qd.root.dynamic(qd.i, 8).place(items)
@dataclasses.dataclass
class Plain:
    a: qd.f32
@qd.func
def nothing(a):
    b = a + 1
@qd.func
def factorial(k: qd.i32) -> qd.i32:
    r = 1
    if k > 1:
        r = k * factorial(k - 1)
    return r
@qd.kernel
def inner():
    pass
"""
HEADER = "@qd.kernel\ndef run(n: qd.i32, a: qd.f32, x: qd.types.NDArray[qd.f32, 1]){}:\n"


@pytest.fixture(scope="module")
def names():
    qd.init(arch=qd.cpu, offline_cache=False)
    yield load("<prelude of cures>", PRELUDE, {})
    qd.reset()


def load(name: str, text: str, names: dict) -> dict:
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec", dont_inherit=True), names)  # noqa: S102
    return names


def told(names: dict, body: str, line: int, returned: str = "") -> str:
    """The message of the error of a kernel with that body, in which line `line` is the one that it names last."""
    text = HEADER.format(returned) + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"
    name = f"<cure of {body!r}>"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = load(name, text, dict(names))["run"]
        with pytest.raises(QuadrantsCompilationError) as caught:
            run.source(1, 1.0, qd.ndarray(qd.f32, 4))
    message = str(caught.value)
    assert re.findall(rf'File "{re.escape(name)}", line (\d+)', message)[-1] == str(line + 2), message
    assert "^" in message
    return message


CURES = {
    # what is known while compiling
    "list of a run-time range": (
        "y = [i for i in range(n)]", 1,
        "`range(n)` makes its items while the kernel is compiled, and `n` is a run-time value: annotate `n` with "
        "qd.template(), or write a loop, `for i in range(n):`.",
    ),
    "static range": (
        "for i in qd.static(range(n + 1)):\n    f[i] = 1", 1,
        "qd.static needs values that are known while the kernel is compiled, and `n + 1` is a run-time value: annotate "
        "`n` with qd.template(), or write the loop without qd.static.",
    ),
    "static range of a shape": (
        "for i in qd.static(range(x.shape[0])):\n    f[i] = 1", 1,
        "`x.shape[0]` is a run-time value: pass the value as an argument annotated with qd.template()",
    ),
    "static range of a variable": (
        "m = n + 1\nfor i in qd.static(range(m)):\n    f[i] = 1", 2,
        "`m` is a run-time value: pass the value as an argument annotated with qd.template()",
    ),
    "static value": ("if qd.static(n > 1):\n    f[0] = 1", 1, "To know it before, annotate `n` with qd.template()."),
    "static membership": (
        "if qd.static(n in (1, 2, 3)):\n    f[0] = 1", 1,
        "`n in (1, 2, 3)` inside of qd.static has a run-time value: annotate `n` with qd.template(), or write "
        "`n == 1 or n == 2 or n == 3` without qd.static.",
    ),
    "name of a text": ("y = 'fast'", 1, "A text has no name in kernels: write it where it is used"),
    "slice of a list": ("y = [1, 2, n]\ny[1:3] = [n, n]", 2, "slices of lists cannot be assigned, items can."),
    "no membership": (
        "if n not in [1, 2]:\n    f[0] = 1", 1, "Write `n != 1 and n != 2`; or, where all values are known",
    ),
    "membership of many": ("if n in names:\n    f[0] = 1", 1, "Write a loop that compares `n == item`"),
    "membership of what is computed": (
        "if qd.atomic_add(f[0], 1) in (1, 2):\n    f[1] = 1", 1,
        "Write `x = qd.atomic_add(f[0], 1)` and `x == 1 or x == 2`",
    ),
    # conditions
    "if of a real": ("if a:\n    f[0] = 1", 1, "`if` conditions must be an integer; found f32. Write `a != 0`."),
    "if of a sum": ("if a + 1:\n    f[0] = 1", 1, "Write `(a + 1) != 0`."),
    "while of a real": ("f[0] = 1\nwhile a:\n    pass", 2, "found f32. Write `a != 0`."),
    "assert of a real": ("assert a", 1, "Write `a != 0`."),
    "if of a vector": (
        "if vectors[0] > 1:\n    f[0] = 1", 1, "Write `(vectors[0] > 1).any()` or `(vectors[0] > 1).all()`.",
    ),
    "and of a real": ("y = n > 1 and a", 1, "Compare what is no integer, as in `x != 0`."),
    "not of a real": ("y = not a", 1, "Compare what is no integer, as in `x != 0`."),
    "caret for a power": ("y = a ^ 2", 1, "powers are written `a ** b`"),
    # loops
    "too many targets": (
        "for i, j in f:\n    f[i] = 1", 1, "`f` has one index: write `for i in f`, or `for I in qd.grouped(f)`.",
    ),
    "too few targets": ("for i in grid:\n    f[i] = 1", 1, "`grid` has 2 indices: write `for i, j in grid`"),
    "targets of an array": ("for i, j in x:\n    f[i] = 1", 1, "`x` has one index: write `for i in x`"),
    "for else": ("for i in range(3):\n    f[i] = 1\nelse:\n    f[0] = 2", 1, "write its statements behind the loop"),
    "while else": ("while n > 3:\n    break\nelse:\n    f[0] = 2", 1, "set a variable before each `break`"),
    "loop over a number": ("for i in n:\n    f[i] = 1", 1, "loop over `range(n)`."),
    "loop over a constant": ("for i in 10:\n    f[i] = 1", 1, "Write `range(10)`."),
    "assigned static variable": (
        "for i in qd.static(range(3)):\n    f[i] = 1\n    i = 5", 3,
        'Variable "i" cannot be assigned: qd.static bound it to what is known while the kernel is compiled. Give the '
        "new value another name.",
    ),
    "augmented static variable": ("for i in qd.static(range(3)):\n    i += 5", 2, "Give the new value another name."),
    "augmented loop variable": ("for i in range(3):\n    i += 5", 2, "copy it to another name first"),
    "assigned list": (
        "l = [n, 1]\nl = [2, n]", 2, "it is a list, which is made while the kernel is compiled. Assign its items",
    ),
    # calls
    "kernel in a kernel": ("inner()", 1, "Decorate `inner` with @qd.func to call it from kernels"),
    "func that returns nothing": (
        "f[0] = 1\ny = nothing(1)", 2, "`nothing` returns nothing, so there is no value to use",
    ),
    "sum with nothing": (
        "y = 1 + nothing(1)", 1, "end it with `return ...`, or call it on a line by itself, `nothing(1)`.",
    ),
    "store of nothing": ("f[0] = nothing(1)", 1, "`nothing` returns nothing"),
    "sine of nothing": ("y = qd.sin(nothing(1))", 1, "a function without `return` gives it"),
    "divmod": ("q, r = divmod(n, 2)", 1, "`divmod` takes no run-time values: write `(n) // (2), (n) % (2)`."),
    "percent format": ("print('%d' % n)", 1, "'%' formatting is not supported in kernels; use an f-string in print"),
    "dataclass of Python": (
        "p = Plain(a)", 1, "decorate the class Plain with @qd.dataclass, or write qd.types.struct(...).",
    ),
    "math of zeros": ("y = np.zeros(n)", 1, "write `qd.Vector([...])` for a few numbers, or make a field"),
    "math.sqrt": ("y = math.sqrt(a)", 1, "`math.sqrt` cannot take a run-time value; use `qd.sqrt`."),
    "np.power": ("y = np.power(a, 2)", 1, "write `a ** b`."),
    "np.dot": ("y = np.dot(vectors[0], vectors[1])", 1, "vectors have methods for it, as in `v.dot(..)`"),
    "np.sum of an array": ("y = np.sum(x)", 1, "write a loop with `total += x[i]` for a field or array."),
    "round to digits": ("y = round(a, 2)", 1, "write `round(x * 10**2) / 10**2`."),
    "field made in a kernel": (
        "y = qd.field(qd.f32, 3)", 1, "call it in Python, before or after the call of the kernel.",
    ),
    "to_numpy in a kernel": ("y = f.to_numpy()", 1, "call it in Python, before or after the call of the kernel."),
    "other context managers": ("with open('a') as h:\n    f[0] = 1", 1, "Enter and leave anything else in Python"),
    # arrays
    "write to a captured array": (
        "f[0] = 1\ncaptured[0] = 1.0", 2,
        "The NumPy array `captured` is no argument of the kernel, so its elements are constants and cannot be "
        "assigned: pass it as an argument annotated with qd.types.ndarray(), or use a field.",
    ),
    "sum into a captured array": ("captured[0] += 1.0", 1, "pass it as an argument annotated with qd.types.ndarray()"),
    "write at a run-time index": ("captured[n] = 1.0", 1, "pass it as an argument annotated with qd.types.ndarray()"),
    "len of a field": ("m = len(f)", 1, "write `f.shape[0]`."),
    "len of an array": ("m = len(x)", 1, "write `x.shape[0]`."),
    "max of a field": ("m = max(f)", 1, "write a loop with `qd.atomic_max(result, f[i])` for a field or array."),
    "abs of a field": ("m = abs(f)", 1, "index it in a loop, as in `f[i]`."),
    "sine of a field": ("m = qd.sin(f)", 1, "index it, as in `x[i]`."),
    "list of an array": ("m = list(x)", 1, "write a loop, `for i in x:`, that reads `x[i]`."),
    "list over a field": (
        "m = [v for v in f]", 1, "write a loop, `for i in x:`, that stores to a field or an ndarray.",
    ),
    "field.append": ("f.append(1.0)", 1, "`f[qd.atomic_add(count[None], 1)] = value`."),
    "append to a list": ("items.append(1)", 1, "`qd.append(items.parent(), [i], value)`, with the indices of the axes"),
    "array.append": ("x.append(1.0)", 1, "its extents are fixed."),
    "field.sum": ("y = f.sum()", 1, "write a loop with `total += f[i]`."),
    "array.size": ("y = x.size", 1, "write `x.shape[0]`"),
    "array.T": ("y = x.T", 1, "`x[j, i]`"),
    "field.shap": ("y = f.shap", 1, "(did you mean 'shape'?)"),
    "missing None": ("y = one + 1.0", 1, "A field with one cell has its number at `x[None]`."),
    "stored field": ("f[0] = one", 1, "index it, as in `x[None]`."),
    "constant real index": ("f[1.5] = 1.0", 1, "write `int(..)` around it"),
    "real index": ("x[a] = 1.0", 1, "write `int(..)` around it"),
    "too few indices": ("y = grid[0] + 1", 1, "Write `grid[i, j]`."),
    "two brackets": ("y = grid[0][1]", 1, "Write `grid[i, j]`."),
    "too many indices": ("f[0, 1] = 1.0", 1, "Write `f[i]`."),
    "components in one bracket": ("y = vectors[0, 1]", 1, "Its cells are vectors: write `vectors[i][row]`."),
    "negative index": ("y = x[-1]", 1, "the last one is `x[x.shape[0] - 1]`"),
    "array of NumPy in a variable": (
        "y = np.zeros(3)", 1, "write `qd.Vector([...])` for a few numbers, or make a field",
    ),
    "matrix of NumPy in a variable": (
        "y = many", 1, "make a field or an ndarray in Python, before the call of the kernel.",
    ),
    # values, names, texts
    "literal of many digits": ("y = 10**400", 1, "Integer literal of 1329 bits exceeded the range of default_ip: i32"),
    "captured number of many digits": ("f[0] = 1\nf[0] = LARGE", 2, "It is the value of `LARGE`."),
    "captured wide number": ("y = n + WIDE", 1, "write qd.u32(WIDE) to widen it. It is the value of `WIDE`."),
    "host arithmetic of many digits": (
        "y = LARGE * 1.0", 1, "`LARGE` is too large for every dtype: write a real number",
    ),
    "astype": ("y = n.astype(qd.f32)", 1, "write `qd.cast(x, qd.f32)`"),
    "method of a vector": ("y = vectors[0].nrm()", 1, "(did you mean 'norm'?)"),
    "size of a vector": ("y = vectors[0].size", 1, "write `v.n`"),
    "sqrt without qd": ("y = sqrt(a)", 1, 'Name "sqrt" is not defined: write `qd.sqrt`.'),
    "vec3 without qd.math": ("y = vec3(1, 2, 3)", 1, "write `qd.math.vec3`."),
    "no import": ("y = time.time()", 1, "import it above the kernel, at the top of the file, as in `import time`."),
    "format specification": ("print(f'{a:.2q}')", 1, "for a value of type f32, end it with one of f, F, e, E"),
    "type of another kind": ("y: str = n", 1, "Use a primitive type such as qd.f32 or qd.i32"),
    "more targets than values": ("y, z, w = n, a", 1, "3 on the left, 2 on the right. Write one target for each value"),
    "more values than targets": ("y, z = n, a, n", 1, "2 on the left, 3 on the right. Write one target for each value"),
    "break of a static loop": (
        "for k in qd.static(range(3)):\n    if n > k:\n        break", 3, "Loop over a plain `range`, or set a flag",
    ),
    "bits of reals": ("qd.atomic_and(f[0], 2)", 1, "Declare the cells with an integer type"),
    "real bound of ndrange": ("for k in qd.ndrange(a):\n    f[0] = 1", 1, "Write qd.cast(n, qd.i32)."),
    "real number as bound of ndrange": ("for k in qd.ndrange(2.5):\n    f[0] = 1", 1, "Write int(n)."),
    "complex number": ("y = 1j", 1, "a complex number is a vector of two, see qd.math.cmul."),
    "a result of several numbers": ("f[0] = qd.Vector([a, a])", 1, "take one element of it, as in `v[0]`"),
    "shapes of a sum": ("v = qd.Vector([a, a]) + qd.Vector([a, a, a])", 1, "both sides need the same shape"),
    "bits of another width": ("f[0] = qd.bit_cast(n, qd.f64)", 1, "qd.cast to a type of 64 bits first"),
    "bits of a real": ("f[0] = ~a", 1, "`int(x)` cuts off what is behind the point"),
    "one index of a matrix": ("m = qd.Matrix([[a, a], [a, a]])\nf[0] = m[0]", 2, "A row of a matrix is m[i, :]"),
    "structs added": ("s = qd.Struct(x=n)\ns += qd.Struct(x=1)", 2, "unsupported operand type(s) for '+'"),
    "backwards": ("for i in reversed(range(3)):\n    f[i] = 1", 1, "qd.static(range(n - 1, -1, -1))"),
}  # fmt: skip


@pytest.mark.parametrize(("body", "line", "cure"), CURES.values(), ids=CURES)
def test_a_wrong_program_is_told_its_line_and_what_to_write(names, body, line, cure):
    assert cure in told(names, body, line)


def test_a_number_for_a_vector_as_result(names):
    assert "as in qd.Vector([x, y])" in told(names, "return 1", 1, " -> qd.types.vector(2, qd.i32)")


def test_a_struct_of_a_field_that_is_added_to(names):
    pairs = qd.Struct.field({"a": qd.i32, "b": qd.f32}, shape=3)

    @qd.kernel
    def run():
        pairs[0] += pairs[1]

    with pytest.raises(qd.QuadrantsSyntaxError, match="structs have no augmented assignments.*`s.x \\+= t.x`"):
        run()


def test_a_view_of_another_type(names):
    @qd.kernel
    def run(v: qd.BufferView[qd.f32]):
        v[0] = 1.0

    with pytest.raises(TypeError, match="the parameter is a BufferView of .*pass a window of such an array"):
        run(qd.ndarray(qd.i32, (8,))[0:8])


def test_the_largest_of_one_vector(names):
    @qd.kernel
    def run(n: qd.i32) -> qd.types.vector(2, qd.i32):
        return max(qd.Vector([n, 2]))

    with pytest.warns(UserWarning, match=r"write v.max\(\) for the largest element of v"):
        assert list(run(1)) == [1, 2]


def test_a_real_function_in_a_derivative(names):
    x, total = qd.field(qd.f32, 3, needs_grad=True), qd.field(qd.f32, (), needs_grad=True)

    @qd.real_func
    def doubled(a: qd.f32) -> qd.f32:
        return a * 2.0

    @qd.kernel
    def run():
        for i in x:
            total[None] += doubled(x[i])

    with pytest.raises(qd.QuadrantsRuntimeError, match="Write 'doubled' as a @qd.func"):
        run.grad()


def test_a_kernel_that_returns_the_nothing_of_a_func(names):
    found = told(names, "f[0] = 1\nreturn nothing(1)", 2, " -> qd.i32")
    assert "`nothing` returns nothing, so there is no value to use: end it with `return ...`" in found


def test_a_func_that_calls_itself(names):
    text = HEADER.format("") + "    f[0] = factorial(n)\n"
    run = load("<recursion>", text, dict(names))["run"]
    with pytest.raises(QuadrantsCompilationError) as caught:
        run.source(1, 1.0, qd.ndarray(qd.f32, 4))
    message = str(caught.value)
    assert '<recursion>", line 3' in message and re.search(r'of cures>", line \d+, in factorial:', message)
    assert "Decorate `factorial` with @qd.real_func, annotate its parameters and its result, and end the" in message


def test_the_cure_of_recursion_works(names):
    @qd.real_func
    def factorial(k: qd.i32) -> qd.i32:
        if k <= 1:
            return 1
        return k * factorial(k - 1)

    @qd.kernel
    def run(n: qd.i32) -> qd.i32:
        return factorial(n)

    assert run(5) == 120


def test_a_variable_with_the_name_of_a_field_of_one_cell(names):
    for body, count in (("f[0] = 1\none = 2.0\none = 3.0", 1), ("one[None] = 2.0", 0), ("f = 3", 0)):
        text = HEADER.format("") + textwrap.indent(body, "    ") + "\n"
        run = load(f"<hides {body!r}>", text, dict(names))["run"]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run.source(1, 1.0, qd.ndarray(qd.f32, 4))
        found = [w for w in caught if "makes a variable of the kernel" in str(w.message)]
        assert len(found) == count
        assert all(w.lineno == 4 and "Write `one[None] = ...` to store" in str(w.message) for w in found)


# ------------------------------------------------------------ outside of kernels


@pytest.mark.parametrize(
    ("ndim", "kind", "message"),
    [
        ("a", TypeError, "Invalid ndim 'a' of qd.types.ndarray.*write the number of axes, as in ndim=2"),
        (2.5, TypeError, "Invalid ndim 2.5"),
        (-1, ValueError, "Invalid ndim -1 of qd.types.ndarray.*0 or more"),
    ],
)
def test_a_wrong_number_of_axes(ndim, kind, message):
    with pytest.raises(kind, match=message):
        qd.types.ndarray(ndim=ndim)
    with pytest.raises(kind, match=message):
        qd.types.NDArray[qd.f32, ndim]
    assert qd.types.ndarray(ndim=2).ndim == 2 and qd.types.ndarray().ndim is None


def test_a_struct_without_annotations():
    with pytest.warns(SyntaxWarning, match="The struct Ball has no members.*Write `mass: qd.f32`"):

        @qd.dataclass
        class Ball:
            mass = 3

    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @qd.dataclass
        class Empty:
            @qd.func
            def method(self):
                return 1

    assert not Empty.members


def test_dtypes_of_algorithms(names):
    x = qd.ndarray(qd.f16, 4)
    scratch = qd.ndarray(qd.u32, 1 << 12)

    @qd.kernel
    def sort(x: qd.types.ndarray(), scratch: qd.types.ndarray()):
        qd.algorithms.sort(x, x, x, x, scratch, 4, qd.f16, False, 16, 3)

    with pytest.raises(
        QuadrantsCompilationError, match="sort key dtype f16 not supported; convert to one of i32, u32, f32"
    ):
        sort(x, scratch)
