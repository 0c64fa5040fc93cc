"""Statements, containers, indexing, attributes, strings (language.md 15)."""

from __future__ import annotations

import pytest
from language_kit import raises

import quadrants as qd


def test_containers(arch):
    """Lists, tuples, dicts: snapshots, item assignment, append, slices, comprehensions, unpacking."""
    f = qd.field(qd.i32, shape=4)
    weights = {"a": 2, "b": 3}

    @qd.kernel
    def containers(out: qd.types.ndarray(qd.i32, 1)):
        """A docstring."""
        f[0] = 5
        items = [f[0], 1]
        f[0] = 6
        items[1] = 7
        items[0] += 1
        items.append(9)
        out[0] = items[0] * 100 + items[1] * 10 + items[-1]
        out[1] = len(items)
        pair = (f[0], items[0])
        a, b = pair
        a, b = b, a
        out[2] = a * 10 + b
        table = {"x": f[0], 3: 4}
        table["x"] = 8
        out[3] = table["x"] * 10 + table[3]
        squares = [k * k for k in range(5) if k % 2]
        sums = [x + y for x in (1, 2) for y in (10, 20)]
        out[4] = squares[0] + squares[1] * 10 + sums[3] * 100
        scaled = {k: v * a for k, v in weights.items()}
        out[5] = scaled["a"] + scaled["b"]
        head = items[:2]
        out[6] = len(head) + len(items[1:]) * 10
        v = qd.Vector([e * 2 for e in qd.Vector([1, 2, 3])])
        out[7] = v[0] + v[1] + v[2]
        x = y = f[0] + 1
        x += 1
        out[8] = x * 10 + y
        f[1], f[2] = f[2] + 1, f[1] + 2
        out[9] = f[1] * 10 + f[2]
        p, q, r = v
        out[10] = p * 100 + q * 10 + r
        if (w := f[0]) > 5:
            out[11] = w  # noqa: E701
        n, m = qd.Matrix([[1, 2], [3, 4]]).get_shape()
        out[12] = n * 10 + m
        nested = [[1, 2], [3, f[0]]]
        out[13] = nested[1][1]
        pass

    out = qd.ndarray(qd.i32, shape=14)
    containers(out)
    assert out.to_numpy().tolist() == [679, 3, 66, 84, 1 + 90 + 2200, 30, 22, 12, 87, 12, 246, 6, 22, 6]


def test_indexing(arch):
    """All index forms, canonical on permuted layouts; vectors, matrices, slices, swizzles, list stores."""
    g = qd.field(qd.i32, shape=(3, 4), order="ji")
    z = qd.field(qd.i32, shape=())
    vectors = qd.Vector.field(3, qd.f32, shape=2)

    @qd.kernel
    def index(out: qd.types.ndarray(qd.f64, 1)):
        for i, j in qd.ndrange(3, 4):
            g[i, j] = i * 10 + j
        at = qd.Vector([1, 2])
        one = qd.Vector([2])
        out[0] = g[1, 2] + g[[1, 2]] + g[(1, 2)] + g[at] + g[one, 1]
        z[None] = 3
        z[()] += 1
        out[1] = z[None]
        vectors[1] = [1.0, 2.0, 3.0]
        vectors[1].y = 7
        vectors[1].zx = vectors[1].xy
        out[2] = vectors[1].x * 100 + vectors[1][1] * 10 + vectors[1].z
        v = qd.Vector([1, 2, 3, 4])
        v.rg = v.ab
        v[1:3] = v[2:4]
        out[3] = v[0] * 1000 + v[1] * 100 + v.z * 10 + v.w
        m = qd.Matrix([[1, 2, 3], [4, 5, 6]])
        m[0, :] = m[1, :]
        m[1, 0] += 10
        k = 1
        m[k, k] = m[0, k] * 2
        out[4] = m[0, 0] * 1000 + m[1, 0] * 10 + m[1, 1]
        w = vectors[1]
        w[0] = 50
        out[5] = vectors[1][0]

    out = qd.ndarray(qd.f64, shape=6)
    index(out)
    # v = [1,2,3,4]: v.rg = v.ab gives [4,3,3,4]; v[1:3] = v[2:4] gives [4,3,4,4].
    # vectors[1] = [1,7,3]: .zx = (1, 7) gives [7,7,1].
    assert out.to_numpy().tolist() == [12 * 4 + 21, 4, 771, 4344, 4000 + 140 + 10, 7]


def _raise():
    @qd.kernel
    def kernel():
        raise ValueError("no")

    return kernel


def _try():
    @qd.kernel
    def kernel():
        try:
            pass
        finally:
            pass

    return kernel


def _import():
    @qd.kernel
    def kernel():
        import math  # noqa: F401

    return kernel


def _del():
    @qd.kernel
    def kernel():
        x = 1
        del x

    return kernel


def _global():
    @qd.kernel
    def kernel():
        global some_name

    return kernel


def _lambda():
    @qd.kernel
    def kernel():
        x = lambda y: y  # noqa: E731, F841

    return kernel


def _set():
    @qd.kernel
    def kernel():
        x = {1, 2}  # noqa: F841

    return kernel


def _generator():
    @qd.kernel
    def kernel():
        x = sum(y for y in (1, 2))  # noqa: F841

    return kernel


def _class():
    @qd.kernel
    def kernel():
        class Inner:
            pass

    return kernel


def _match():
    @qd.kernel
    def kernel(n: qd.i32):
        match n:
            case 1:
                pass

    return kernel


@pytest.mark.parametrize(
    ("make", "node", "instead"),
    [(_raise, "Raise", "Write `assert condition, message`"), (_try, "Try", "Kernels catch no errors: test for"),
     (_import, "Import", "Import it above the kernel"), (_del, "Delete", "Names end with their block"),
     (_global, "Global", "Keep what kernels change in a field"), (_lambda, "Lambda", "decorate it with @qd.func"),
     (_set, "Set", "Write a list, or a dict"), (_generator, "GeneratorExp", "Write a list, `[... for ...]`"),
     (_class, "ClassDef", "make it a struct with @qd.dataclass"), (_match, "Match", "Write `if`, `elif` and `else`")],
)  # fmt: skip
def test_unsupported_nodes(arch, make, node, instead):
    kernel = make()
    with raises(qd.QuadrantsSyntaxError, f'Unsupported node "{node}": ') as caught:
        kernel(*([1] if node == "Match" else []))
    assert instead in str(caught.value)


@pytest.mark.cpu_only
def test_every_node_that_is_not_translated_has_an_advice():
    """Whatever Python grows: a node is translated, part of one that is, or has words of its own."""
    import ast

    from quadrants.frontend import unsupported
    from quadrants.frontend.options import Options
    from quadrants.frontend.tracer import Tracer

    tracer = Tracer(Options({}, "run"))
    translated = {node.__name__ for node in (*tracer.walker.expressions, *tracer.walker.statements)}
    kinds = {kind.__name__ for base in (ast.stmt, ast.expr) for kind in base.__subclasses__()}
    assert kinds - translated - set(unsupported._INSTEAD) <= {"FormattedValue", "Interpolation"}


def test_errors(arch):
    f = qd.field(qd.i32, shape=4)
    g = qd.field(qd.i32, shape=(4, 4))

    @qd.kernel
    def nested_def():
        def inner():
            pass

    @qd.kernel
    def with_file():
        with open("x"):
            pass

    @qd.kernel
    def run_time_index(n: qd.i32) -> qd.i32:
        items = [1, 2, 3]
        return items[n]

    @qd.kernel
    def unknown_key() -> qd.i32:
        table = {"a": 1}
        return table["b"]

    @qd.kernel
    def run_time_comprehension(n: qd.i32) -> qd.i32:
        items = [i for i in range(n)]
        return items[0]

    @qd.kernel
    def run_time_filter(n: qd.i32) -> qd.i32:
        items = [i for i in range(3) if n > 1]
        return items[0]

    @qd.kernel
    def float_index(x: qd.f32) -> qd.i32:
        return f[x]

    @qd.kernel
    def too_many_indices() -> qd.i32:
        return f[0, 1]

    @qd.kernel
    def too_few_indices() -> qd.i32:
        return g[0]

    @qd.kernel
    def negative_vector() -> qd.i32:
        v = qd.Vector([1, 2])
        return v[-1]

    @qd.kernel
    def negative_array(a: qd.types.ndarray(qd.i32, 1)) -> qd.i32:
        return a[-1]

    @qd.kernel
    def beyond_vector() -> qd.i32:
        v = qd.Vector([1, 2])
        return v[2]

    @qd.kernel
    def variable_slice(n: qd.i32) -> qd.i32:
        v = qd.Vector([1, 2, 3])
        return v[0:n].sum()

    @qd.kernel
    def field_slice() -> qd.i32:
        return f[0:2].sum()

    @qd.kernel
    def unknown_attribute() -> qd.i32:
        v = qd.Vector([1, 2])
        return v.nothing

    @qd.kernel
    def stored_string():
        s = "text"  # noqa: F841

    @qd.kernel
    def wrong_count():
        a, b = qd.Vector([1, 2, 3])  # noqa: F841

    @qd.kernel
    def nothing_assigned():
        x = None  # noqa: F841

    @qd.kernel
    def bare_annotation():
        x: qd.i32  # noqa: F842

    array = qd.ndarray(qd.i32, shape=4)
    compile_error, syntax, types = qd.QuadrantsCompilationError, qd.QuadrantsSyntaxError, qd.QuadrantsTypeError
    index = qd.lang.exception.QuadrantsIndexError
    for kernel, args, kind, fragment in (
        (nested_def, (), syntax, "Function definition is not allowed in 'qd.kernel'"),
        (with_file, (), syntax, "'with' in Quadrants kernels only supports"),
        (run_time_index, (1,), compile_error, ""),
        (unknown_key, (), compile_error, ""),
        (run_time_comprehension, (3,), types, ""),
        (run_time_filter, (3,), syntax, ""),
        (float_index, (1.0,), types, "indices must be integers"),
        (too_many_indices, (), index, "Field with dim 1 accessed with indices of dim 2"),
        (too_few_indices, (), index, "Field with dim 2 accessed with indices of dim 1"),
        (negative_vector, (), syntax, "Negative indices are not supported"),
        (negative_array, (array,), syntax, "Negative indices are not supported"),
        (beyond_vector, (), index, ""),
        (variable_slice, (2,), compile_error, "does not support variables in slice"),
        (field_slice, (), syntax, ""),
        (unknown_attribute, (), compile_error, ""),
        (stored_string, (), types, ""),
        (wrong_count, (), syntax, "number of targets"),
        (nothing_assigned, (), syntax, ""),
        (bare_annotation, (), syntax, ""),
    ):
        with raises(kind, fragment):
            kernel(*args)


def test_wide_indices_are_cast_with_a_warning(arch, capfd):
    f = qd.field(qd.i32, shape=4)

    @qd.kernel
    def wide(n: qd.i64) -> qd.i32:
        f[n] = 5
        return f[n]

    assert wide(1) == 5
    text = capfd.readouterr()
    assert "Field index 0 not int32, casting into int32 implicitly" in text.out + text.err


def test_code_that_is_never_seen(arch):
    """Untaken static branches and statements after an executed return."""

    @qd.func
    def choose(flag: qd.template()):
        if qd.static(flag):
            return 1
        return 7

    @qd.kernel
    def early() -> qd.i32:
        return choose(True) * 10 + choose(False)
        raise ValueError

    assert early() == 17


def test_stars_in_lists_and_tuples_take_apart(arch):
    @qd.func
    def two(x):
        return x, x + 1

    @qd.kernel
    def lists(v: qd.types.vector(3, qd.i32), n: qd.i32) -> qd.types.vector(9, qd.i32):
        run_time = [n, *v]
        return qd.Vector([*run_time, *two(n), *qd.static(range(2)), len([*[1, 2], 3])])

    @qd.kernel
    def tuples(v: qd.types.vector(2, qd.i32), n: qd.i32) -> qd.types.vector(4, qd.i32):
        found = (*v, *(n, 7))
        return qd.Vector(found)

    assert list(lists(qd.Vector([1, 2, 3]), 5)) == [5, 1, 2, 3, 5, 6, 0, 1, 3]
    assert list(tuples(qd.Vector([1, 2]), 5)) == [1, 2, 5, 7]


def test_extremes_of_lists_are_those_of_python(arch):
    @qd.kernel
    def run(n: qd.i32, x: qd.f32) -> qd.f32:
        return max([n, 2]) * 100 + min((n, 7, 3)) * 10 + max([1, 2]) + min([x])

    assert run(5, 0.5) == 500 + 30 + 2 + 0.5


def test_static_loops_run_backwards(arch):
    @qd.kernel
    def run() -> qd.i32:
        s = 0
        for i in qd.static(reversed(range(3))):
            s = s * 10 + i
        for i in qd.static(reversed([4, 5])):
            s = s * 10 + i
        return s

    assert run() == 21054
