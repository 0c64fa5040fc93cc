"""Tracebacks of what users did wrong end at the line that called."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import traceback

import numpy as np
import pytest

import quadrants as qd


@qd.data_oriented
class Model:
    @qd.kernel
    def undefined(self):
        nothing  # noqa: B018, F821

    @qd.kernel
    def scaled(self, x: qd.i32) -> qd.i32:
        return 2 * x


@qd.kernel
def integer(x: qd.i32) -> qd.i32:
    return x


@qd.kernel
def array(x: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    x[0] = 1


@qd.kernel
def template(x: qd.template()):
    pass


@qd.kernel
def undefined():
    nothing  # noqa: B018, F821


@qd.kernel
def outside(x: qd.types.ndarray(dtype=qd.f32, ndim=1), i: qd.i32):
    x[i] = 1


@qd.func
def twice(x):
    return 2 * x


def bad_kernel():
    @qd.kernel
    def run(x):
        pass


def bad_func():
    @qd.func
    def run(*x):
        pass


def bad_options():
    @qd.kernel(checkpoints=True)
    def run():
        pass


def bad_real_func():
    @qd.real_func
    def run(x):
        pass


def ends_at(error: BaseException) -> str:
    """The function of the last frame."""
    return traceback.extract_tb(error.__traceback__)[-1].name


CALLS = {
    "a float for an integer": lambda: integer(2.5),
    "a text": lambda: integer("text"),
    "missing": lambda: integer(),
    "too many": lambda: integer(1, 2),
    "unknown": lambda: integer(x=1, y=2),
    "dtype": lambda: array(np.zeros(3)),
    "axes": lambda: array(np.zeros((3, 3), np.float32)),
    "list": lambda: array([1.0]),
    "unhashable": lambda: template([1]),
    "body": lambda: undefined(),
    "derivative": lambda: undefined.grad(),
    "method": lambda: Model().undefined(),
    "argument of a method": lambda: Model().scaled(2.5),
    "source": lambda: undefined.source(),
    "resume": lambda: undefined.resume(from_checkpoint=1),
    "bounds": lambda: outside(np.zeros(3, np.float32), 7),
}


@pytest.mark.runtime(debug=True)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls(arch, call):
    with pytest.raises((qd.QuadrantsCompilationError, RuntimeError, TypeError, ValueError)) as caught:
        call()
    assert ends_at(caught.value) == "<lambda>"


@pytest.mark.parametrize("declare", [bad_kernel, bad_func, bad_options, bad_real_func])
def test_decorators(arch, declare):
    with pytest.raises(qd.QuadrantsSyntaxError) as caught:
        declare()
    assert ends_at(caught.value) == declare.__name__


@pytest.mark.runtime(print_full_traceback=True)
def test_all_frames_on_request(arch):
    for call in (undefined, lambda: integer(2.5)):
        with pytest.raises((qd.QuadrantsNameError, TypeError)) as caught:
            call()
        assert len(traceback.extract_tb(caught.value.__traceback__)) > 3


def test_errors_of_the_package_keep_their_frames(arch, monkeypatch):
    from quadrants.emit import recipe

    def broken(*args):
        raise KeyError("a slip of ours")

    monkeypatch.setattr(recipe, "recipe_of", broken)

    @qd.kernel
    def run():
        pass

    with pytest.raises(KeyError) as caught:
        run()
    assert ends_at(caught.value) == "broken"


def test_functions_of_the_user_keep_their_frames(arch):
    class Shape:
        def __hash__(self):
            raise ValueError("the user's own")

    with pytest.raises(ValueError, match="the user's own") as caught:
        template(Shape())
    assert ends_at(caught.value) == "__hash__"


@pytest.mark.cpu_only
def test_decorators_are_documented_functions():
    import inspect

    for decorator in (qd.func, qd.real_func, qd.pyfunc):
        assert decorator.__doc__ and "fn" in inspect.signature(decorator).parameters
    assert list(inspect.signature(qd.kernel).parameters)[:2] == ["_fn", "pure"]


@pytest.mark.parametrize("under", ["python", "pytest"])
def test_what_is_shown(arch_environment, tmp_path, under):
    program = tmp_path / "test_program.py"
    program.write_text(
        textwrap.dedent("""
        import quadrants as qd

        @qd.kernel
        def run():
            nothing

        def test_run():
            qd.init()
            run()

        if __name__ == "__main__":
            test_run()
        """)
    )
    command = [sys.executable, program] if under == "python" else [sys.executable, "-m", "pytest", "--tb=long", program]
    env = {**os.environ, **arch_environment}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=120)
    shown = done.stdout + done.stderr
    assert 'Name "nothing" is not defined' in shown
    assert "launcher" not in shown and "kernel.py" not in shown and "_compile" not in shown


@pytest.mark.cpu_only
def test_how_a_runtime_is_made_is_not_shown():
    for shows in (False, True):
        with pytest.raises(qd.QuadrantsTypeError, match="arch metal has no f64") as caught:
            qd.init(arch=qd.metal, emulate=True, default_fp=qd.f64, print_full_traceback=shows)
        names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
        assert names[1] == "init" and (len(names) > 5 if shows else len(names) == 2)
    qd.reset()
