"""More values than a vector or struct takes: the last ones are dropped, and told."""

import numpy as np
import pytest

import quadrants as qd

pytestmark = pytest.mark.cpu_only


@pytest.fixture(autouse=True)
def started():
    qd.init(arch=qd.cpu)
    yield
    qd.reset()


def test_vectors_and_matrices():
    v, m = qd.Vector.field(2, qd.f32, 3), qd.Matrix.field(2, 2, qd.i32, 2)
    with pytest.warns(UserWarning, match="a sequence of 2 is needed; of 3 the last ones are dropped"):
        v[0] = [1, 2, 3]
    with pytest.warns(UserWarning, match="dropped"):
        m[1] = [[1, 2, 3], [4, 5, 6]]
    with pytest.warns(UserWarning, match="needs 3 elements, and 4 are given"):
        made = qd.math.vec3(1, 2, 3, 4)
    assert v[0].to_list() == [1, 2] and m[1].to_list() == [[1, 2], [4, 5]] and made.to_list() == [1, 2, 3]


def test_structs():
    S = qd.types.struct(a=qd.i32, b=qd.i32)

    @qd.kernel
    def surplus() -> qd.i32:
        return S(1, 2, 3).b

    @qd.kernel
    def twice() -> qd.i32:
        return S(1, a=2).a

    for run in (lambda: S(1, 2, 3).b, surplus):
        with pytest.warns(UserWarning, match="The struct has 2 members, .* and 3 values are given"):
            assert run() == 2
    for run in (lambda: S(1, a=2), twice):
        with pytest.raises(qd.QuadrantsCompilationError, match="Multiple values for the members .'a'."):
            run()


def test_members_that_a_struct_has_not():
    s = qd.types.struct(a=qd.i32, b=qd.i32).field(shape=2)
    with pytest.warns(UserWarning, match="no members .'typo'., which are left out"):
        s[0] = {"a": 3, "b": 1, "typo": 4}
    with pytest.warns(UserWarning, match="no members .'typo'., which are left out"):
        s.from_numpy({"a": np.ones(2, np.int32), "b": np.ones(2, np.int32), "typo": np.ones(2)})
    assert s.a[0] == s.b[1] == 1 and s[0].b == 1
