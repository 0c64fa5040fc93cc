"""Launches: how many iterations, which arguments, what comes back, and what goes wrong."""

from __future__ import annotations

import numpy as np
import pytest

import quadrants as qd


@qd.kernel
def fill_from(x: qd.types.ndarray(qd.i32, ndim=1), begin: qd.i32, end: qd.i32):
    for i in range(begin, end):
        x[i] = i


@qd.kernel
def fill_by_cell(x: qd.types.ndarray(qd.i32, ndim=1), n: qd.types.ndarray(qd.i32, ndim=0)):
    for i in range(n[None]):
        x[i] += 1


@qd.kernel
def products(x: qd.types.ndarray(qd.i32, ndim=2), n: qd.i32, m: qd.i64):
    for i, j in qd.ndrange(n, m):
        x[i, j] = 10 * i + j


@pytest.mark.parametrize("begin, end", [(0, 0), (3, 3), (5, 2), (0, 1), (0, 127), (0, 128), (1, 130), (0, 300)])
def test_ranges_of_any_length(arch, begin, end):
    x = qd.ndarray(qd.i32, (300,))
    x.fill(-1)
    fill_from(x, begin, end)
    expected = np.full(300, -1)
    expected[begin:end] = np.arange(begin, end)
    assert (x.to_numpy() == expected).all()


@pytest.mark.parametrize("n", [0, 1, 200, 100_000])
def test_a_count_that_only_the_device_knows(arch, n):
    x, count = qd.ndarray(qd.i32, (100_000,)), qd.ndarray(qd.i32, ())
    count[()] = n
    fill_by_cell(x, count)
    fill_by_cell(x, count)
    assert (x.to_numpy() == np.where(np.arange(100_000) < n, 2, 0)).all()


@pytest.mark.parametrize("n, m", [(0, 7), (7, 0), (1, 1), (13, 17), (-2, 5), (5, -2)])
def test_products_of_run_time_extents(arch, n, m):
    x = qd.ndarray(qd.i32, (20, 20))
    x.fill(-1)
    products(x, n, m)
    expected = np.full((20, 20), -1)
    n, m = max(n, 0), max(m, 0)
    expected[:n, :m] = 10 * np.arange(n)[:, None] + np.arange(m)
    assert (x.to_numpy() == expected).all()


def test_more_arguments_than_fit_by_value(arch, tmp_path, monkeypatch):
    """300 arrays: more bytes than some devices pass to a kernel."""
    count = 300
    text = [
        "import quadrants as qd",
        "@qd.kernel",
        f"def add({', '.join(f'a{k}: qd.types.ndarray(qd.f32, ndim=2)' for k in range(count))}, by: qd.f32) -> qd.f32:",
        "    for i in range(4):",
        *(f"        a{k}[i, 0] += {k} * by" for k in range(count)),
        "    return a7[2, 0]",
    ]
    (tmp_path / "many_arrays.py").write_text("\n".join(text) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    import many_arrays

    arrays = [qd.ndarray(qd.f32, (4, 2)) for _ in range(count)]
    assert many_arrays.add(*arrays, 1.0) == 7
    assert many_arrays.add(*arrays, 2.0) == 21
    assert all(arrays[k].to_numpy().tolist() == [[3 * k, 0]] * 4 for k in range(count))


def test_a_failed_launch_leaves_the_next_one_clean(init):
    init(debug=True)
    x = qd.field(qd.i32, (8,))

    @qd.kernel
    def write(n: qd.i32) -> qd.i32:
        for i in range(n):
            x[i] = n
        return 2 * n

    with pytest.raises(qd.QuadrantsAssertionError, match=r"Accessing field \(x\) of size \(8\) with indices \(8\)"):
        write(9)
    assert write(8) == 16 and (x.to_numpy() == 8).all()


def test_results_of_every_kind(arch):
    @qd.kernel
    def several(a: qd.f32, b: qd.i64) -> tuple[qd.f32, qd.i64, qd.types.vector(3, qd.f32), qd.u8]:
        return a * 2, b + 1, qd.Vector([a, a + 1, a + 2]), qd.u8(7)

    real, whole, vector, small = several(1.5, 1 << 40)
    assert (real, whole, small) == (3.0, (1 << 40) + 1, 7) and vector.to_list() == [1.5, 2.5, 3.5]


def test_memory_that_is_not_there(arch):
    """One exception that names the bytes, and a runtime that goes on."""
    if arch.name == "cuda" and not qd.cfg.emulate:
        with pytest.raises(qd.QuadrantsRuntimeError, match="cannot allocate 8796093022208 bytes of cuda device memory"):
            qd.ndarray(qd.f64, (1 << 20, 1 << 20))
    else:
        with pytest.raises(qd.QuadrantsRuntimeError, match="cannot allocate [0-9]+ bytes"):
            qd.ndarray(qd.f64, (1 << 20, 1 << 20, 1 << 20))
    x = qd.ndarray(qd.i32, (10,))
    fill_from(x, 0, 10)
    assert x[9] == 9


def test_printing(arch, capfd):
    @qd.kernel
    def show(n: qd.i32):
        for i in range(n):
            if i == 2:
                print("at", i, 0.5)

    show(3)
    assert "at 2 0.500000" in capfd.readouterr().out
    show(2)
    assert "at" not in capfd.readouterr().out


@pytest.mark.parametrize("size", [32, 256])
def test_the_usual_size_of_a_block(init, size):
    """`default_gpu_block_dim` is for loops that ask for none."""
    init(default_gpu_block_dim=size)

    @qd.kernel
    def add(x: qd.types.ndarray(qd.i32, ndim=1)):
        for i in range(x.shape[0]):
            x[i] += i
        qd.loop_config(block_dim=64)
        for i in range(x.shape[0]):
            x[i] += 1

    x = qd.ndarray(qd.i32, (1000,))
    add(x)
    assert (x.to_numpy() == np.arange(1000) + 1).all()
    text = add.source(x, arch="cuda")
    assert f"__launch_bounds__({size})" in text and "__launch_bounds__(64)" in text
