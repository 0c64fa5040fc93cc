"""`qd.algorithms.reduce_*` and `exclusive_scan_*` against NumPy."""

import numpy as np
import pytest
from algorithms.algorithms_kit import NUMPY, SIZES, content, counter, guarded, least_levels, numbers, scratch_type

import quadrants as qd

al = qd.algorithms
FOLDS = {"add": np.add, "min": np.minimum, "max": np.maximum}


def identity(name, how):
    dtype = NUMPY[name]
    if how == "add":
        return dtype(0)
    if np.issubdtype(dtype, np.floating):
        return dtype(np.inf if how == "min" else -np.inf)
    return dtype(np.iinfo(dtype).max if how == "min" else np.iinfo(dtype).min)


def reducer(name, levels):
    dtype = getattr(qd, name)

    @qd.kernel
    def reduce(
        x: qd.types.ndarray(), sums: qd.types.ndarray(), least: qd.types.ndarray(), most: qd.types.ndarray(),
        s: qd.types.ndarray(), n: qd.types.ndarray(),
    ):  # fmt: skip
        al.reduce_add(x, sums, s, n[()], dtype, levels)
        al.reduce_min(x, least, scratch=s, n=n[()], dtype=dtype, log256_max_n=levels)
        al.reduce_max(x, most, s, n[()], dtype, levels)

    return reduce


def scanner(name, levels):
    dtype = getattr(qd, name)

    @qd.kernel
    def scan(
        x: qd.types.ndarray(), sums: qd.types.ndarray(), least: qd.types.ndarray(), most: qd.types.ndarray(),
        s: qd.types.ndarray(), n: qd.types.ndarray(),
    ):  # fmt: skip
        al.exclusive_scan_add(x, sums, s, n[()], dtype, levels)
        al.exclusive_scan_min(x, least, scratch=s, n=n[()], dtype=dtype, log256_max_n=levels)
        al.exclusive_scan_max(x, most, s, n[()], dtype, levels)

    return scan


def check_reduce(kernel, name, n, levels):
    dtype, values = getattr(qd, name), numbers(name, n)
    x = guarded(dtype, n, values)
    results = [guarded(dtype, 1) for _ in FOLDS]
    s = guarded(scratch_type(dtype), al.reduce_scratch_slots(n, levels))
    kernel(x, *results, s, counter(n))
    content(s)
    np.testing.assert_array_equal(content(x), values)
    for (how, fold), result in zip(FOLDS.items(), results, strict=True):
        got = content(result)[0]
        if how == "add" and np.issubdtype(NUMPY[name], np.floating):
            exact, size = np.sum(values, dtype=np.longdouble), np.abs(values).sum()
            assert abs(got - exact) <= (1e-5 if name == "f32" else 1e-13) * size
        else:
            expected = fold.reduce(values, dtype=NUMPY[name]) if n else identity(name, how)
            assert got == expected, (how, n)


def check_scan(kernel, name, n, levels):
    dtype, values = getattr(qd, name), numbers(name, n)
    x = guarded(dtype, n, values)
    results = [guarded(dtype, n) for _ in FOLDS]
    s = guarded(scratch_type(dtype), al.exclusive_scan_scratch_slots(n, levels))
    kernel(x, *results, s, counter(n))
    content(s)
    np.testing.assert_array_equal(content(x), values)
    for (how, fold), result in zip(FOLDS.items(), results, strict=True):
        got = content(result)
        if not n:
            continue
        assert got[0] == identity(name, how)
        if how == "add" and np.issubdtype(NUMPY[name], np.floating):
            exact = np.cumsum(values, dtype=np.longdouble)
            size = np.cumsum(np.abs(values))
            assert (np.abs(got[1:] - exact[:-1]) <= (1e-5 if name == "f32" else 1e-13) * size[:-1]).all()
        else:
            np.testing.assert_array_equal(got[1:], fold.accumulate(values, dtype=NUMPY[name])[:-1], f"{how} {n}")


@pytest.mark.parametrize("name", sorted(NUMPY))
def test_reductions_of_every_type_and_size(arch, name):
    for levels in (2, 3):
        kernel = reducer(name, levels)
        for n in SIZES:
            if 256**levels >= n:
                check_reduce(kernel, name, n, levels)


@pytest.mark.parametrize("name", sorted(NUMPY))
def test_scans_of_every_type_and_size(arch, name):
    for levels in (2, 3):
        kernel = scanner(name, levels)
        for n in SIZES:
            if 256**levels >= n:
                check_scan(kernel, name, n, levels)


@pytest.mark.parametrize("levels", [1, 4])
def test_the_least_and_the_largest_capacity(arch, levels):
    for n in (0, 1, 2, 256) if levels == 1 else (0, 1, 257, 5000):
        check_reduce(reducer("i32", levels), "i32", n, levels)
        check_scan(scanner("i32", levels), "i32", n, levels)


def test_a_scan_of_more_than_a_section(arch):
    # 1,024 tiles of 4,096 are a section of a chain with 32 lanes.
    n = 1024 * 4096 * 2 + 12345 if "cuda" in str(arch) else 1024 * 4096 + 4097
    check_scan(scanner("i32", 3), "i32", n, 3)


@pytest.mark.parametrize("fold", ["reduce", "scan"])
def test_sums_of_reals_are_alike_in_every_launch(arch, fold):
    n = 140001
    x = guarded(qd.f32, n, numbers("f32", n))
    kernel = (reducer if fold == "reduce" else scanner)("f32", 3)
    seen = set()
    for _ in range(3):
        out = [guarded(qd.f32, n) for _ in range(3)]
        s = guarded(qd.u32, al.reduce_scratch_slots(n, 3))
        kernel(x, *out, s, counter(n))
        seen.add(content(out[0]).tobytes())
    assert len(seen) == 1


def test_one_kernel_serves_all_counts_between_other_loops(arch):
    x, out, total = qd.field(qd.i32, 5000), qd.field(qd.i32, 5000), qd.field(qd.i32, 1)
    s, count = qd.field(qd.u32, 64), qd.field(qd.i32, 1)

    @qd.func
    def scanned():
        al.exclusive_scan_add(x, out, s, count[0], qd.i32, 2)

    @qd.kernel
    def step(k: qd.i32):
        for i in range(5000):
            x[i] = i % k
        scanned()
        for i in range(5000):
            out[i] += x[i]
        al.reduce_add(x, total, s, count[0], qd.i32, 2)

    for n, k in ((5000, 3), (0, 5), (4097, 7), (1, 2), (300, 11)):
        count[0] = n
        out.fill(0)
        step(k)
        values = np.arange(5000) % k
        np.testing.assert_array_equal(out.to_numpy()[:n], np.cumsum(values[:n]))
        np.testing.assert_array_equal(out.to_numpy()[n:], values[n:])
        assert total[0] == values[:n].sum()


def test_sums_of_integers_wrap(arch):
    x, out = guarded(qd.i32, 5000, np.full(5000, 2**30, np.int32)), guarded(qd.i32, 1)
    s = guarded(qd.u32, 64)
    reducer("i32", 2)(x, out, guarded(qd.i32, 1), guarded(qd.i32, 1), s, counter(4999))
    assert content(out)[0] == (4999 * 2**30 + 2**31) % 2**32 - 2**31


@pytest.mark.cpu_only
@pytest.mark.parametrize("op", ["reduce_add", "exclusive_scan_min"])
def test_folds_refuse_other_types_and_capacities(arch, op):
    x, out, s = qd.field(qd.f16, 4), qd.field(qd.f16, 4), qd.field(qd.u32, 4)
    run = getattr(al, op)

    def kernel(dtype, levels):
        @qd.kernel
        def fold():
            run(x, out, s, 4, dtype, levels)

        return fold

    with pytest.raises(qd.QuadrantsCompilationError, match="device reduce dtype f16 not supported"):
        kernel(qd.f16, 1)()
    with pytest.raises(qd.QuadrantsCompilationError, match="log256_max_n=5 exceeds the maximum of 4"):
        kernel(qd.f32, 5)()
    with pytest.raises(qd.QuadrantsCompilationError, match="log256_max_n=0 is below 1"):
        kernel(qd.f32, 0)()
    for levels in (1.5, 2.0, True):
        with pytest.raises(qd.QuadrantsCompilationError, match="log256_max_n must be an integer"):
            kernel(qd.f32, levels)()


@pytest.mark.cpu_only
def test_a_scan_refuses_to_be_in_place(arch):
    x, s = qd.field(qd.f32, 4), qd.field(qd.u32, 4)

    @qd.kernel
    def scan():
        al.exclusive_scan_add(x, x, s, 4, qd.f32, 1)

    with pytest.raises(qd.QuadrantsCompilationError, match="another array as out"):
        scan()


@pytest.mark.cpu_only
def test_folds_are_for_the_top_level_of_kernels(arch):
    x, s = qd.field(qd.f32, 4), qd.field(qd.u32, 4)

    @qd.func
    def inner():
        al.reduce_add(x, x, s, 4, qd.f32, 1)

    @qd.kernel
    def nested(n: qd.i32):
        if n > 0:
            inner()

    with pytest.raises(qd.QuadrantsSyntaxError, match="requires_top_level=True"):
        nested(1)
    with pytest.raises(qd.QuadrantsSyntaxError, match="cannot be called from Python-scope"):
        al.reduce_add(x, x, s, 4, qd.f32, 1)


@pytest.mark.cpu_only
def test_levels_by_default_are_the_least(arch):
    for n in (0, 1, 256, 257, 65536, 65537):
        assert al.reduce_scratch_slots(n) == al.reduce_scratch_slots(n, least_levels(n))


@pytest.mark.parametrize("how", ["min", "max"])
def test_nan_is_passed_over(arch, how):
    """As by qd.min and qd.max; of nothing but NaN the fold is the identity."""
    n = 5000
    least = getattr(np, f"f{how}")

    @qd.kernel
    def run(x: qd.types.ndarray(), y: qd.types.ndarray(), z: qd.types.ndarray(), s: qd.types.ndarray()):
        getattr(al, f"reduce_{how}")(x, y, s, n, qd.f32, 2)
        getattr(al, f"exclusive_scan_{how}")(x, z, s, n, qd.f32, 2)

    x, y, z = (qd.ndarray(qd.f32, size) for size in (n, 1, n))
    s = qd.ndarray(qd.u32, al.reduce_scratch_slots(n, 2))
    for places in ([0], [1, 300, n // 2, n - 1], slice(None)):
        values = numbers("f32", n)
        values[places] = np.nan
        x.from_numpy(values)
        run(x, y, z, s)
        running = least.accumulate(np.concatenate([[identity("f32", how)], values]))
        np.testing.assert_array_equal(z.to_numpy(), running[:-1])
        assert y[0] == running[-1]
