"""data.md 9.3: what debug mode checks of buffer views, and the call stacks that it tells."""

import linecache

import numpy as np
import pytest
import view_module
from view_kit import touch_element, zeros

import quadrants as qd
from quadrants import BufferView

FAILS = qd.QuadrantsAssertionError


@qd.kernel
def touch_serially(v: BufferView[qd.f32], i: qd.i32):
    v[i] = 1.0


@qd.func
def touch(v: BufferView[qd.f32], i: qd.i32):
    v[i] = 2.0


@pytest.mark.runtime(debug=True)
@pytest.mark.parametrize("kernel", [touch_element, touch_serially], ids=["loop", "serial"])
def test_element_access_is_checked(arch, kernel) -> None:
    """9.6.14, 15: first index outside raises with the view's own numbers, the access is not performed."""
    a = zeros()
    name = kernel.fn.__name__
    for i in (16, -1, 2**31 - 1, -(2**31)):
        with pytest.raises(FAILS) as caught:
            kernel(a[8:24], i)
        lines = str(caught.value).split("\n")
        assert lines[0] == ""
        assert lines[1] == f"BufferView Out Of Range: kernel[{name}] tid=0, got index {i} (offset=8, size=16)."
        assert lines[2] == "Callstack:"
        assert lines[3].startswith(f"{name} ({kernel.fn.__code__.co_filename}:") and lines[4:] == []
        assert not a.to_numpy().any()
    kernel(a[8:24], 15)
    assert np.flatnonzero(a.to_numpy()).tolist() == [23]


@qd.kernel
def touch_far(v: BufferView[qd.f32], far: qd.i64):
    v[far] = 1.0


@qd.kernel
def window_far(v: BufferView[qd.f32], far: qd.i64):
    v.subview(far, 1)[0] = 1.0


@qd.kernel
def window_wide(v: BufferView[qd.f32], far: qd.i64):
    v.subview(0, far + 1)[0] = 1.0


@qd.kernel
def slice_far(v: BufferView[qd.f32], far: qd.i64):
    w = v[far:]
    w[0] = 1.0


@qd.kernel
def slice_wide(v: BufferView[qd.f32], far: qd.i64):
    w = v[: far + 1]
    w[0] = 1.0


@qd.kernel
def make_far(a: qd.types.ndarray(qd.f32, ndim=1), far: qd.i64):
    w = BufferView(a, far, 1)
    w[0] = 1.0


FAR = {
    touch_far: "got index 4294967296 (offset=8, size=16).",
    window_far: "subview offset=4294967296, subview size=1, parent size=16.",
    window_wide: "subview offset=0, subview size=4294967297, parent size=16.",
    slice_far: "subview offset=4294967296, subview size=-4294967280, parent size=16.",
    slice_wide: "subview offset=0, subview size=4294967297, parent size=16.",
    make_far: "offset=4294967296, size=1, ndarray length=32.",
}


@pytest.mark.runtime(debug=True)
@pytest.mark.parametrize("kernel", FAR, ids=lambda kernel: kernel.fn.__name__)
def test_numbers_of_64_bits_keep_their_value(arch, kernel) -> None:
    a = zeros()
    x = a if kernel is make_far else a[8:24]
    with pytest.raises(FAILS) as caught:
        kernel(x, 2**32)
    assert FAR[kernel] in str(caught.value)
    assert not a.to_numpy().any()
    kernel(x, 0)
    assert a.to_numpy().sum() == 1


def test_an_index_of_64_bits_is_checked_where_bounds_are(init) -> None:
    init(check_out_of_bound=True)
    with pytest.raises(FAILS, match=r"Out of bound access to ndarray at arg 0 with indices \[4294967296\]"):
        touch_far(zeros()[8:24], 2**32)


@pytest.mark.runtime(debug=True)
def test_messages_have_accumulated_numbers(arch) -> None:
    @qd.kernel
    def run(v: BufferView[qd.f32], i: qd.i32):
        for _ in range(1):
            w = v[4:12][2:4]
            w[i] = 1.0

    with pytest.raises(FAILS, match=r"kernel\[run\] tid=\d+, got index 2 \(offset=14, size=2\)\."):
        run(zeros()[8:24], 2)


@pytest.mark.parametrize("mode", ["debug", "check_out_of_bound"])
@pytest.mark.parametrize("t", [qd.u32, qd.i64, qd.u64], ids=str)
def test_indices_are_checked_by_their_value(init, t, mode) -> None:
    """Not by what is left of it in 32 bits."""
    init(**{mode: True})

    @qd.kernel
    def run(v: BufferView[qd.f32], i: t):
        v[i] = 1.0

    a, k = zeros(), 2 ** (t.bits - 1) + 3
    for i in (2**31 + 3, k, 2**t.bits - 3) if t is not qd.i64 else (2**32 + 3, -(2**32) + 3, -(2**63)):
        with pytest.raises(FAILS, match=rf"got index {i} \(|indices \[{i}\]"):
            run(a[8:24], i)
        assert not a.to_numpy().any()
    run(a[8:24], 3)
    assert a[11] == 1


@qd.func
def middle(v, i):
    touch(v, i)


@qd.func
def recursive(v: BufferView[qd.f32], n: qd.template()):
    if qd.static(n > 0):
        recursive(v, n - 1)
    else:
        v[v.size] = 1.0


@qd.kernel
def through_funcs(v: BufferView[qd.f32], i: qd.i32, j: qd.i32):
    for _ in range(1):
        touch(v, i)
        middle(v, j)


@qd.kernel
def through_modules(v: BufferView[qd.f32], i: qd.i32, j: qd.i32):
    for _ in range(1):
        touch(v, i)
        view_module.touch(v, j)


@qd.kernel
def through_recursion(v: BufferView[qd.f32]):
    recursive(v, 2)


def stack_of(call, *args) -> list:
    """(depth, name, file, text of the line) of every frame in the message of a failing launch."""
    with pytest.raises(FAILS) as caught:
        call(*args)
    out = []
    for line in str(caught.value).split("Callstack:\n")[1].split("\n"):
        name, _, place = line.strip().partition(" (")
        file, _, number = place.rstrip(")").rpartition(":")
        out.append(((len(line) - len(line.lstrip())) // 2, name, file, linecache.getline(file, int(number)).strip()))
    return out


@pytest.mark.runtime(debug=True)
def test_callstacks(arch) -> None:
    """9.6.16: one frame per function, nested, each with the line of the call or access, whichever path leads there."""
    v = zeros()[:8]
    kernel = (0, "through_funcs", __file__)
    assert stack_of(through_funcs, v, 8, 0) == [(*kernel, "touch(v, i)"), (1, "touch", __file__, "v[i] = 2.0")]
    assert stack_of(through_funcs, v, 0, 8) == [
        (*kernel, "middle(v, j)"),
        (1, "middle", __file__, "touch(v, i)"),
        (2, "touch", __file__, "v[i] = 2.0"),
    ]
    through_funcs(v, 0, 7)


@pytest.mark.runtime(debug=True)
def test_callstacks_tell_files_apart(arch) -> None:
    """9.6.17: (file, function) decides; direct recursion collapses to one frame."""
    v = zeros()[:8]
    assert [row[1:3] for row in stack_of(through_modules, v, 8, 0)][-1] == ("touch", __file__)
    assert [row[1:3] for row in stack_of(through_modules, v, 0, 8)][-1] == ("touch", view_module.__file__)
    assert [row[:2] for row in stack_of(through_recursion, v)] == [(0, "through_recursion"), (1, "recursive")]


@pytest.mark.runtime(debug=True)
def test_long_callstacks_are_warned_about(arch, capfd) -> None:
    @qd.func
    def a_function_with_quite_a_long_name_so_that_not_many_of_them_are_needed_to_reach_the_limit_one(v):
        v[0] = 1.0

    @qd.func
    def a_function_with_quite_a_long_name_so_that_not_many_of_them_are_needed_to_reach_the_limit_two(
        v, n: qd.template()
    ):
        if qd.static(n > 0):
            a_function_with_quite_a_long_name_so_that_not_many_of_them_are_needed_to_reach_the_limit_three(v, n - 1)
        else:
            a_function_with_quite_a_long_name_so_that_not_many_of_them_are_needed_to_reach_the_limit_one(v)

    @qd.func
    def a_function_with_quite_a_long_name_so_that_not_many_of_them_are_needed_to_reach_the_limit_three(
        v, n: qd.template()
    ):
        a_function_with_quite_a_long_name_so_that_not_many_of_them_are_needed_to_reach_the_limit_two(v, n)

    @qd.kernel
    def run(v: BufferView[qd.f32]):
        for _ in range(1):
            a_function_with_quite_a_long_name_so_that_not_many_of_them_are_needed_to_reach_the_limit_two(v, 6)

    run(zeros()[:4])
    out = capfd.readouterr()
    assert "Large callstack strings increase compiled binary size" in out.out + out.err
    with pytest.raises(FAILS) as caught:
        run(zeros()[:0])
    assert str(caught.value).count("limit_two") == 7


@pytest.mark.runtime(debug=True)
def test_subviews_are_checked(arch) -> None:
    """9.6.18: with or without use of the result; an empty one at the end is fine."""

    @qd.kernel
    def subview(v: BufferView[qd.f32], o: qd.i32, s: qd.i32):
        for _ in range(1):
            w = v.subview(o, s)  # noqa: F841 - making it is what is checked

    @qd.kernel
    def sliced(v: BufferView[qd.f32], a: qd.i32, b: qd.i32):
        w = v[2:6][a:b]
        if w.size > 0:
            w[0] = 1.0

    v = zeros()[8:24]
    subview(v, 16, 0)
    subview(v, 0, 16)
    for o, s in ((16, 1), (-1, 2), (3, -1), (2**31 - 1, 2), (2, 2**31 - 1)):
        with pytest.raises(FAILS) as caught:
            subview(v, o, s)
        text = str(caught.value)
        assert f"tid=0, subview offset={o}, subview size={s}, parent size=16.\nCallstack:\nsubview (" in text
        assert text.startswith("\nBufferView subview Out Of Range: kernel[subview]")
    sliced(v, 1, 4)
    with pytest.raises(FAILS, match="subview offset=1, subview size=4, parent size=4"):
        sliced(v, 1, 5)


@pytest.mark.runtime(debug=True)
def test_construction_is_checked(arch) -> None:
    """9.6.19: past the end, and negative numbers; no kernel name, no call stack."""

    @qd.kernel
    def run(a: qd.types.ndarray(dtype=qd.f32, ndim=1), o: qd.i32, s: qd.i32):
        for _ in range(1):
            v = BufferView(a, o, s)
            if v.size > 0:
                v[0] = 1.0

    a = zeros()
    run(a, 24, 8)
    run(a, 32, 0)
    for o, s in ((28, 8), (-1, 4), (0, -1)):
        with pytest.raises(FAILS) as caught:
            run(a, o, s)
        assert str(caught.value) == f"\nBufferView construction out of range: offset={o}, size={s}, ndarray length=32."


@pytest.mark.runtime(debug=True)
@pytest.mark.parametrize("t", [qd.u32, qd.i64, qd.u64], ids=str)
def test_bounds_of_windows_are_checked_by_their_value(arch, t) -> None:
    @qd.kernel
    def subview(v: BufferView[qd.f32], a: t, b: t):
        w = v.subview(a, b)
        w[0] = 1.0

    @qd.kernel
    def sliced(v: BufferView[qd.f32], a: t, b: t):
        w = v[a:b]
        w[0] = 2.0

    @qd.kernel
    def constructed(v: qd.types.ndarray(dtype=qd.f32, ndim=1), a: t, b: t):
        w = BufferView(v, a, b)
        w[0] = 3.0

    a, beyond = zeros(), 2**32 if t.bits == 64 else 2**31
    cases = [
        (subview, a[8:24], beyond, 4, f"offset={beyond}, subview size=4,"),
        (subview, a[8:24], 0, beyond + 4, f"offset=0, subview size={beyond + 4},"),
        (sliced, a[8:24], beyond, beyond + 4, f"offset={beyond}, subview size=4,"),
        (sliced, a[8:24], 0, beyond + 4, f"offset=0, subview size={beyond + 4},"),
        (sliced, a[8:24], 5, 2, "offset=5, subview size=-3,"),
        (constructed, a, beyond, 4, f"offset={beyond}, size=4,"),
        (constructed, a, 0, beyond + 4, f"offset=0, size={beyond + 4},"),
        (constructed, a, t.max, t.max, f"offset={t.max}, size={t.max},"),
    ]
    for kernel, v, first, second, text in cases:
        with pytest.raises(FAILS, match=text):
            kernel(v, first, second)
        assert not a.to_numpy().any()
    subview(a[8:24], 1, 15)
    sliced(a[8:24], 2, 16)
    constructed(a, 3, 29)
    assert np.flatnonzero(a.to_numpy()).tolist() == [3, 9, 10]


@pytest.mark.runtime(debug=True)
def test_constant_bounds_of_windows_are_checked(arch) -> None:
    @qd.kernel
    def run(a: qd.types.ndarray(dtype=qd.f32, ndim=1)):
        v = BufferView(a, 2**32, 4)
        v[0] = 1.0

    with pytest.raises(FAILS, match=f"offset={2**32}, size=4, ndarray length=32"):
        run(zeros())


@pytest.mark.runtime(debug=True)
def test_worker_numbers(arch) -> None:
    """tid names the worker that failed."""

    @qd.kernel
    def run(v: BufferView[qd.f32], n: qd.i32):
        for i in range(n):
            v[i] = 1.0

    with pytest.raises(FAILS, match=r"kernel\[run\] tid=\d+, got index \d+ \(offset=0, size=32\)"):
        run(zeros()[:], 100000)
