"""Members of arguments: resolved and compared at each launch."""

import gc
import struct
from dataclasses import dataclass

import numpy as np
import pytest
from core_native import Recorder, entry, make_array

from quadrants._ext import core
from quadrants.errors import QuadrantsRuntimeError, QuadrantsRuntimeTypeError

FIRST = entry("AT(double, 8) = *AT(float *, 0);")
ECHO = entry("")


@dataclass(frozen=True)
class State:
    x: object
    n: object = 0


@dataclass(frozen=True)
class World:
    state: State


def holding(value, key=("ndarray", "f32", 1, False)):
    array = make_array(key=key)
    np.frombuffer(array._buffer, np.float32)[0] = value
    return array


def by_member_token(path, entry_of=lambda value: FIRST):
    """Compiles for the token that the member has at the miss."""

    def plan(args):
        value = args[0]
        for name in path:
            value = getattr(value, name)
        token = value.token if isinstance(value, core.TokenBase) else token_of(value)
        return core.Plan(entry_of(value), bytes(16), [(0, path, token)], [("array", 1, 0, None)], ("f64", 8))

    return plan


def token_of(value):
    if isinstance(value, np.ndarray):
        return core.intern_token(("external", {"float32": "f32", "int32": "i32"}[value.dtype.name], value.ndim))
    return core.intern_token(("type", type(value)))


def test_members_are_read_at_every_launch():
    kernel = Recorder([core.TOKEN], by_member_token(("x",)))
    assert [kernel(State(holding(v))) for v in (1, 2, 3)] == [1, 2, 3]
    assert len(kernel.misses) == 1


def test_paths_of_several_names():
    kernel = Recorder([core.TOKEN], by_member_token(("state", "x")))
    assert [kernel(World(State(holding(v)))) for v in (1, 2)] == [1, 2]
    assert len(kernel.misses) == 1


def test_a_member_of_another_kind_is_another_plan_and_both_are_kept():
    kernel = Recorder([core.TOKEN], by_member_token(("x",)))
    plain = State(holding(1))
    other = State(holding(2, key=("ndarray", "f32", 1, True)))
    assert [kernel(value) for value in (plain, other, plain, other, plain)] == [1, 2, 1, 2, 1]
    assert len(kernel.misses) == 2 == len(kernel.launcher)


def test_a_reassigned_member_is_seen():
    class Mutable:
        pass

    value = Mutable()
    value.x = holding(1)
    kernel = Recorder([core.TOKEN], by_member_token(("x",)))
    assert kernel(value) == 1
    value.x = holding(5)
    assert kernel(value) == 5
    value.x = np.full(1, 7, np.float32)
    assert kernel(value) == 7
    assert len(kernel.misses) == 2


def test_numpy_members_of_several_candidates_pack_their_own_memory():
    def plan(args):
        x, n = args[0].x, args[0].n
        members = [(0, ("x",), token_of(x)), (0, ("n",), token_of(n))]
        pack = [("array", 2, 0, None), ("array", 1, 8, None)]
        body = "AT(double, 16) = *AT(float *, 8) + *AT(int32_t *, 0);"
        return core.Plan(entry(body), bytes(24), members, pack, ("f64", 16))

    kernel = Recorder([core.TOKEN], plan)
    one = State(np.full(1, 1, np.float32), np.full((1, 1), 10, np.int32))
    two = State(np.full(1, 2, np.float32), np.full(1, 20, np.int32))
    assert [kernel(value) for value in (one, two, one, two)] == [11, 22, 11, 22]
    assert len(kernel.misses) == 2


def test_a_run_time_scalar_member_does_not_select():
    plan = core.Plan(ECHO, bytes(8), [(0, ("n",), 0)], [("i32", 1, 0, None)], ("i32", 0))
    kernel = Recorder([core.TOKEN], plan)
    assert [kernel(State(None, n)) for n in (1, 2, -3)] == [1, 2, -3]
    assert len(kernel.misses) == 1 and all(value is not None for _, value in kernel.asked)


def test_a_scalar_member_that_does_not_convert_is_named_by_its_path():
    plan = core.Plan(ECHO, bytes(8), [(0, ("state", "n"), 0)], [("i32", 1, 0, None)])
    with pytest.raises(QuadrantsRuntimeTypeError, match=r"Argument \(0, 'state', 'n'\) .*required type i32"):
        Recorder([core.TOKEN], plan)(World(State(None, "many")))


def test_a_missing_attribute_is_a_miss_for_the_compiler_to_explain():
    class Empty:
        pass

    class Full:
        x = holding(1)

    def plan(args):
        if isinstance(args[0], Empty):
            raise AttributeError("Empty has no member x")
        return by_member_token(("x",))(args)

    kernel = Recorder([core.TOKEN], plan, slow=lambda index, value: core.intern_token("any"))
    kernel(Full())
    with pytest.raises(AttributeError, match="Empty has no member x"):
        kernel(Empty())
    assert len(kernel.misses) == 2


def test_a_property_that_raises_is_heard():
    class Broken:
        ready = True

        @property
        def x(self):
            if self.ready:
                return array
            raise RuntimeError("not ready")

    array = holding(4)
    kernel = Recorder([core.TOKEN], by_member_token(("x",)))
    value = Broken()
    assert kernel(value) == 4
    value.ready = False
    with pytest.raises(RuntimeError, match="not ready"):
        kernel(value)


def test_a_dead_member_raises():
    kernel = Recorder([core.TOKEN], by_member_token(("x",)))
    value = State(holding(1))
    kernel(value)
    value.x._kill()
    with pytest.raises(QuadrantsRuntimeError, match="destroyed"):
        kernel(value)


def test_a_plan_that_does_not_match_what_it_was_compiled_for_is_refused():
    wrong = core.Plan(ECHO, b"", [(0, ("x",), core.intern_token("something else"))])
    with pytest.raises(QuadrantsRuntimeError, match="does not match the members"):
        Recorder([core.TOKEN], wrong)(State(holding(1)))


def test_slow_token_is_told_minus_one_for_members_and_the_index_for_parameters():
    token = core.intern_token(("type", list))
    plan = core.Plan(ECHO, b"", [(1, ("x",), token)])
    kernel = Recorder([core.SCALAR, core.TOKEN], plan)
    value = State([1])
    kernel(0, value)
    assert kernel.asked == [(1, value), (-1, [1])]


def test_members_of_two_parameters_and_shared_prefixes():
    members = [(0, ("state", "n"), 0), (1, ("state", "n"), 0), (0, ("state", "x"), 0), (0, ("state", "n"), 0)]
    pack = [("i32", 2 + k, 4 * k, None) for k in range(4)]
    plan = core.Plan(ECHO, bytes(16), members, pack, lambda view: struct.unpack("=4i", view))
    kernel = Recorder([core.TOKEN] * 2, plan)
    assert kernel(World(State(3, 1)), World(State(4, 2))) == (1, 2, 3, 1)


def test_members_may_vanish_while_the_launch_uses_them():
    class Fleeting:
        @property
        def x(self):
            return holding(9)

    gc.collect()
    before = core.live_buffers()
    kernel = Recorder([core.TOKEN], by_member_token(("x",)))
    assert [kernel(Fleeting()) for _ in range(50)] == [9] * 50
    gc.collect()
    assert core.live_buffers() == before


def test_three_hundred_members():
    names = [f"m{i}" for i in range(300)]
    body = "int64_t s = 0; for (int i = 0; i < 300; ++i) s += AT(int32_t, 4 * i); AT(int64_t, 1200) = s;"
    pack = [("i32", 1 + i, 4 * i, None) for i in range(300)]
    plan = core.Plan(entry(body), bytes(1208), [(0, (name,), 0) for name in names], pack, ("i64", 1200))
    Many = type("Many", (), {name: i for i, name in enumerate(names)})
    assert Recorder([core.TOKEN], plan)(Many()) == sum(range(300))


def test_type_tokens_spare_the_slow_path_for_exact_types():
    class Base:
        x = None

    class Derived(Base):
        pass

    core.register_type_token(Base, ("test type", Base))
    kernel = Recorder([core.TOKEN], lambda args: core.Plan(ECHO, b""))
    kernel(Base())
    kernel(Base())
    assert kernel.asked == [] and len(kernel.misses) == 1
    kernel(Derived())
    assert len(kernel.asked) == 1 and len(kernel.misses) == 2


def constant_token(index, value):
    return core.intern_token(("value", type(value), value))


def test_plain_constants_are_asked_once_while_they_repeat():
    kernel = Recorder([core.TOKEN], lambda args: core.Plan(ECHO, b""), slow=constant_token)
    for value in (True, True, True, 1, 1, "a", "a", None, None, True):
        kernel(value)
    assert [value for _, value in kernel.asked] == [True, 1, "a", None, True]
    assert len(kernel.misses) == 4


def test_tokens_for_life_are_remembered_weakly():
    class Config:
        pass

    kernel = Recorder([core.TOKEN], lambda args: core.Plan(ECHO, b""), slow=lambda i, v: (constant_token(i, id(v)),))
    config = Config()
    for _ in range(5):
        kernel(config)
    assert len(kernel.asked) == 1
    kernel.asked.clear()
    for _ in range(50):  # a dead object's address must not answer for a new one
        fresh = Config()
        kernel(fresh)
        assert kernel.asked[-1][1] is fresh
        kernel.asked.clear()
        del fresh


def test_tokens_for_life_need_a_weak_reference():
    kernel = Recorder([core.TOKEN], lambda args: core.Plan(ECHO, b""), slow=lambda index, value: (5,))
    with pytest.raises(TypeError, match="weak reference"):
        kernel([])


def test_answers_that_are_no_number():
    kernel = Recorder([core.TOKEN], lambda args: core.Plan(ECHO, b""), slow=lambda index, value: "token")
    with pytest.raises(TypeError):
        kernel(object())
