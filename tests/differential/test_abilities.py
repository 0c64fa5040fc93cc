"""A language that can say less gives the same results: what it cannot say is rewritten before it is printed."""

from __future__ import annotations

import numpy as np
import poorer as poorer_dialects
import pytest
from expectations import differences
from harness import path_that_runs, program_names

import quadrants as qd

pytestmark = pytest.mark.sampled


@pytest.fixture
def poorer(tmp_path) -> str:
    """A search path on which no dialect has jumps, pointers to choose, an end of a thread or arithmetic of f16."""
    return path_that_runs("import poorer; poorer.apply()", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("program", program_names())
def test_program(arch_name: str, program: str, poorer: str) -> None:
    problems = differences(program, arch_name, poorer)
    assert not problems, "\n".join(problems)


@pytest.fixture
def poor(init, monkeypatch):
    """A runtime whose dialects have no jumps and no pointers to choose."""
    for module, record in poorer_dialects.dialects():
        monkeypatch.setattr(module, "DIALECT", record)

    return lambda **options: init(offline_cache=False, **options)


def test_breaks_of_products(poor):
    poor()
    found = qd.field(qd.i32, shape=8)

    @qd.kernel
    def search(n: qd.i32):
        for t in range(1):
            for i, j in qd.ndrange(4, (1, n)):
                for a, b, c in qd.ndrange(2, 2, 2):
                    if a + b + c > 1:
                        found[4] += 1
                        break
                    found[5] += 1
                if i * j == 6:
                    found[0], found[1] = i, j
                    break
                if i == 0 and j > 1:
                    continue
                found[2] += 1
            for i, j in qd.ndrange(3, 3):
                if i + j == 5:
                    break
                found[3] += 1

    search(5)
    # Pairs with j from 1 to 4 until 2 * 3; those of the first row but one are passed over.
    pairs = [(i, j) for i in range(4) for j in range(1, 5)]
    seen = pairs[: pairs.index((2, 3))]
    counted = sum(not (i == 0 and j > 1) for i, j in seen)
    assert found.to_numpy()[:4].tolist() == [2, 3, counted, 9]
    assert found.to_numpy()[4:6].tolist() == [len(seen) + 1, 3 * (len(seen) + 1)]
    text = search.source(5)
    assert "goto" not in text and "qd_left_1" in text


@pytest.mark.parametrize("layout", ["soa", "aos"])
def test_components_chosen_at_run_time(poor, layout):
    poor()
    order = qd.Layout.SOA if layout == "soa" else qd.Layout.AOS
    x = qd.Vector.field(3, qd.f32, shape=4, layout=order)
    y = qd.Matrix.field(2, 2, qd.i32, shape=4, layout=order)
    old = qd.field(qd.i32, shape=4)
    x.fill(1)

    @qd.kernel
    def scatter(k: qd.i32):
        for i in x:
            x[i][(i + k) % 3] = x[i][k] + i
            x[i][(i + k) % 3] += x[i][(k + 1) % 3]
            y[i][i % 2, (i + k) % 2] += 5
            old[i] = qd.atomic_add(y[i][i % 2, (i + k) % 2], 2) + qd.atomic_max(y[i][k, k], 3)

    scatter(1)
    vectors, matrices = np.ones((4, 3), np.float32), np.zeros((4, 2, 2), np.int32)
    was = []
    for i in range(4):
        vectors[i, (i + 1) % 3] = vectors[i, 1] + i
        vectors[i, (i + 1) % 3] += vectors[i, 2]
        at = (i, i % 2, (i + 1) % 2)
        matrices[at] += 5
        first = matrices[at]
        matrices[at] += 2
        was.append(first + matrices[i, 1, 1])
        matrices[i, 1, 1] = max(matrices[i, 1, 1], 3)
    assert (x.to_numpy() == vectors).all() and (y.to_numpy() == matrices).all()
    assert old.to_numpy().tolist() == was
    if layout == "soa":
        text = scatter.source(1)
        assert "qd_was_1" in text and "? &" not in text


@qd.func
def checked_root(x, log: qd.template()):
    assert x >= 0, f"no root of {x}"
    log[1] += 1
    return qd.sqrt(x)


@qd.func
def of_pair(x, y, log: qd.template()):
    return checked_root(x, log) + checked_root(y, log), qd.Vector([x, y])


@qd.real_func
def depth(k: qd.i32) -> qd.i32:
    assert k != 3, "three"
    found = 0
    if k > 0:
        found = depth(k - 1) + 1
    return found


def test_nothing_happens_after_a_failure(poor):
    poor(debug=True)
    x = qd.field(qd.f32, shape=4)
    log = qd.field(qd.i32, shape=4)

    @qd.kernel
    def roots(y: qd.f32):
        for _ in range(1):
            for i in range(3):
                root, pair = of_pair(x[i], y, log)
                x[i] = root + pair.sum()
                log[0] += 1
            log[2] += 1

    roots(4.0)
    assert log.to_numpy().tolist() == [3, 6, 1, 0]
    with pytest.raises(AssertionError, match="no root of -1"):
        roots(-1.0)
    assert log.to_numpy().tolist() == [3, 7, 1, 0]

    @qd.kernel
    def written(at: qd.i32):
        for _ in range(1):
            while checked_root(x[1], log) > 0 and log[3] < 10:
                log[3] += 1
                x[qd.cast(checked_root(qd.f32(at), log), qd.i32)] = -5.0

    text = written.source(1)
    assert "qd_failed" in text and "longjmp(" not in text and "qd_exit" not in text
    x.fill(2)
    with pytest.raises(AssertionError, match="no root of -5"):
        written(1)
    assert x.to_numpy().tolist() == [2, -5, 2, 2] and log[3] == 1
    x.fill(2)
    with pytest.raises(AssertionError, match="no root of -7"):
        written(-7)
    assert x.to_numpy().tolist() == [2, 2, 2, 2]


@pytest.mark.runtime(exclude=("opencl", "metal", "vulkan"))  # whose functions cannot call themselves
def test_a_failure_deep_in_recursion(poor):
    poor(debug=True)

    @qd.kernel
    def k(n: qd.i32) -> qd.i32:
        return depth(n) + depth(n)

    assert k(2) == 4
    with pytest.raises(AssertionError, match="three"):
        k(9)
    assert k(1) == 2


def test_reductions_and_checks(poor):
    poor(debug=True)
    total = qd.field(qd.i32, shape=())

    @qd.kernel
    def k(n: qd.i32, bad: qd.i32):
        for i in range(n):
            assert i != bad, "bad"
            total[None] += i

    k(1000, -1)
    assert total[None] == 999 * 500
    with pytest.raises(AssertionError, match="bad"):
        k(1000, 700)


def test_halves_are_rounded_after_each_operation(poor):
    poor(fast_math=False)

    @qd.kernel
    def products(x: qd.types.ndarray(dtype=qd.f16, ndim=1), out: qd.types.ndarray(dtype=qd.f16, ndim=2)) -> qd.f16:
        total = qd.f16(0.0)
        for i in x:
            v = qd.Vector([x[i], -x[i]])
            out[0, i] = x[i] * x[i] + x[i]
            out[1, i] = (v * v)[1] - v[0]
            total += qd.f16(0.5)
        return total

    x, out = np.linspace(-3, 3, 100, dtype=np.float16), np.zeros((2, 100), np.float16)
    assert products(x, out) == 50
    assert (out[0] == x * x + x).all() and (out[1] == x * x - x).all()


def test_loops_that_do_nothing(poor, arch_name):
    poor()

    @qd.func
    def bumped(x: qd.template()):
        x += 1

    @qd.kernel
    def run(n: qd.i32, x: qd.types.ndarray(qd.i32, ndim=1)):
        for k in range(4):
            for idle_1, idle_2 in qd.ndrange(n, (1, n)):
                for idle_3 in range(idle_1):
                    if idle_3 == 2:
                        break
                    lost = x[k] + idle_2
                    lost += 1
            found = 0
            for busy_1 in range(n):
                for idle_4 in range(n):
                    lost = idle_4 * busy_1
                bumped(found)
            for busy_2, busy_3 in qd.ndrange(n, n):
                for busy_4 in range(2):
                    if busy_2 == 1:
                        found = found * 10 + busy_3 + busy_4
                if busy_2 == 2:
                    break
            x[k] = found

    x = np.arange(4, dtype=np.int32)
    run(3, x)
    # Three calls; then the digits j + l of i = 1, of j in 0, 1, 2 and l in 0, 1.
    assert x.tolist() == [3_01_12_23] * 4
    text = run.source(3, x)
    # Of other languages some devices alone leave loops out.
    assert arch_name not in ("cpu", "cuda", "amdgpu") or "idle" not in text
    assert all(f"busy_{k}" in text for k in range(1, 5))
