"""How a launch finds the depth of stacks: from the arguments, or on a device by tasks in front of the others."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from heap_lines import bindings, growths
from oracle import check, field, reverse

import quadrants as qd

POINTS = [0.3, -0.7, 1.3, 0.9]
on_devices = pytest.mark.runtime(exclude=("cpu",))


@pytest.fixture(autouse=True)
def runtime(init):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True)


def maximum(x, y):
    """y[i] = sin(sin(.. x[i])), a[i] times."""

    @qd.kernel
    def k(a: qd.types.ndarray()):
        for i in x:
            v = x[i]
            for _ in range(a[i]):
                v = qd.sin(v) + 0.1
            y[i] = v

    return k


def slopes(points, counts) -> np.ndarray:
    v, slope = np.array(points, dtype=np.float64), np.ones(len(points))
    for n in range(max(counts)):
        go = np.array(counts) > n
        slope = np.where(go, slope * np.cos(v), slope)
        v = np.where(go, np.sin(v) + 0.1, v)
    return slope


def tasks_of(text: str) -> list[str]:
    """Names and forms of the tasks of a device, in order."""
    listing = text.split("Launches, in order")[1]
    return [" ".join(line.strip(" */").split()) for line in listing.splitlines() if line.strip(" */:")]


@pytest.mark.parametrize("count", [3, 3000])
def test_the_longest_of_many_is_found_wherever_it_is(count):
    """Short arrays are walked by one thread of a device, long ones by all."""
    points = np.linspace(0, 1, count)
    x, y = field(points), field(np.zeros(count))
    k = maximum(x, y)
    for at in (0, count // 2, count - 1):
        a = np.arange(count, dtype=np.int32) % 3
        a[at] = 9
        np.testing.assert_allclose(reverse(k, [x], [y], a)[0], slopes(points, a), rtol=1e-12)
    a[:] = -5
    np.testing.assert_allclose(reverse(k, [x], [y], a)[0], np.ones(count), rtol=1e-12)


@on_devices
def test_long_maxima_are_found_by_many_threads():
    x, y = field(np.zeros(3000)), field(np.zeros(3000))
    k = maximum(x, y)
    names = tasks_of(k.grad.source(np.zeros(3000, np.int32)))
    assert len(names) == 3
    forms = ("stride, blocks of 256", "chunk, blocks of 1")  # the second on processors
    assert names[0].startswith(tuple(f"k_reverse_grad_sizes_max0 {form}, 3000" for form in forms))
    assert names[1:2] == ["k_reverse_grad_sizes_serial one thread"]
    assert names[2].startswith("k_reverse_grad_0_struct_for stride")


@on_devices
def test_what_the_arguments_decide_needs_no_task():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(a: qd.types.ndarray(), n: qd.i32, m: qd.i64):
        for i in x:
            v = x[i]
            for _ in range(a.shape[0] * n + 1):
                v = qd.sin(v) + 0.1
            for _ in range(qd.min(n - 1, 3)):
                v = qd.cos(v)
            for _ in range(qd.cast(m, qd.i32) // 2):
                v = v * v
            y[i] = v

    a = np.zeros(3, np.float32)
    assert len(tasks_of(k.grad.source(a, 2, 3))) == 1
    for n, m in ((2, 3), (0, 5), (5, 0), (1, -4)):
        check(k, [x], [y], a, n, m, modes="r")


@on_devices
def test_one_reading_serves_all_tasks_of_a_launch(monkeypatch, capfd):
    monkeypatch.setenv("QD_DEBUG_ADSTACK", "1")
    x, y, z = field(POINTS), field(np.zeros(4)), field(np.zeros(4))
    n, m = qd.field(qd.i32, ()), qd.field(qd.i64, 4)

    @qd.kernel
    def k():
        for i in x:
            v = x[i]
            for _ in range(n[None]):
                v = qd.sin(v) + 0.1
            y[i] = v
        for i in x:
            v = x[i]
            for _ in range(m[i]):
                v = qd.cos(v)
            z[i] = v

    n[None] = 3
    m.from_numpy(np.array([1, 70, 2, 3]))
    check(k, [x], [y, z], modes="r")
    text = capfd.readouterr().err
    (line,) = [line for line in text.splitlines() if line.startswith("[adstack_size]")]
    assert sorted(line.split("depths=")[1].split(",")) == ["3", "70"]
    assert [b["stride"] for b in bindings(text)] == [70 * 8, 3 * 8]


def test_sizes_over_several_axes_of_every_integer_type():
    rng = np.random.default_rng(3)
    x, y = field(rng.uniform(0, 1, (20, 30))), field(np.zeros((20, 30)))

    @qd.kernel
    def k(a: qd.types.ndarray(), b: qd.types.ndarray()):
        for i, j in x:
            v = x[i, j]
            for _ in range(a[i, j] + b[j]):
                v = qd.sin(v) + 0.1
            y[i, j] = v

    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.int64, np.uint64):
        a, b = rng.integers(0, 4, (20, 30)).astype(dtype), rng.integers(0, 4, 30).astype(np.int32)
        counts = (a.astype(np.int64) + b).ravel()
        found = reverse(k, [x], [y], a, b)[0]
        np.testing.assert_allclose(found.ravel(), slopes(x.to_numpy().ravel(), counts), rtol=1e-12)


def test_lengths_of_arrays_may_differ_from_the_loop():
    """What a guard keeps a loop from reading is not read to find the size either."""
    x, y = field(np.linspace(0, 1, 600)), field(np.zeros(600))

    @qd.kernel
    def k(a: qd.types.ndarray(), n: qd.i32):
        for i in x:
            v = x[i]
            if i < n:
                for _ in range(a[i]):
                    v = qd.sin(v) + 0.1
            y[i] = v

    a = np.arange(5, dtype=np.int32)
    counts = np.zeros(600, np.int64)
    counts[:5] = a
    np.testing.assert_allclose(reverse(k, [x], [y], a, 5)[0], slopes(np.linspace(0, 1, 600), counts), rtol=1e-12)


def test_maxima_start_anew_at_each_launch(monkeypatch, capfd):
    monkeypatch.setenv("QD_DEBUG_ADSTACK", "1")
    points = np.linspace(0, 1, 500)
    x, y = field(points), field(np.zeros(500))
    k = maximum(x, y)
    strides = []
    for peak in (4, 400, 8):
        a = np.zeros(500, np.int32)
        a[77] = peak
        np.testing.assert_allclose(reverse(k, [x], [y], a)[0], slopes(points, a), rtol=1e-12)
        (line,) = bindings(capfd.readouterr().err)
        strides.append(line["stride"])
    assert strides[2] < strides[1] and strides[0] < strides[1]


@on_devices
def test_a_walk_that_one_thread_would_take_too_long_for():
    x, y = field(POINTS), field(np.zeros(4))

    @qd.kernel
    def k(m: qd.types.ndarray(), a: qd.types.ndarray()):
        for i in range(m.shape[0]):
            v = x[i % 4]
            for j in range(m[i]):
                for _ in range(a[j]):
                    v = qd.sin(v) + 0.1
            y[i % 4] += v

    a = np.ones(3, np.int32)
    with pytest.raises(RuntimeError, match="exceeds the 16777216 guard"):
        k.grad(np.zeros((1 << 24) + 1, np.int8), a)
    reverse(k, [x], [y], np.array([2, 3], np.int8), a)
    np.testing.assert_allclose(x.grad.to_numpy()[:2], slopes(POINTS[:2], [2, 3]), rtol=1e-12)


# Megabytes: a heap of 300 cannot become one of 600, but one of 330. The C library takes some of the rest for itself.
_NEAR_THE_LIMIT = """
    import os, resource
    import numpy as np
    import quadrants as qd

    qd.init(ad_stack_experimental_enabled=True, default_fp=qd.f64, offline_cache=False)
    x, y = qd.field(qd.f64, 4, needs_grad=True), qd.field(qd.f64, 4, needs_grad=True)

    @qd.kernel
    def k(n: qd.i32):
        for i in x:
            v = x[i]
            for _ in range(n):
                v = v * 0.5
                v = v * v
            y[i] = v

    def launch(mb):
        y.grad.fill(1)
        k.grad(int(mb * 2**20) // 8 // ROWS)

    launch(300)
    here = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (here + 170 * 2**20, here + 170 * 2**20))
    launch(330)
    try:
        launch(2000)
    except RuntimeError as error:
        assert "adstack heap of" in str(error), error
    else:
        raise SystemExit("2000 MB were found")
    launch(1)
    print("done")
"""


# Not on Vulkan either: llvmpipe ends loops that are so long.
@pytest.mark.runtime(exclude=() if os.environ.get("QD_EMULATE") else ("cuda", "amdgpu", "vulkan"))
def test_growth_near_a_limit_ends_at_what_is_needed(arch_environment, arch_name, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(_NEAR_THE_LIMIT).replace("ROWS", "1" if arch_name == "cpu" else "4"))
    environment = {**os.environ, **arch_environment, "QD_DEBUG_ADSTACK": "1"}
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=environment)
    assert done.stdout.endswith("done\n"), done.stderr
    needed = [line["bytes"] for line in bindings(done.stderr)]
    last = needed[-1]
    assert growths(done.stderr) == [
        ("F", 0, needed[0], False), ("F", needed[0], needed[1], True), ("F", needed[1], 0, False), ("F", 0, last, False)
    ]  # fmt: skip


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("long", [False, True])
def test_loops_as_long_as_a_cell_says_around_stacks_of_any_length(init, debug, long):
    init(default_fp=qd.f64, ad_stack_experimental_enabled=True, debug=debug)
    x, y, n, trips = field(POINTS), field(np.zeros(4)), qd.field(qd.i32, ()), qd.field(qd.i32, 4)
    n[None] = 4
    trips.fill(3)

    @qd.kernel
    def short_stacks():
        for i in range(n[None]):
            v = x[i]
            for _ in range(2):
                v = v * qd.sin(v)
            y[i] = v

    @qd.kernel
    def long_stacks():
        for i in range(n[None]):
            v = x[i]
            for _ in range(trips[i]):
                v = v * qd.sin(v)
            y[i] = v

    check(long_stacks if long else short_stacks, [x], [y])
