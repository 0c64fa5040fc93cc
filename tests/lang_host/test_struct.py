"""Struct types and values in Python scope, plain and live."""

import copy
import pickle

import numpy as np
import pytest

from quadrants import types
from quadrants.errors import QuadrantsSyntaxError
from quadrants.ir.types import StructType, f32, f64, i8, i32, tensor_type, u1
from quadrants.lang import math_primitives as qmath
from quadrants.lang.compound import dataclass
from quadrants.lang.matrix import Matrix, Vector
from quadrants.lang.struct import Struct

S = types.struct(a=i32, p=qmath.vec3)
T = types.struct(s=S, m=qmath.mat2, b=u1, f=float)


def test_types(default_types):
    assert S.ir_type() == StructType((("a", i32), ("p", tensor_type((3,), f32))))
    assert S.members["a"] is i32 and S.methods == {}
    default_types(f64)
    assert S.ir_type().member("p").dtype is f64
    assert T.ir_type().member("s").member("a") is i32


@pytest.mark.parametrize("bad", [1, list, "i32", types.vector(3), types.ndarray()])
def test_invalid_members(bad):
    with pytest.raises(ValueError, match="Invalid data type"):
        types.struct(a=bad)


def test_a_dataclass_with_an_invalid_member_is_named_with_it():
    class S:
        a: i32
        b: list

    with pytest.raises(ValueError, match="dataclass S: Member 'b': Invalid data type"):
        dataclass(S)


@pytest.mark.parametrize(
    "value, want",
    [
        (S(), {"a": 0, "p": [0, 0, 0]}),
        (S(1, 2), {"a": 1, "p": [2, 2, 2]}),
        (S(1.7, p=[1, 2, 3, 4]), {"a": 1, "p": [1, 2, 3]}),
        (S(1, 2, 3), {"a": 1, "p": [2, 2, 2]}),
        (S(2**32 + 5), {"a": 5, "p": [0, 0, 0]}),
        (types.struct(a=i8)(300), {"a": 44}),
        (T(S(1, 2), 3), {"s": {"a": 1, "p": [2, 2, 2]}, "m": [[3, 3], [3, 3]], "b": 0, "f": 0.0}),
        (T(s={"a": 1, "p": 2}, b=7), {"s": {"a": 1, "p": [2, 2, 2]}, "m": [[0, 0], [0, 0]], "b": 1, "f": 0.0}),
        (S.filled_with_scalar(3), {"a": 3, "p": [3, 3, 3]}),
    ],
)
def test_instances(value, want):
    assert value.to_dict() == want and repr(value) == str(value.to_dict())


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: S("a"), TypeError),
        (lambda: S(None), TypeError),
        (lambda: S(Vector([1])), TypeError),
        (lambda: S(1, [1, 2]), IndexError),
        (lambda: S(q=1), QuadrantsSyntaxError),
        (lambda: T(s={"a": 1}), QuadrantsSyntaxError),
    ],
)
def test_instance_errors(make, error):
    with pytest.raises(error):
        make()


def test_access_and_assignment():
    s = S(1, 2)
    assert s.a == s["a"] == 1 and s.keys == ["a", "p"] and len(s) == 2 and list(s.entries) == ["a", "p"]
    s.a = 5
    s["a"] += 1
    s.p = [3, 4, 5]
    s.p.x = 9
    s.p[1] = 8
    assert s.to_dict() == {"a": 6, "p": [9, 8, 5]}
    t = T()
    t.s = s
    t.s.a = 1
    assert s.a == 6 and t.s.p.to_list() == [9, 8, 5]
    assert s.to_dict(include_ndim=True)["__matrix_ndim"] == {"p": 1}


def test_assignment_errors():
    s = S(1, 2)
    for write, error in [
        (lambda: setattr(s, "a", "x"), TypeError),
        (lambda: setattr(s, "p", 3), TypeError),
        (lambda: setattr(s, "p", [3, 4]), IndexError),
        (lambda: setattr(s, "z", 3), AttributeError),
        (lambda: s.z, AttributeError),
        (lambda: s["z"], KeyError),
        (lambda: s.__setitem__("z", 1), KeyError),
        (lambda: setattr(T(), "s", 5), TypeError),
        (lambda: s + 1, TypeError),
    ]:
        with pytest.raises(error):
            write()
    assert s.to_dict() == {"a": 1, "p": [2, 2, 2]}


def test_isinstance_compares_names_and_shapes():
    assert isinstance(S(1), S) and isinstance(Struct(a=1, p=[1, 2, 3]), S)
    assert not isinstance(S(1), T) and not isinstance(Struct(a=1, p=[1, 2]), S) and not isinstance(1, S)
    assert isinstance(T(), T) and isinstance(T(), Struct)


def test_anonymous_structs():
    u = Struct(a=1, b=Vector([1, 2]), d=[[1, 2], [3, 4]], e={"x": 1})
    assert isinstance(u.d, Matrix) and isinstance(u.e, Struct) and u.e.x == 1
    assert Struct({"a": 1}).a == 1 and len(Struct()) == 0
    for args in [(1,), ({"a": 1}, 2)]:
        with pytest.raises(QuadrantsSyntaxError, match="either dictionary or keyword arguments"):
            Struct(*args)


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_deep_clones_are_independent(clone):
    t = T(S(1, 2))
    other = clone(t)
    other.s.p.x = 9
    other.f = 3
    assert t.s.p.x == 2 and t.f == 0.0 and other.s.p.x == 9


def test_dataclass():
    @dataclass
    class D:
        """A thing."""

        x: f32
        v: qmath.vec3

        def double(self):
            return self.x * 2

        @staticmethod
        def three():
            return 3

    assert list(D.members) == ["x", "v"] and set(D.methods) == {"double", "three"} and D.name == "D"
    d = D(1.5)
    assert d.double() == 3.0 and d.three() == 3 and isinstance(d, D)


def test_dataclass_errors():
    with pytest.raises(QuadrantsSyntaxError, match="Default value in @dataclass is not supported"):
        dataclass(type("C", (), {"__annotations__": {"a": i32}, "a": 3}))
    with pytest.raises(ValueError, match="String annotations are not resolved"):
        dataclass(type("C", (), {"__annotations__": {"a": "i32"}}))
    base = type("B", (), {"__annotations__": {"z": i32}})
    with pytest.raises(QuadrantsSyntaxError, match="does not inherit members"):
        dataclass(type("C", (base,), {"__annotations__": {"a": i32}}))


def test_unpacked_members():
    row = types.vector(3, f32, unpacked=True)
    C = dataclass(type("C", (), {"__annotations__": {"r": row, "a": i32}}))
    assert list(C.members) == ["_r0", "_r1", "_r2", "a"] and C.unpacked["r"] is row
    with pytest.raises(QuadrantsSyntaxError, match="collides"):
        dataclass(type("C", (), {"__annotations__": {"r": row, "_r0": i32}}))


def test_live_structs():
    a, p = np.zeros((), np.int32), np.zeros(3, np.float32)
    flag = np.zeros((), np.bool_)
    methods = {"twice": lambda self: self.a * 2}
    s = Struct._view({"a": a, "p": Vector._view(p), "n": Struct._view({"flag": flag})}, methods)
    s.a = 2**31
    s.p[1] = 4
    s.p.x = 3
    s.n.flag = 7
    assert a == -(2**31) and p.tolist() == [3, 4, 0] and flag and s.n.flag == 1
    s.p = [6, 6, 6]
    assert p.tolist() == [6, 6, 6]
    a[()] = 21
    assert s.twice() == 42
    assert s.to_dict() == {"a": 21, "p": [6, 6, 6], "n": {"flag": 1}}
    for name, value in [("a", 1.5), ("a", "x"), ("p", 6), ("n", 1)]:
        with pytest.raises(TypeError):
            setattr(s, name, value)
    plain = copy.copy(s)
    plain.p.x = 1
    assert p[0] == 6
    s._assign({"a": 1, "p": [7, 8, 9], "n": {"flag": 0}})
    assert (a, p.tolist(), bool(flag)) == (1, [7, 8, 9], False)


def test_a_struct_type_is_no_base():
    @dataclass
    class P:
        a: i32

    with pytest.raises(QuadrantsSyntaxError, match="The class Q cannot have a qd.dataclass as its base"):

        @dataclass
        class Q(P):
            b: i32
