"""data.md 9.3, 9.6.21: what a view costs when debug mode is off, read in the text of kernels for every dialect."""

import re

import numpy as np
import pytest
from view_kit import iota, touch_element, zeros

import quadrants as qd
from quadrants import BufferView

DIALECTS = ("c", "cuda", "hip")


@qd.kernel
def scale(v: BufferView[qd.f32], k: qd.f32):
    for i in range(v.size):
        v[i] = k * v[i]


@qd.kernel
def by_hand(v: qd.types.ndarray(dtype=qd.f32, ndim=1), v_offset: qd.i32, v_size: qd.i32, k: qd.f32):
    for i in range(v_size):
        v[v_offset + i] = k * v[v_offset + i]


@qd.kernel
def windows(v: BufferView[qd.f32], n: qd.i32):
    for i in range(n):
        w = v[4 * i : 4 * i + 4]
        w[1] = w[0]
        u = w.subview(2, 2)[1:]
        u[0] = 1.0


@qd.func
def put(v: BufferView[qd.f32], i: qd.i32):
    v[i] = 1.0


@qd.kernel
def through_func(v: BufferView[qd.f32]):
    for i in range(v.size):
        put(v, i)


def members(text: str, kernel) -> list[str]:
    """The declarations in the argument block of a kernel."""
    block = text.split(f"struct qd_args_{kernel.fn.__name__} {{\n")[1].split("}")[0]
    return [line.strip().rstrip(";") for line in block.splitlines() if line.strip()]


def indices(text: str, name: str = "v") -> list[str]:
    """What the array is indexed with, access by access."""
    return re.findall(rf"\b{name}\[([^][]*)\]", text)


def without_casts(index: str) -> str:
    return index.replace("(int64_t)", "")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_pointer_one_offset_one_size(arch, dialect):
    """The argument block has nothing else of a view, and a kernel that does not ask for the size does not read it."""
    text = scale.source(zeros()[8:24], 2.0, arch=dialect)
    assert members(text, scale) == ["float *v", "int32_t v_offset", "int32_t v_size", "float k"]
    unsized = windows.source(zeros()[8:24], 2, arch=dialect)
    assert "v_size" not in unsized.split("windows_0")[1]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_addition_per_access(arch, dialect):
    text = scale.source(zeros()[8:24], 2.0, arch=dialect)
    assert [without_casts(x) for x in indices(text)] == ["v_offset + i"] * 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_checks_no_strings(arch, dialect):
    """Nothing of debug mode is left: no branch, call, failure record or thread number."""
    for text in (scale.source(zeros()[:], 2.0, arch=dialect), through_func.source(zeros()[:], arch=dialect)):
        assert not re.search(r"qd_fail|Out Of Range|Callstack|printf", text[text.index("struct qd_args") :])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_of_a_kernel_written_by_hand(arch, dialect):
    """But for the extent that comes with every array argument, the text is the same to the letter."""
    a = zeros()
    first, second = scale.source(a[:], 2.0, arch=dialect), by_hand.source(a, 0, 32, 2.0, arch=dialect)
    assert first.replace("scale", "by_hand") == second.replace("    int32_t v_shape[1];\n", "")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_windows_made_in_kernels(arch, dialect):
    """A window costs the sum that is its offset; its size costs nothing until somebody asks for it."""
    text = windows.source(zeros()[:], 8, arch=dialect)
    task = text[text.index("windows_0") :]
    declared = re.findall(r"const int32_t (t\w*) = ([^;]*);", task)
    assert all(task.count(name) > 1 for name, _ in declared), declared
    assert all(value.count("+") <= 1 for _, value in declared if "blockIdx" not in value)
    assert len(indices(task)) == 3 and all(x.count("+") == 1 for x in indices(task))


def test_a_clamped_view_has_the_extent_of_its_array(arch):
    @qd.kernel
    def read(v: BufferView[qd.f32, "clamp"], i: qd.i32) -> qd.f32:  # noqa: F821 - "clamp" is no forward reference
        return v[i]

    assert {"int32_t v_shape[1]", "int v_shape[1]"} & set(members(read.source(zeros()[:], 0), read))


@pytest.mark.parametrize("t", [qd.u32, qd.i64, qd.u64], ids=str)
def test_clamped_views_limit_the_value_of_an_index(arch, t) -> None:
    """What i32 does not hold is outside, also where the sum with the offset leaves 64 bits."""

    @qd.kernel
    def read(v: BufferView[qd.f32, "clamp"], i: t) -> qd.f32:  # noqa: F821 - "clamp" is no forward reference
        return v[i]

    a, found = iota(), {0: 8, 3: 11, 24: 31, 2**31: 31}
    if t.bits == 32:
        found.update({2**32 - 1: 31, 2**32 - 8: 31})
    else:
        found.update({2**32 + 1: 31, 2**63 - 1: 31, 2**63 - 8: 31})
    if t.is_signed:
        found.update({-1: 7, -(2**31) - 1: 0, -(2**32) + 1: 0, -(2**63): 0})
    if t is qd.u64:
        found.update({2**64 - 1: 31, 2**63 + 1: 31})
    assert {i: read(a[8:12], i) for i in found} == found


def test_leaving_a_view_without_debug(arch) -> None:
    """9.6.21: touches its neighbours in the ndarray."""
    a = zeros()
    touch_element(a[8:16], 8)
    touch_element(a[8:16], -1)
    assert np.flatnonzero(a.to_numpy()).tolist() == [7, 16]


@pytest.mark.parametrize("n", [0, 1, 7, 64])
def test_wide_indices_are_those_of_32_bits(arch, n):
    """Sums of offsets of either sign, differences and products reach the same elements whatever their width."""

    @qd.kernel
    def run(v: BufferView[qd.i32], x: qd.types.ndarray(dtype=qd.i32, ndim=1), a: qd.i32, b: qd.i32):
        for i in range(v.size):
            v[i] = x[a + i] - x[i - b] + x[3 + (a - b + 2 * i) - (i - b)]

    a, x = zeros(n + 8, qd.i32), qd.ndarray(qd.i32, (2 * n + 32,))
    x.from_numpy(np.arange(2 * n + 32, dtype=np.int32) ** 2)
    run(a[4 : 4 + n], x, 5, -6)
    i, squares = np.arange(n), np.arange(2 * n + 32) ** 2
    assert a.to_numpy()[4 : 4 + n].tolist() == (squares[5 + i] - squares[i + 6] + squares[8 + i]).tolist()
    assert not a.to_numpy()[:4].any() and not a.to_numpy()[4 + n :].any()
