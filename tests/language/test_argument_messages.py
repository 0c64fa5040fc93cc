"""What a user is told of a call that cannot be made: kernel, parameter, line of the call, what to write instead."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import quadrants as qd


@qd.kernel
def scaled(n: qd.i32, x: qd.f32) -> qd.f32:
    return n * x


@qd.kernel
def first(a: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> qd.f32:
    return a[0]


@qd.kernel
def moved(v: qd.math.vec3) -> qd.f32:
    return v[0]


@dataclasses.dataclass
class State:
    a: qd.types.ndarray(dtype=qd.f32, ndim=1)
    n: qd.i32
    v: qd.math.vec3 = (0, 0, 0)


@qd.kernel
def stepped(s: State) -> qd.f32:
    return s.a[0] + s.n + s.v[0]


@qd.data_oriented
class Sim:
    @qd.kernel
    def step(self, n: qd.i32) -> qd.i32:
        return n


class Plain:
    @qd.kernel
    def step(self, n: qd.i32) -> qd.i32:
        return n


@qd.kernel
def turned(m: qd.types.matrix(2, 2, qd.i32)) -> qd.i32:
    return m[1, 1]


@qd.kernel
def first_cell(a: qd.types.ndarray(dtype=qd.math.vec3, ndim=1)) -> qd.f32:
    return a[0][0]


@qd.kernel
def constant(c: qd.template()):
    pass


Pair = qd.types.struct(a=qd.i32, b=qd.f32)


@qd.kernel
def paired(p: Pair) -> qd.i32:
    return p.a


class Short:
    def __getitem__(self, index):
        return [1.0][index]


def array():
    return qd.ndarray(qd.f32, 2)


ONE_AXIS = "is annotated with qd.types.ndarray(dtype=qd.f32, ndim=1): pass such an array"
OF_VECTORS = "is annotated with qd.types.ndarray(dtype=qd.types.vector(3, qd.f32), ndim=1): pass such an array"

CALLS = [
    (lambda: scaled(2.7, 1), "scaled", "TypeError", "Argument n (type=<class 'float'>)", "with a real type"),
    (lambda: scaled(np.float32(2), 1), "scaled", "TypeError", "Argument n (type=<class 'numpy.float32'>)", "an int"),
    (lambda: scaled("2", 1), "scaled", "TypeError", "Argument n (type=<class 'str'>)", "pass an int"),
    (lambda: scaled(1, None), "scaled", "TypeError", "Argument x (type=<class 'NoneType'>)", "pass a float"),
    (lambda: scaled(1 << 70, 1), "scaled", "TypeError", "Argument n: 1180591620717411303424 ", "pass a number from"),
    (lambda: scaled(1), "scaled", "SyntaxError", "Missing argument 'x'.", "Expected (n : i32, x : f32)."),
    (lambda: scaled(1, 2, 3), "scaled", "SyntaxError", "Too many arguments.", "(n : i32, x : f32), got (1, 2, 3)."),
    (lambda: scaled(1, y=2), "scaled", "SyntaxError", "Unexpected argument 'y'.", "Expected (n : i32, x : f32)."),
    (lambda: scaled(1, n=2), "scaled", "SyntaxError", "Multiple values for argument 'n'.", "Expected (n : i32, x"),
    (lambda: first([1.0, 2.0]), "first", "TypeError", "for argument a, got [1.0, 2.0]", "np.array("),
    (lambda: first(qd.field(qd.f32, 2)), "first", "TypeError", "for argument a: a field", "qd.template() or qd.Tensor"),
    (lambda: first(np.zeros(2)), "first", "ValueError", "for argument a - required array has dtype=f32", "dtype=f64"),
    (lambda: first(np.zeros(4, "f4")[::2]), "first", "ValueError", "Non contiguous", "np.ascontiguousarray"),
    (lambda: moved(1.5), "moved", "TypeError", "Argument v needs 3 elements", "the number 1.5"),
    (lambda: moved("abc"), "moved", "TypeError", "Argument v (type=<class 'str'>)", "required type [Tensor (3) f32]"),
    (lambda: moved([1.0]), "moved", "IndexError", "Argument v needs shape (3,)", "got (1,)"),
    (lambda: moved({}), "moved", "TypeError", "Argument v (type=<class 'dict'>) cannot be", "pass a qd.Vector, a list"),
    (lambda: moved({"x": 1}), "moved", "TypeError", "Argument v (type=<class 'dict'>)", "array of 3 real numbers"),
    (lambda: moved(None), "moved", "TypeError", "Argument v (type=<class 'NoneType'>)", "pass a qd.Vector, a list"),
    (lambda: moved([None, 1, 2]), "moved", "TypeError", "Argument v (type=<class 'list'>)", "pass a qd.Vector, a list"),
    (lambda: moved(["a", "b", "c"]), "moved", "TypeError", "Argument v (type=<class 'list'>)", "of 3 real numbers"),
    (lambda: moved([[[1]]]), "moved", "IndexError", "Argument v needs shape (3,), got (1, 1, 1)", "pass a qd.Vector"),
    (lambda: moved(Short()), "moved", "IndexError", "Argument v needs shape (3,)", "pass a qd.Vector, a list"),
    (lambda: turned({}), "turned", "TypeError", "Argument m (type=<class 'dict'>)", "2 rows of 2 integers"),
    (lambda: turned(Short()), "turned", "TypeError", "Argument m (type=<class '", "2 rows of 2 integers"),
    (lambda: turned([1, [2]]), "turned", "IndexError", "Argument m: the rows of [1, [2]] differ", "2 rows of 2 int"),
    (lambda: turned([1.5]), "turned", "TypeError", "Argument m (type=float64) cannot be", "2 rows of 2 integers"),
    (lambda: constant(memoryview(bytearray(2))), "constant", "TypeError", "unhashable type: 'memoryview'", "('c')"),
    (lambda: paired({"a": 1}), "paired", "TypeError", "Argument p (type=<class 'dict'>)", "members ['a', 'b']"),
    (lambda: first(qd.ndarray(qd.i32, 2)), "first", "TypeError", "Expect element type f32 for argument a, ", ONE_AXIS),
    (lambda: first(qd.ndarray(qd.f32, (2, 2))), "first", "ValueError", "argument a - required ndim=1, but", ONE_AXIS),
    (lambda: first(np.zeros((2, 2), "f4")), "first", "ValueError", "argument a - required array has ndim=1", ONE_AXIS),
    (lambda: first(np.zeros(2)), "first", "ValueError", "array with dtype=f64 is provided", "as x.astype(..)"),
    (lambda: first_cell(np.zeros(3, "f4")), "first_cell", "ValueError", "has ndim=1 element_dim=1", OF_VECTORS),
    (lambda: first_cell(qd.ndarray(qd.f32, 3)), "first_cell", "ValueError", "element type: VectorType[3,", OF_VECTORS),
    (lambda: stepped(State([1.0], 2)), "stepped", "TypeError", "for argument s.a, got [1.0]", "np.array("),
    (lambda: stepped(State(array(), 2.5)), "stepped", "TypeError", "Argument s.n (type=<class 'float'>)", "i32"),
    (lambda: stepped(State(array(), 2, 1)), "stepped", "TypeError", "Argument s.v needs 3 elements", "the number 1"),
    (lambda: stepped(3), "stepped", "TypeError", "Argument s (type=<class 'int'>)", "State; pass an instance, as "),
    (lambda: stepped({"a": 1}), "stepped", "TypeError", "Argument s (type=<class 'dict'>)", "State(a=.., n=.., v=..)"),
    (lambda: stepped(State(qd.ndarray(qd.f32, (1, 1)), 2)), "stepped", "ValueError", "argument s.a - ", ONE_AXIS),
    (lambda: Sim.step(3), "step", "SyntaxError", "Missing argument 'n'.", "step is a method: call it on an object"),
    (lambda: Sim.step(), "step", "SyntaxError", "Missing argument 'self'.", "step is a method: call it on an object"),
    (lambda: Sim().step(), "step", "SyntaxError", "Missing argument 'n'.", "Expected (n : i32)."),
    (lambda: Sim().step(1, 2), "step", "SyntaxError", "Too many arguments.", "Expected (n : i32), got (1, 2)."),
    (lambda: Sim.step(3, 4), "step", "SyntaxError", "'self' is no object of a class", "call it on one, as object"),
    (lambda: Plain().step(1), "step", "SyntaxError", "decorate class Plain", "with @qd.data_oriented"),
    (lambda: scaled.source("2"), "scaled", "SyntaxError", "Missing argument 'x'.", "Expected"),
]  # fmt: skip


KINDS = {"TypeError": TypeError, "ValueError": ValueError, "IndexError": IndexError, "SyntaxError": SyntaxError}
CALLED = ("scaled", "first", "moved", "turned", "constant", "paired", "stepped", "Sim", "Plain")


@pytest.mark.parametrize("run, kernel, kind, what, advice", CALLS)
def test_a_wrong_call(arch, run, kernel, kind, what, advice):
    with pytest.raises(KINDS[kind]) as caught:
        run()
    text, _, place = str(caught.value).partition(f"\nIn this call of kernel {kernel}:\n")
    assert what in text and advice in text and " at 0x" not in text
    code = run.__code__
    assert place.startswith(f'File "{code.co_filename}", line {code.co_firstlineno}, in <lambda>:\n    (lambda: ')
    if sys.version_info >= (3, 11):
        _, line, carets = place.splitlines()[:3]
        assert line[carets.index("^") : carets.rindex("^") + 1].startswith(CALLED)


def test_classes_are_known_while_compiling(arch):
    @qd.kernel
    def made(cls: qd.template()) -> qd.i32:
        return cls([3, 4])[1]

    assert made(qd.Vector) == made(qd.Matrix) == 4


def test_self_is_a_name_outside_of_classes(arch):
    @qd.kernel
    def number(self: qd.i32) -> qd.i32:
        return self + 1

    @qd.kernel
    def known(self: qd.template()) -> qd.i32:
        return self[0]

    @qd.kernel
    def of_array(self: qd.types.ndarray()) -> qd.f32:
        return self[0]

    assert (number(2), known((3, 4)), known(qd.field(qd.i32, 3)), of_array(array())) == (3, 3, 0, 0)


def test_dead_arrays_are_named(arch):
    a = array()
    first(a)
    arch_now = qd.cfg.arch
    qd.reset()
    qd.init(arch=arch_now)
    with pytest.raises(qd.QuadrantsRuntimeError, match="Argument a is a ScalarNdarray of a runtime that was") as caught:
        first(a)
    assert "In this call of kernel first:" in str(caught.value)


def test_derivatives_are_called_what_users_write(arch):
    with pytest.raises(TypeError, match="(?s)Argument n .*In this call of kernel scaled.grad:"):
        scaled.grad(1.5, 1)


def test_tracebacks_show_it_too(arch_name, tmp_path):
    file = tmp_path / "program.py"
    file.write_text(
        f"import quadrants as qd\nqd.init(arch=qd.{arch_name})\n\n\n@qd.kernel\ndef k(x: qd.i32):\n    pass\n\n\nk()\n"
    )
    done = subprocess.run([sys.executable, file], capture_output=True, text=True)
    assert "Missing argument 'x'. Expected (x : i32).\nIn this call of kernel k:\n" in done.stderr
    assert f'File "{file}", line 10, in <module>:\nk()\n^^^' in done.stderr.split("In this call")[1]
