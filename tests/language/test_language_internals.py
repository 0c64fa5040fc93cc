"""language.md 20: names below the surface and idioms that clients rely on."""

import numpy as np
import pytest
from language_kit import array

import quadrants as qd
from quadrants.lang import impl

tp_float = qd.f32


@pytest.mark.runtime(default_fp=qd.f64, default_ip=qd.i64)
def test_runtime_object(arch):
    runtime = impl.get_runtime()
    assert runtime.default_fp is qd.f64 and runtime.default_ip is qd.i64
    runtime.prog.synchronize()
    assert qd.lang.impl is impl
    # simt.md 10.1: none on the CPU, what every device of the kind has on the others
    least = {
        qd.cpu: 0,
        qd.cuda: 48 << 10,
        qd.amdgpu: 64 << 10,
        qd.metal: 32 << 10,
        qd.vulkan: 32 << 10,
        qd.opencl: 32 << 10,
    }[arch]
    assert impl.get_max_shared_memory_bytes(is_lowerbound_ok=True) >= least
    assert (impl.get_max_shared_memory_bytes(is_lowerbound_ok=True) == 0) == (arch is qd.cpu)


def test_materialize_and_clear_are_looked_up(init, monkeypatch):
    calls = []
    old_materialize, old_clear = impl.PyQuadrants.materialize, impl.PyQuadrants.clear

    def materialize(self):
        calls.append("materialize")
        return old_materialize(self)

    def clear(self):
        calls.append("clear")
        return old_clear(self)

    monkeypatch.setattr(impl.PyQuadrants, "materialize", materialize)
    monkeypatch.setattr(impl.PyQuadrants, "clear", clear)
    init()

    @qd.kernel
    def run(x: qd.template()) -> qd.i32:
        return x

    calls.clear()
    run(1)
    assert "materialize" in calls
    calls.clear()
    run(1)
    assert calls == []
    run(2)
    assert "materialize" in calls
    calls.clear()
    qd.sync()
    assert "materialize" in calls
    calls.clear()
    qd.reset()
    assert "clear" in calls


@pytest.mark.cpu_only
def test_switch_of_the_template_mapper():
    flags = qd.lang._template_mapper.__builtins__
    assert isinstance(flags, dict) and flags["__debug__"] is True
    flags["__debug__"] = False
    flags["__debug__"] = True
    assert __debug__


def test_isinstance_and_singletons(arch):
    assert isinstance(qd.field(qd.f32, shape=1), qd.Field)
    assert isinstance(qd.Vector.field(2, qd.f32, shape=1), qd.Field)
    assert isinstance(qd.ndarray(qd.f32, shape=1), qd.Ndarray)
    assert not isinstance(np.zeros(1), (qd.Field, qd.Ndarray))
    real_types = qd.types.primitive_types.real_types
    assert isinstance(real_types, set) and {qd.f16, qd.f32, qd.f64, float} <= real_types
    assert qd.f32 is qd.float32 and impl.get_runtime().default_fp is qd.f32


@qd.func
def pair_of(x, factor=3):
    return x, x * factor


@qd.data_oriented
class First:
    @staticmethod
    @qd.func
    def value():
        return 1


@qd.data_oriented
class Second:
    @staticmethod
    @qd.func
    def value():
        return 2


@qd.data_oriented
class Solver:
    def __init__(self, batched):
        self.batched = batched
        self.field = qd.field(qd.i32, shape=(4, 2) if batched else (4,))
        self.n = 3

    @qd.kernel
    def run(self, a: qd.types.ndarray(), b: qd.types.ndarray(), k: qd.i32) -> qd.types.vector(8, qd.f32):
        alias = qd.static(self.field)
        W = qd.static(pair_of)
        cls = First if qd.static(self.batched) else Second
        for i, j in qd.ndrange(a.shape[0], b.shape[0]):
            I = [i, j] if qd.static(self.batched) else i
            alias[I] = i + 1
        s = 0
        for m in qd.static(range(self.n)):
            s += m
        x, y = W(tp_float(k))
        v = qd.Vector.zero(tp_float, 3)
        v[1] = 0.5
        picked = qd.static((a, b)[1])
        bits = qd.static(self.n.bit_length())
        return qd.Vector([s, x, y, v[1] + v[2], picked[0], bits, cls.value(), a[0]])

    @qd.kernel
    def flags(self, k: qd.i32) -> tuple[bool, bool]:
        return k > 0, k > 5


def test_idioms(arch):
    a, b = array(qd.i32, [7, 0, 0, 0]), array(qd.i32, [8, 9])
    for batched in (False, True):
        solver = Solver(batched)
        assert list(solver.run(a, b, 5)) == [3, 5, 15, 0.5, 8, 2, 1 if batched else 2, 7]
        expected = np.repeat(np.arange(1, 5)[:, None], 2, 1) if batched else np.arange(1, 5)
        np.testing.assert_array_equal(solver.field.to_numpy(), expected)
        assert solver.flags(3) == (1, 0)
