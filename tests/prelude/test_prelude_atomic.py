"""Atomic updates and their plain twins: values, returned old values, and no lost update under contention."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest
from prelude_kit import DTYPES, Library, numpy_type, vector

from quadrants.ir.types import f16, f32, f64, i32, i64, u1, u8, u32

ALL = ("add", "sub", "mul", "min", "max", "and", "or", "xor", "exchange")
REAL = ("add", "sub", "mul", "min", "max", "exchange")


def operations(t):
    return REAL if t.kind == "f" else ALL


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "strict"])
def library(request, tmp_path_factory):
    lib = Library(fast_math=request.param)
    for family in ("atomic", "plain"):
        for t in DTYPES:
            scalar = lib.prelude.type(t)
            for op in operations(t):
                name = lib.prelude.need(family, op, t)
                lib.text(f"void do_{name}({scalar} *p, {scalar} *x, {scalar} *old, long n) "
                         f"{{ for (long i = 0; i < n; ++i) old[i] = {name}(p, x[i]); }}")  # fmt: skip
            if t.kind != "f":
                name = lib.prelude.need(family, "cas", t)
                lib.text(f"void do_{name}({scalar} *p, {scalar} *x, {scalar} *old, long n) "
                         f"{{ for (long i = 0; i + 1 < n; i += 2) old[i] = {name}(p, x[i], x[i + 1]); }}")  # fmt: skip
        for t in (vector(3, f32), vector(17, i32)):
            name, tensor = lib.prelude.need(family, "add", t), lib.prelude.type(t)
            lib.text(f"void do_{name}({tensor} *p, {tensor} *x, {tensor} *old, long n) "
                     f"{{ for (long i = 0; i < n; ++i) old[i] = {name}(p, x[i]); }}")  # fmt: skip
    return lib.build(tmp_path_factory.mktemp("atomic"))


def call(library, name, start, x):
    p = np.array([start], x.dtype)
    old = np.zeros_like(x)
    getattr(library.native, f"do_qd_{name}")(
        *(ctypes.c_void_p(a.ctypes.data) for a in (p, x, old)), ctypes.c_long(len(x))
    )
    return p[0], old


def step(op, a, b, t):
    if t is u1:
        op = {"add": "xor", "sub": "xor", "mul": "and"}.get(op, op)
    functions = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.fmin, "max": np.fmax, "and": np.bitwise_and,
        "or": np.bitwise_or, "xor": np.bitwise_xor, "exchange": lambda a, b: b,
    }  # fmt: skip
    with np.errstate(over="ignore"):
        return functions[op](a, b)


@pytest.mark.parametrize("family", ["atomic", "plain"])
@pytest.mark.parametrize("t", DTYPES, ids=str)
def test_values_and_old_values(library, family, t):
    rng = np.random.default_rng(1)
    for op in operations(t):
        x = rng.integers(0, 2 if t is u1 else 100, 30).astype(t.numpy_name)
        if t.kind in "iu":
            x[:4] = [t.max, t.min, t.max, 3]
        if t.kind == "f" and op == "mul":
            x = (x / 64 + 0.5).astype(t.numpy_name)
        value, want_old = x[5], []
        for element in x:
            want_old.append(value)
            value = np.asarray(step(op, value, element, t), x.dtype)[()]
        got, old = call(library, f"{family}_{op}_{t}", x[5], x)
        tolerance = {f16: 1e-2, f32: 1e-5, f64: 1e-12}.get(t, 0)
        np.testing.assert_allclose(np.array([got, *old], np.float64 if t.kind == "f" else object).astype(float),
                                   np.array([value, *want_old]).astype(float), rtol=tolerance, err_msg=op)  # fmt: skip
        if t.kind in "iu":
            assert got == value and (old == np.array(want_old)).all(), op


@pytest.mark.parametrize("family", ["atomic", "plain"])
@pytest.mark.parametrize("t", [f16, f32, f64], ids=str)
def test_minimum_and_maximum_prefer_numbers(library, family, t):
    for op in ("min", "max"):
        for start, x in ((np.nan, 2.0), (2.0, np.nan)):
            assert call(library, f"{family}_{op}_{t}", start, np.array([x], t.numpy_name))[0] == 2
        assert np.isnan(call(library, f"{family}_{op}_{t}", np.nan, np.array([np.nan], t.numpy_name))[0])
        infinity = np.inf if op == "min" else -np.inf
        assert call(library, f"{family}_{op}_{t}", infinity, np.array([infinity], t.numpy_name))[0] == infinity


@pytest.mark.parametrize("family", ["atomic", "plain"])
@pytest.mark.parametrize("t", [t for t in DTYPES if t.kind in "iu"], ids=str)
def test_compare_and_swap(library, family, t):
    x = np.array([5, 6, 5, 7, 6, t.max], t.numpy_name)  # 5 -> 6, no 5 there any more, 6 -> max
    value, old = call(library, f"{family}_cas_{t}", 5, x)
    assert value == t.max and list(old[::2]) == [5, 6, 6]


@pytest.mark.parametrize("family", ["atomic", "plain"])
def test_tensors_update_element_by_element(library, family):
    for t, suffix in ((vector(3, f32), "vec3_f32"), (vector(17, i32), "vec17_i32")):
        x = np.arange(4 * t.count).reshape(4, t.count).astype(numpy_type(t).base)
        p, old = np.ones(t.count, x.dtype), np.zeros_like(x)
        function = getattr(library.native, f"do_qd_{family}_add_{suffix}")
        function(*(ctypes.c_void_p(a.ctypes.data) for a in (p, x, old)), ctypes.c_long(4))
        np.testing.assert_array_equal(p, 1 + x.sum(0))
        np.testing.assert_array_equal(old, 1 + np.cumsum(x, 0) - x)


@pytest.mark.parametrize("t", [f16, f32, f64, i32, u8, u32, i64], ids=str)
@pytest.mark.parametrize("op", ["add", "max"])
def test_no_update_is_lost(library, op, t):
    """ctypes releases the GIL, so the threads really contend."""
    rounds, threads = 20000, 4
    exact = 2000 if t is f16 else rounds * threads
    p = np.zeros(1, t.numpy_name)
    function = getattr(library.native, f"do_qd_atomic_{op}_{t}")
    start = threading.Barrier(threads)
    slots = []

    def work(k):
        n = exact // threads
        x = np.ones(n, t.numpy_name) if op == "add" else (np.arange(n) % 100 + k).astype(t.numpy_name)
        old = np.zeros_like(x)
        slots.append(old)
        start.wait()
        function(*(ctypes.c_void_p(a.ctypes.data) for a in (p, x, old)), ctypes.c_long(n))

    workers = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if op == "max":
        assert p[0] == 99 + threads - 1
    elif t is u8:
        assert p[0] == exact % 256
    else:
        assert p[0] == exact
        assert sorted(np.concatenate(slots)) == list(range(exact)), "every old value was handed out once"


def test_atomics_order_other_accesses():
    """On the CPU a plain store before an atomic is published by it."""
    lib = Library()
    for t, op in ((i32, "add"), (f32, "add"), (i32, "exchange")):
        lib.prelude.need("atomic", op, t)
    text = lib.source()
    assert text.count("__ATOMIC_SEQ_CST") == 3


def test_undefined_operations_are_errors():
    prelude = Library().prelude
    for op, t in (("and", f32), ("cas", f64), ("cas", vector(3, i32)), ("div", i32)):
        for family in ("atomic", "plain"):
            with pytest.raises(ValueError, match=f"{family} operation '{op}'"):
                prelude.need(family, op, t)
