"""language.md 2.1, 2.6: @qd.kernel and names at the top level."""

import functools
import re
import subprocess
import sys

import numpy as np
import pytest
from language_kit import alive, raises, specialisations, warns

import quadrants as qd


@pytest.mark.cpu_only
def test_options():
    @qd.kernel(fastcache=True)
    def pure(x: qd.i32) -> qd.i32:
        """Adds one."""
        return x + 1

    @qd.kernel()
    def plain(): ...

    assert pure.is_pure and not plain.is_pure
    assert pure.__name__ == "pure" and pure.__doc__ == "Adds one." and callable(pure.fn)
    with raises(qd.QuadrantsSyntaxError):
        qd.kernel(checkpoints=True)(lambda: None)
    with raises(TypeError):
        qd.kernel(speed=11)
    with pytest.warns(UserWarning):

        @qd.kernel(pure=True)
        def old(): ...

    assert old.is_pure


@pytest.mark.cpu_only
@pytest.mark.parametrize("decorator", [qd.kernel, qd.func, qd.pyfunc, qd.real_func])
@pytest.mark.parametrize("what", [3, "name", print, int, functools.partial(max, 1)])
def test_what_has_no_body_to_compile_is_refused(decorator, what):
    with raises(TypeError, f"{decorator.__name__.rsplit('.')[-1]} compiles a function that is written with `def`"):
        decorator(what)


@pytest.mark.cpu_only
def test_must_be_the_innermost_decorator():
    def loud(fn):
        @functools.wraps(fn)
        def inner(*args):
            return fn(*args)

        return inner

    with raises(qd.QuadrantsSyntaxError, "KERNEL_ANNOTATION_ORDER"):

        @qd.kernel
        @loud
        def k(x: qd.i32) -> qd.i32:
            return x


def test_empty_bodies(arch):
    @qd.kernel
    def nothing():
        pass

    @qd.kernel
    def dots(x: qd.i32): ...

    @qd.kernel
    def documented():
        """Only words."""

    assert nothing() is None and dots(1) is None and documented() is None


def test_kernels_are_not_nested(arch):
    @qd.kernel
    def inner(): ...

    @qd.kernel
    def with_argument(x: qd.i32): ...

    @qd.kernel
    def outer():
        inner()

    @qd.kernel
    def outer_with_argument():
        with_argument(1)

    for k in (outer, outer_with_argument):
        with raises(qd.QuadrantsSyntaxError, "Kernels cannot call other kernels"):
            k()
    alive()


def test_source_must_be_readable(arch):
    scope = {"qd": qd}
    exec("def made(x: qd.i32) -> qd.i32:\n    return x\n", scope)  # noqa: S102
    with raises(OSError, "Cannot find source code"):
        qd.kernel(scope["made"])
    unnamed = qd.kernel(lambda: None)
    with raises(qd.QuadrantsSyntaxError, "Unsupported node"):
        unnamed()
    alive()


def test_two_dtypes_are_two_specialisations(arch):
    @qd.kernel
    def total(x: qd.types.ndarray()) -> qd.f32:
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i]
        return s

    assert total(np.ones(3, np.float32)) == 3.0
    assert total(np.full(3, 2, np.int32)) == 6.0
    assert total(np.ones(4, np.float32)) == 4.0
    assert specialisations(total) == 2


def test_streams_are_accepted(arch):
    @qd.kernel
    def store(x: qd.types.ndarray(), v: qd.i32):
        x[0] = v

    x = np.zeros(1, np.int32)
    store(x, 3, qd_stream=None)
    assert x[0] == 3


@pytest.mark.cpu_only
def test_names_at_top_level():
    for name in "atan sinh cosh ifte loop_unique bool clz popcnt ffs".split():
        assert not hasattr(qd, name), name
    present = (
        "template Template ref cast bit_cast bit_shr select raw_div raw_mod static static_assert static_print grouped "
        "ndrange loop_config global_thread_idx assume_in_range zero one"
    )
    for name in present.split():
        assert callable(getattr(qd, name)), name
    for name in ("clz", "popcnt", "ffs"):
        assert callable(getattr(qd.math, name)), name
    assert callable(qd.lang.misc.loop_unique)
    assert qd.template is qd.Template


@pytest.mark.cpu_only
def test_deprecated_pure_decorator():
    with warns(UserWarning, "fastcache"):
        qd.pure(lambda: None)


def test_docstrings_may_hold_anything(arch):
    @qd.func
    def third(x):
        """A third, x*/3, of `src/*/x`. \\"""
        return x / 3

    @qd.kernel
    def run(x: qd.f32) -> qd.f32:
        """Ends here */ #error /* or there. \\"""
        return third(x)

    assert run(6.0) == 2


def test_errors_name_what_the_user_wrote(arch):
    """The decorator above the function, and the factory that was called."""

    @qd.pyfunc
    def around(n):
        return around(n)

    @qd.real_func
    def real(n: qd.i32) -> qd.i32:
        def inner():
            pass

        return n

    @qd.kernel
    def calls_around() -> qd.i32:
        return around(1)

    @qd.kernel
    def calls_real() -> qd.i32:
        return real(1)

    @qd.dataclass
    class Pair:
        a: qd.f32

        @qd.kernel
        def run(self):
            pass

    class Tool:
        @staticmethod
        @qd.kernel
        def run(x):
            pass

    with raises(qd.QuadrantsSyntaxError, "recursion is not supported in @qd.pyfunc"):
        calls_around()
    with raises(qd.QuadrantsSyntaxError, "Function definition is not allowed in 'qd.real_func'"):
        calls_real()
    with raises(qd.QuadrantsSyntaxError, "Call real from a @qd.kernel.") as caught:
        real(1)
    assert "pyfunc" not in str(caught.value)
    with raises(qd.QuadrantsSyntaxError, "methods of a @qd.dataclass are no kernels: decorate them with @qd.func"):
        Pair(1.0).run()
    with raises(qd.QuadrantsSyntaxError, "annotate it, as in `x: qd.i32`"):
        Tool.run(3)


@pytest.mark.parametrize(
    "called, make",
    [
        ("field", lambda: qd.field(qd.f32, 2, bogus=1)),
        ("Vector.field", lambda: qd.Vector.field(2, qd.f32, 2, bogus=1)),
        ("Matrix.field", lambda: qd.Matrix.field(2, 2, qd.f32, 2, bogus=1)),
        ("Vector.ndarray", lambda: qd.Vector.ndarray(2, qd.f32, 2, bogus=1)),
        ("Matrix.ndarray", lambda: qd.Matrix.ndarray(2, 2, qd.f32)),
        ("Vector.tensor", lambda: qd.Vector.tensor(2, qd.f32)),
        ("Matrix.one", lambda: qd.Matrix.one()),
    ],
)
def test_errors_of_arguments_name_the_factory(arch, called, make):
    with pytest.raises(TypeError, match=rf"^{re.escape(called)}\(\) "):
        make()


IMPORTS = ["import quadrants.kernel", "import quadrants.kernel as module", "from quadrants.kernel import Kernel"]


@pytest.mark.cpu_only
@pytest.mark.parametrize("line", IMPORTS)
def test_importing_the_module_of_the_decorator(tmp_path, line):
    """The module that is called like the decorator does not take its place, whichever comes first."""
    program = tmp_path / "program.py"
    program.write_text(f"""
{line}
import quadrants as qd
qd.init(arch=qd.cpu)

@qd.kernel
def plain(x: qd.i32) -> qd.i32:
    return x + 1

@qd.kernel(graph=True)
def graph(x: qd.i32) -> qd.i32:
    return x + 2

import quadrants.kernel
print([plain(1), graph(1), type(plain) is quadrants.kernel.Kernel or type(plain).__name__])
""")
    done = subprocess.run([sys.executable, program], text=True, capture_output=True)
    assert done.stdout.splitlines()[-1:] == ["[2, 3, True]"], done.stderr
