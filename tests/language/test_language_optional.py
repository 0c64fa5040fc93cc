"""language.md 3.5: qd.Tensor and optional parameters."""

from typing import Optional

import numpy as np
from language_kit import alive, raises, specialisations

import quadrants as qd

NDArray = qd.types.NDArray


def test_tensor_takes_every_kind_of_array(arch):
    @qd.kernel
    def run(t: qd.Tensor) -> qd.i32:
        s = 0
        for i in range(3):
            t[i] += i
            s += t[i]
        return s

    field, ndarray = qd.field(qd.i32, shape=3), qd.ndarray(qd.i32, shape=3)
    tensor = qd.tensor(qd.i32, shape=3)
    for x in (field, ndarray, tensor, np.zeros(3, np.int32)):
        assert (run(x), run(x)) == (3, 6)
        assert [x[i] for i in range(3)] == [0, 2, 4]
    count = specialisations(run)
    run(qd.field(qd.i32, shape=3))
    assert specialisations(run) == count + 1
    run(qd.ndarray(qd.i32, shape=5))
    assert specialisations(run) == count + 1


def test_tensor_takes_none_and_other_objects(arch):
    @qd.kernel
    def run(t: qd.Tensor) -> qd.i32:
        r = -1
        if qd.static(t is not None):
            r = t
        return r

    assert [run(None), run(5), run(6)] == [-1, 5, 6]
    assert specialisations(run) == 3


def test_optional_arrays(arch):
    @qd.kernel
    def run(a: NDArray[qd.i32, 1], b: NDArray[qd.i32, 1] | None) -> qd.i32:
        r = a[0]
        if qd.static(b is not None):
            r += 10 * b[0]
        return r

    a = np.array([3], np.int32)
    b = np.array([4], np.int32)
    assert [run(a, b), run(a, None), run(a, b), run(a, None), run(a, b=None)] == [43, 3, 43, 3, 3]
    assert specialisations(run) == 2
    with raises(ValueError):
        run(a, np.zeros((2, 2), np.int32))
    assert run(a, b) == 43


def test_optional_tensors_and_templates(arch):
    @qd.kernel
    def run(a: qd.Tensor | None, b: qd.Template | None, c: Optional[qd.Tensor]) -> qd.i32:  # noqa: UP045
        r = 0
        if qd.static(a is not None):
            r += 1 + a[0]
        if qd.static(b is not None):
            r += 10 * b
        if qd.static(c is None):
            r += 100
        return r

    f = qd.field(qd.i32, shape=2)
    f[0] = 5
    assert [run(None, None, None), run(f, 2, f), run(np.zeros(1, np.int32), None, None)] == [100, 26, 101]
    assert specialisations(run) == 3


def test_what_may_be_compared_with_none(arch):
    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.x = None

        @qd.kernel
        def member(self) -> qd.i32:
            r = 0
            if qd.static(self.x is None):
                r = 1
            return r

        @qd.kernel
        def equals(self) -> qd.i32:
            r = 0
            if qd.static(self.x == None):  # noqa: E711 - the way to test members
                r = 1
            return r

    @qd.kernel
    def other(a: qd.Tensor) -> qd.i32:
        r = 0
        if qd.static(a is True):
            r = 1
        return r

    @qd.kernel
    def variable(a: qd.Tensor) -> qd.i32:
        b = 3
        r = 0
        if qd.static(b is None):
            r = 1
        return r

    @qd.kernel
    def outside() -> qd.i32:
        r = 0
        if qd.static(Holder is not None):
            r = 1
        return r

    h = Holder()
    assert h.equals() == 1
    text = "compares a direct kernel argument against `None`; use `== None` for members and for names from outside"
    for action in (h.member, lambda: other(None), lambda: variable(None), outside):
        with raises(qd.QuadrantsSyntaxError, text):
            action()
    alive()
