"""Kernel functions as plain Python, after `qd.init(qd.python)`."""

import numpy as np
import pytest

from quadrants.errors import QuadrantsSyntaxError
from quadrants.ir.types import f32, i32
from quadrants.lang import kernel_functions as qd
from quadrants.lang import kernel_hook
from quadrants.lang.matrix import Vector


@pytest.fixture(autouse=True)
def on_python_arch(monkeypatch):
    monkeypatch.setattr(kernel_hook, "python_arch", lambda: True)


def test_loops():
    assert [v.to_list() for v in qd.grouped(qd.ndrange(1, 2))] == [[0, 0], [0, 1]]
    assert [v.to_list() for v in qd.grouped(np.zeros((1, 2)))] == [[0, 0], [0, 1]]
    assert qd.loop_config(serialize=True) is None and qd.block_local(1) is None
    assert qd.assume_in_range(5, 0, 0, 9) == 5 and qd.global_thread_idx() == 0


@pytest.mark.parametrize(
    "name, y, left",
    [
        ("atomic_add", 3, 9),
        ("atomic_sub", 3, 3),
        ("atomic_mul", 3, 18),
        ("atomic_and", 3, 2),
        ("atomic_or", 3, 7),
        ("atomic_xor", 3, 5),
        ("atomic_max", 7, 7),
        ("atomic_min", 7, 6),
        ("atomic_exchange", 3, 3),
    ],
)
def test_atomics_return_the_old_value(name, y, left):
    cell = np.array([6, 6], np.int32)
    assert getattr(qd, name)(cell[0:1].reshape(()), y) == 6
    assert cell.tolist() == [left, 6]
    old = getattr(qd, name)(Vector._view(cell), Vector([0, y]) if name == "atomic_add" else y)
    assert old.to_list() == [left, 6]
    with pytest.raises(QuadrantsSyntaxError, match="non-writable target"):
        getattr(qd, name)(6, y)


def test_compare_and_swap():
    cell = np.array(6)
    assert qd.atomic_cas(cell, 5, 1) == 6 and cell == 6
    assert qd.atomic_cas(cell, 6, 1) == 6 and cell == 1


def test_values():
    assert qd.zero(3.5) == 0.0 and qd.one(Vector([5, 6])).to_list() == [1, 1]
    assert qd.bit_shr(np.int32(-1), 1) == 2147483647
    assert qd.volatile_load(4) == 4
    assert i32(1.7) == 1 and f32(3).dtype == np.float32


@pytest.mark.parametrize("name", ["popcnt", "clz", "activate"])
def test_what_plain_python_lacks(name):
    with pytest.raises(NotImplementedError, match=f"qd.{name} is not available on the python arch"):
        getattr(qd, name)(1)
