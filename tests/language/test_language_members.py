"""Members of classes that are assigned between launches, and what cannot be a member."""

import pytest
from language_kit import array, raises

import quadrants as qd


def test_members_that_become_another_kind_of_thing(arch):
    """An ndarray, a field, an ndarray again, a number."""

    @qd.data_oriented
    class Changing:
        @qd.kernel
        def add(self):
            for i in range(3):
                if qd.static(not isinstance(self.x, float)):
                    self.x[i] += 1.0
                self.out[i] += self.x if qd.static(isinstance(self.x, float)) else 1.0

    c = Changing()
    first, last = array(qd.f32, [0, 0, 0]), array(qd.f32, [0, 0, 0])
    field, second = qd.field(qd.f32, 3), qd.field(qd.f32, 3)
    c.out = array(qd.f32, [0, 0, 0])
    for x in (first, field, last, 2.5, second, first, field, 2.5, last, last):
        c.x = x
        c.add()
    assert first.to_numpy().tolist() == [2, 2, 2] and last.to_numpy().tolist() == [3, 3, 3]
    assert field.to_numpy().tolist() == [2, 2, 2] and second.to_numpy().tolist() == [1, 1, 1]
    assert c.out.to_numpy().tolist() == [8 + 2 * 2.5] * 3


def test_members_that_become_containers_of_python(arch):
    @qd.data_oriented
    class Changing:
        @qd.kernel
        def total(self) -> qd.i32:
            result = 0
            if qd.static(isinstance(self.x, dict)):
                result = self.x["a"] + self.x["b"]
            elif qd.static(isinstance(self.x, list)):
                for k in qd.static(range(len(self.x))):
                    result += self.x[k]
            else:
                result = self.x[0]
            return result

    c, a = Changing(), array(qd.i32, [5, 0, 0])
    found = []
    for x in (a, [1, 2], a, [1, 2], [4], {"a": 1, "b": 9}, {"a": 1, "b": 8}, a, [4]):
        c.x = x
        found.append(c.total())
    assert found == [5, 3, 5, 3, 4, 10, 9, 5, 4]


def test_a_torch_tensor_that_is_a_member(arch):
    torch = pytest.importorskip("torch", reason="needs torch")

    @qd.data_oriented
    class Holder:
        def __init__(self):
            self.a = torch.ones(3)

        @qd.kernel
        def read(self) -> qd.f32:
            return self.a[0]

    with raises(qd.QuadrantsCompilationError, "A Tensor that is not a parameter cannot be read in a kernel; pass it"):
        Holder().read()
