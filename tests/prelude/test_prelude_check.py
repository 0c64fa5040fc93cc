"""Failure records, the way out of failed work, overflow reports and the structs shared with the launch core."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from prelude_kit import INTS, Library, integer_samples

from quadrants._ext import core
from quadrants.ir.types import f32, i32, u1
from quadrants.toolchain import cc

ABI = Path(core.__file__).with_name("qd_abi.h")


class Value(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double)]


class Error(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("flag", "site", "count", "worker")]
    _fields_ += [("kinds", ctypes.c_int64), ("values", Value * 24)]


PRINT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


class Runtime(ctypes.Structure):
    _fields_ = [
        ("abi", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("seed", ctypes.c_uint64),
        ("launch", ctypes.c_uint64),
    ]
    _fields_ += [("error", Error), ("parallel", ctypes.c_void_p), ("print", PRINT)]


def test_a_failure_is_recorded_and_leaves_the_work(tmp_path):
    lib = Library()
    fail = lib.prelude.need("check", "fail", "ifu")
    bare = lib.prelude.need("check", "fail", "")
    full = lib.prelude.need("check", "fail", "f" * 24)
    assert (fail, bare) == ("qd_fail_ifu", "qd_fail")
    lib.text(f"""
static __attribute__((noinline)) int deep(qd_lane *lane, int depth, int x) {{
    if (depth > 0)
        return deep(lane, depth - 1, x) + 1;
    if (x >= 10)
        {fail}(lane, 42, x, 0.5 * x, -1);
    if (x < 0)
        {bare}(lane, 7);
    if (x == 9)
        {full}(lane, 24, {", ".join(map(str, range(24)))});
    return x;
}}
int run(qd_runtime *rt, int32_t worker, int first, int *done) {{
    qd_lane lane;
    lane.rt = rt;
    lane.worker = worker;
    if (__builtin_setjmp(lane.escape))
        return -1;
    for (int x = first; x < first + 5; ++x)
        done[x - first] = deep(&lane, 3, x);
    return 1;
}}""")
    lib.build(tmp_path)
    rt, done = Runtime(), (ctypes.c_int * 5)()
    run = lib.native.run
    assert run(ctypes.byref(rt), 0, 1, done) == 1 and list(done) == [4, 5, 6, 7, 8] and rt.error.flag == 0
    done = (ctypes.c_int * 5)()
    assert run(ctypes.byref(rt), 3, 10, done) == -1 and list(done) == [0] * 5
    error = rt.error
    assert (error.flag, error.site, error.count, error.worker, error.kinds) == (2, 42, 3, 3, 0b010 | 1 << 34)
    assert (error.values[0].i, error.values[1].f, error.values[2].i) == (10, 5.0, -1)
    assert run(ctypes.byref(rt), 1, -3, done) == -1
    assert rt.error.site == 42, "later failures are dropped"
    rt.error.flag = 0
    assert run(ctypes.byref(rt), 1, -3, done) == -1 and (rt.error.site, rt.error.count) == (7, 0)
    rt.error.flag = 0
    assert run(ctypes.byref(rt), 1, 9, done) == -1 and rt.error.count == 24
    assert [v.f for v in rt.error.values] == list(range(24)) and rt.error.kinds == 2**24 - 1


@pytest.mark.parametrize("t", INTS, ids=str)
def test_overflow_is_reported_and_wraps(t, tmp_path):
    lib = Library()
    scalar = lib.prelude.type(t)
    for op in ("add", "sub", "mul", "shl"):
        name = lib.prelude.need("check", op, t)
        lib.text(f"""void {op}(qd_runtime *rt, {scalar} *r, {scalar} *a, {scalar} *b, long n) {{
    qd_lane lane;
    lane.rt = rt;
    for (long i = 0; i < n; ++i)
        r[i] = {name}(&lane, "here", a[i], b[i]);
}}""")
    lib.build(tmp_path)
    said = []
    rt = Runtime(print=PRINT(lambda _, form, where: said.append((form, where))))
    a, b = integer_samples(t, 200, 1), integer_samples(t, 200, 2)
    rules = {
        "add": (int.__add__, b"Addition"), "sub": (int.__sub__, b"Subtraction"),
        "mul": (int.__mul__, b"Multiplication"),
        "shl": (int.__lshift__, b"Shift left"),
    }  # fmt: skip
    for op, (rule, what) in rules.items():
        right = b if op != "shl" else (np.arange(200) % t.bits).astype(b.dtype)
        want = [rule(int(x), int(y)) for x, y in zip(a, right, strict=True)]
        r = np.zeros_like(a)
        said.clear()
        getattr(lib.native, op)(
            ctypes.byref(rt), *(ctypes.c_void_p(x.ctypes.data) for x in (r, a, right)), ctypes.c_long(200)
        )
        overflows = sum(not t.min <= w <= t.max for w in want)
        assert overflows > 0 and said == [(what + b" overflow detected in %s\n", b"here")] * overflows
        assert all((int(got) - w) % (1 << t.bits) == 0 for got, w in zip(r, want, strict=True))


def test_the_structs_are_those_of_the_launch_core(tmp_path):
    """Offsets and sizes, in our text and in the header of the launch core."""
    lib = Library()
    lib.prelude.need("lane")
    fields = ["abi", "threads", "seed", "launch", "error", "parallel", "print"]
    fields += [f"error.{x}" for x in ("flag", "site", "count", "worker", "kinds", "values", "values[23].f")]
    body = "long layout(int k) { switch (k) {\n"
    body += "".join(f"case {k}: return __builtin_offsetof(struct qd_runtime, {f});\n" for k, f in enumerate(fields))
    body += f"case {len(fields)}: return sizeof(struct qd_runtime);\n}} return sizeof(struct qd_error); }}\n"
    lib.text(body)
    lib.build(tmp_path)
    header = tmp_path / "header.so"
    header.write_bytes(cc.compile(ABI.read_text() + body, name="header", options=cc.CcOptions()))
    other = ctypes.CDLL(str(header))
    for k in range(len(fields) + 2):
        assert lib.native.layout(k) == other.layout(k), (fields + ["size", "size of error"])[k]


def test_bad_requests_are_errors():
    prelude = Library().prelude
    for op, what in (("fail", "x"), ("fail", "i" * 25), ("add", f32), ("add", u1), ("div", i32)):
        with pytest.raises(ValueError):
            prelude.need("check", op, what)
