"""What algorithms refuse at the user's line; views as arrays; what debug mode says of them."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from algorithms.algorithms_kit import NUMPY, numbers, scratch_type

import quadrants as qd

al = qd.algorithms
N = 64


def field(made):
    return made if hasattr(made, "shape") else qd.field(made, 320)  # as many as any scratch needs


def sort(dtype=qd.i32, end_bit=32, n=N, has_values=True, *, keys=qd.i32, tmp=qd.i32, values=qd.f32, tmp_values=qd.f32,
         scratch=qd.u32):  # fmt: skip
    k, tk, v, tv, s = (field(made) for made in (keys, tmp, values, tmp_values, scratch))

    @qd.kernel
    def run():
        al.sort(k, tk, v, tv, s, n, dtype, has_values, end_bit, 1)

    run()


def reduce(dtype=qd.i32, n=N, *, arr=qd.i32, out=qd.i32, scratch=qd.u32):
    x, y, s = (field(made) for made in (arr, out, scratch))

    @qd.kernel
    def run():
        al.reduce_min(x, y, s, n, dtype, 1)

    run()


def scan(dtype=qd.i32, n=N, *, arr=qd.i32, out=qd.i32, scratch=qd.u32):
    x, y, s = (field(made) for made in (arr, out, scratch))

    @qd.kernel
    def run():
        al.exclusive_scan_add(x, y, s, n, dtype, 1)

    run()


def select(n=N, *, arr=qd.f32, flags=qd.i32, out=qd.f32, count=qd.i32, scratch=qd.u32):
    x, f, y, c, s = (field(made) for made in (arr, flags, out, count, scratch))

    @qd.kernel
    def run():
        al.select(x, f, y, c, s, n, 1)

    run()


def by_key(dtype=qd.f32, n=N, *, keys=qd.i32, values=qd.f32, out=qd.i32, sums=qd.f32, count=qd.i32, scratch=qd.u32):
    k, v, ko, vo, c, s = (field(made) for made in (keys, values, out, sums, count, scratch))

    @qd.kernel
    def run():
        al.reduce_by_key_add(k, v, ko, vo, c, s, n, dtype, 1)

    run()


ALL = (sort, reduce, scan, select, by_key)


@pytest.mark.parametrize("call", ALL)
def test_dtypes_that_fit(arch, call):
    call()


@pytest.mark.parametrize(
    ("call", "options", "text"),
    [
        (sort, {"dtype": qd.u32}, "qd.algorithms.sort: keys is an array of i32, not of u32; pass key_dtype=qd.i32"),
        (sort, {"keys": qd.f32}, "sort: keys is an array of f32, not of i32"),
        (sort, {"tmp": qd.u32}, "sort: tmp_keys is an array of u32, not of i32"),
        (sort, {"tmp_values": qd.i32}, "sort: tmp_values is an array of i32, not of f32"),
        (sort, {"scratch": qd.i32}, "sort: scratch is an array of i32, not of u32; qd.algorithms.sort_scratch_slots"),
        (sort, {"end_bit": 16}, "end_bit=16 must be 32 for i32 keys"),
        (sort, {"dtype": qd.f32, "keys": qd.f32, "end_bit": 16}, "end_bit=16 must be 32 for f32 keys"),
        (sort, {"n": 2.5}, "sort: n must be an integer"),
        (reduce, {"dtype": qd.f32}, "reduce_min: arr is an array of i32, not of f32; pass dtype=qd.i32"),
        (reduce, {"out": qd.u32}, "reduce_min: out is an array of u32, not of i32"),
        (reduce, {"scratch": qd.u64}, "reduce_min: scratch is an array of u64, not of u32"),
        (reduce, {"dtype": qd.u64, "arr": qd.u64, "out": qd.u64}, "reduce_min: scratch is an array of u32, not of u64"),
        (scan, {"arr": qd.u32}, "exclusive_scan_add: arr is an array of u32, not of i32; pass dtype=qd.u32"),
        (scan, {"out": qd.f32}, "exclusive_scan_add: out is an array of f32, not of i32"),
        (scan, {"scratch": qd.f32}, "exclusive_scan_add: scratch is an array of f32, not of u32"),
        (scan, {"n": 2.5}, "exclusive_scan_add: n must be an integer"),
        (select, {"flags": qd.f32}, "select: flags is an array of f32, not of i32"),
        (select, {"count": qd.u32}, "select: num_out is an array of u32, not of i32"),
        (select, {"scratch": qd.i32}, "select: scratch is an array of i32, not of u32"),
        (by_key, {"values": qd.i32}, "reduce_by_key_add: values_in is an array of i32, not of f32; pass value_dtype="),
        (by_key, {"sums": qd.i32}, "reduce_by_key_add: values_out is an array of i32, not of f32"),
        (by_key, {"out": qd.f32}, "reduce_by_key_add: keys_out is an array of f32, not of i32"),
        (by_key, {"count": qd.f32}, "reduce_by_key_add: num_runs is an array of f32, not of i32"),
        (by_key, {"scratch": qd.u64}, "reduce_by_key_add: scratch is an array of u64, not of u32"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_at_the_users_line(arch, call, options, text):
    with pytest.raises(qd.QuadrantsCompilationError, match=re.escape(text)) as caught:
        call(**options)
    places = re.findall(r'File "([^"]*)"', str(caught.value))
    assert places == [__file__], str(caught.value)


@pytest.mark.parametrize("call", ALL)
def test_axes_offsets_and_counts_that_are_arrays(arch, call):
    name = "keys" if call in (sort, by_key) else "arr"
    dtype = qd.f32 if call is select else qd.i32
    with pytest.raises(qd.QuadrantsTypeError, match=r"must have one axis, and has 2"):
        call(**{name: qd.field(dtype, (8, 8))})
    with pytest.raises(qd.QuadrantsTypeError, match=r"is a field with an offset of \(-20,\)"):
        call(**{name: qd.field(dtype, N, offset=-20)})
    call(**{name: qd.field(dtype, N, offset=0)})
    count = qd.field(qd.i32, ())
    if call is sort:
        call(n=count)
    else:
        with pytest.raises(qd.QuadrantsTypeError, match=r"n must be an integer; pass an element of it"):
            call(n=count)


def test_values_are_not_asked_for_without_has_values(arch):
    sort(has_values=False, values=qd.i32, tmp_values=qd.f32)


def test_views_are_arrays(arch):
    views = {"k": qd.i32, "t": qd.i32, "s": qd.u32}

    @qd.kernel
    def run(
        k: qd.BufferView[qd.i32], t: qd.BufferView[qd.i32], total: qd.BufferView[qd.i32], s: qd.BufferView[qd.u32],
        n: qd.i32,
    ):  # fmt: skip
        al.sort(k, t, k, t, s, n, qd.i32, False, 32, 2)
        al.reduce_add(k, total, s, n, qd.i32, 2)
        al.exclusive_scan_add(k, t, s, n, qd.i32, 2)

    x, y, s = (qd.ndarray(dtype, 1400) for dtype in views.values())
    values = np.random.default_rng(0).integers(-99, 99, 1400).astype(np.int32)
    x.from_numpy(values)
    run(x[100:1300], y[50:1250], y[1399:1400], s[20:], 1100)
    expected = values.copy()
    expected[100:1200] = np.sort(values[100:1200])
    np.testing.assert_array_equal(x.to_numpy(), expected)
    assert y.to_numpy()[1399] == values[100:1200].sum()
    np.testing.assert_array_equal(y.to_numpy()[50:1150], np.cumsum(expected[100:1200]) - expected[100:1200])


def test_the_dtype_of_a_view(arch):
    @qd.kernel
    def zero(v: qd.BufferView[qd.u8]) -> qd.i32:
        return qd.static(v.dtype.bits) + qd.cast(v[0], v.dtype)

    x = qd.ndarray(qd.u8, 4)
    x.fill(3)
    assert zero(x[1:]) == 11


@pytest.mark.parametrize("levels", [1, 2])
def test_scratch_of_one_slot_for_no_elements_is_silent(arch, levels):
    k, tk = qd.field(qd.i32, 1), qd.field(qd.i32, 1)
    s = qd.field(qd.u32, al.sort_scratch_slots(0, levels))

    @qd.kernel
    def run():
        al.sort(k, tk, k, tk, s, 0, qd.i32, False, 32, levels)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run()


@pytest.mark.runtime(debug=True)
@pytest.mark.parametrize("name", ["i32", "u64", "f32"])
def test_debug_mode_finds_nothing_to_report(arch, capfd, name):
    """Of numbers over the whole range: what wraps on the way is meant to."""
    dtype = getattr(qd, name)
    for n, levels in ((50, 1), (9000, 2)):

        @qd.kernel
        def run(x: qd.types.ndarray(), y: qd.types.ndarray(), s: qd.types.ndarray()):
            al.sort(x, y, x, y, s, n, dtype, False, dtype.bits, levels)  # noqa: B023  # a kernel a length

        x, y, s = qd.ndarray(dtype, n), qd.ndarray(dtype, n), qd.ndarray(qd.u32, al.sort_scratch_slots(n, levels))
        values = numbers(name, n)
        x.from_numpy(values)
        run(x, y, s)
        qd.sync()
        np.testing.assert_array_equal(x.to_numpy(), np.sort(values))
    found = capfd.readouterr()
    assert "overflow" not in found.out + found.err


@pytest.mark.runtime(debug=True)
def test_debug_mode_finds_nothing_in_folds_of_small_numbers(arch, capfd):
    n = 9000

    @qd.kernel
    def run(x: qd.types.ndarray(), y: qd.types.ndarray(), z: qd.types.ndarray(), c: qd.types.ndarray(),
            s: qd.types.ndarray()):  # fmt: skip
        al.reduce_add(x, c, s, n, qd.i32, 2)
        al.exclusive_scan_min(x, y, s, n, qd.i32, 2)
        al.select(x, x, y, c, s, n, 2)
        al.reduce_by_key_add(x, x, y, z, c, s, n, qd.i32, 2)

    x, y, z, c = (qd.ndarray(qd.i32, size) for size in (n, n, n, 1))
    s = qd.ndarray(scratch_type(qd.i32), al.select_scratch_slots(n))
    x.from_numpy((np.arange(n) % 2).astype(NUMPY["i32"]))
    run(x, y, z, c, s)
    qd.sync()
    assert c[0] == n
    found = capfd.readouterr()
    assert "overflow" not in found.out + found.err


@pytest.mark.cpu_only
@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("reduce_add(i, i, u, 4, qd.i32, 1)", "out is the array arr"),
        ("reduce_max(u, w, u, 4, qd.u32, 1)", "scratch is the array arr"),
        ("exclusive_scan_add(u, w, w, 4, qd.u32, 1)", "scratch is the array out"),
        ("select(i, f, o, o, u, 4, 1)", "num_out is the array out"),
        ("select(i, f, o, f, u, 4, 1)", "num_out is the array flags"),
        ("reduce_by_key_add(i, f, o, o, c, u, 4, qd.i32, 1)", "values_out is the array keys_out"),
        ("reduce_by_key_add(i, f, o, i, c, u, 4, qd.i32, 1)", "values_out is the array keys_in"),
    ],
)
def test_one_array_in_two_places_is_refused(arch, tmp_path, call, text):
    with pytest.raises(qd.QuadrantsCompilationError, match=text):
        _kernel_of(call, tmp_path)()


@pytest.mark.cpu_only
def test_what_is_only_read_may_be_one_array(arch, tmp_path):
    names = {}
    _kernel_of("select(f, f, o, c, u, 4, 1)", tmp_path, names)()
    assert names["c"].to_numpy()[0] == 0


def _kernel_of(call, tmp_path, names=None):
    names = {} if names is None else names
    path = tmp_path / "twice.py"
    path.write_text(
        "import quadrants as qd\n"
        "i, f, o, c = (qd.field(qd.i32, 2000) for _ in range(4))\n"
        "u, w = (qd.field(qd.u32, 2000) for _ in range(2))\n"
        "@qd.kernel\n"
        "def twice():\n"
        f"    qd.algorithms.{call}\n"
    )
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["twice"]
