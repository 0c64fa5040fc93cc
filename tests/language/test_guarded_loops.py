"""Loops all of whose body stands under a condition on the place: their iterations are those of the condition."""

import itertools

import numpy as np
import pytest

import quadrants as qd

N, M = 7, 9
I32_MIN, I32_MAX = -(2**31), 2**31 - 1
# What of an iteration (i, j) and a cell y[i, j] is a condition of its own, as kernels and as plain Python have it.
CONDITIONS = (
    "i > 0", "0 < i", "i >= 2", "2 <= i", "i < 5", "5 > i", "i <= 4", "4 >= i", "j > 3", "j < 8", "j == 3",
    "i != 2", "0 < i < 6", "not i > 3", "i > 6", "i > 100", "i < 0", "i < -5", "i > -5", "i < j", "y[i, j] > 2",
    "y[i - 1, j] > 1", "i + 1 > 2", "i > 1.5", f"i <= {I32_MAX}", f"i > {I32_MAX}", f"i >= {I32_MIN}", f"i < {I32_MIN}",
    "i > 2 or j > 4",
)  # fmt: skip
LAYOUTS = ("plain", "blocked", "columns")
PAIRS = list(itertools.product(CONDITIONS, CONDITIONS))


def kernels(number: int, pairs) -> str:
    """A module with a kernel a pair, over fields, `ndrange` and with a sum."""
    lines = ["import quadrants as qd", ""]
    for k, (a, b) in enumerate(pairs):
        condition = f"{a} and {b}" if number % 2 else f"({a}) and ({b}) and j < 7"
        lines += [
            "@qd.kernel",
            f"def k{k}(x: qd.template(), y: qd.template(), total: qd.template()):",
            "    for i, j in x:",
            f"        if {condition}:",
            "            x[i, j] += 10 * i + j + 1",
            "            total[None] += y[i, j]",
            "    for i, j in qd.ndrange((1, 6), 9):",
            f"        if {condition}:",
            "            for _ in range(2):",
            "                x[i, j] -= 3",
            "        # behind it",
            "",
        ]
    return "\n".join(lines)


def expected(number: int, pair, y) -> tuple:
    x, total = np.zeros((N, M), np.int32), 0
    a, b = pair
    code = compile(f"{a} and {b}" if number % 2 else f"({a}) and ({b}) and j < 7", "condition", "eval")
    rows = y.tolist()
    holds = {(i, j): eval(code, {"i": i, "j": j, "y": Cells(rows)}) for i in range(N) for j in range(M)}
    for (i, j), true in holds.items():
        if true:
            x[i, j] += 10 * i + j + 1
            total += rows[i][j]
    for i, j in itertools.product(range(1, 6), range(M)):
        if holds[i, j]:
            x[i, j] -= 6
    return x, total


class Cells:
    """`y[i, j]` of lists."""

    def __init__(self, rows):
        self.rows = rows

    def __getitem__(self, at):
        return self.rows[at[0]][at[1]]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("number", [0, 1])
def test_the_iterations_are_those_of_the_condition(init, tmp_path, layout, number):
    init(offline_cache=False)
    import importlib.util

    x, y, total = qd.field(qd.i32), qd.field(qd.i32), qd.field(qd.i32, ())
    if layout == "blocked":
        qd.root.dense(qd.ij, (N, M // 3)).dense(qd.j, 3).place(x, y)
    elif layout == "columns":
        qd.root.dense(qd.j, M).dense(qd.i, N).place(x, y)
    else:
        qd.root.dense(qd.ij, (N, M)).place(x)
        qd.root.dense(qd.ij, (N, M)).place(y)
    values = np.random.default_rng(3).integers(0, 5, (N, M)).astype(np.int32)
    y.from_numpy(values)
    # A row outside is read only where a condition before it keeps the iteration from doing so.
    inside = ("i > 0", "0 < i", "i >= 2", "2 <= i")
    pairs = [(a, b) for a, b in PAIRS if "i - 1" not in a and ("i - 1" not in b or a in inside)]
    pairs = pairs[LAYOUTS.index(layout) + 3 * number :: 54]
    path = tmp_path / "guarded.py"
    path.write_text(kernels(number, pairs))
    spec = importlib.util.spec_from_file_location("guarded", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for k, pair in enumerate(pairs):
        x.fill(0)
        total[None] = 0
        getattr(module, f"k{k}")(x, y, total)
        wanted, added = expected(number, pair, values)
        assert np.array_equal(x.to_numpy(), wanted), pair
        assert total[None] == added, pair


def test_random_numbers_and_numbers_of_threads_are_those_of_all_iterations(init):
    init(random_seed=5)
    drawn = [qd.field(qd.i32, 64) for _ in range(2)]

    @qd.kernel
    def all_of_them():
        for i in drawn[0]:
            drawn[0][i] = qd.random(qd.i32)

    @qd.kernel
    def some():
        for i in drawn[1]:
            if i >= 16:
                drawn[1][i] = qd.random(qd.i32)

    all_of_them()
    numbers = drawn[0].to_numpy()
    qd.reset()
    init(random_seed=5)
    drawn = [qd.field(qd.i32, 64) for _ in range(2)]
    some()
    assert drawn[1].to_numpy()[16:].tolist() == numbers[16:].tolist()
    assert not drawn[1].to_numpy()[:16].any()


@pytest.mark.cpu_only
def test_bounds_of_the_loop_are_in_the_text():
    qd.init(arch=qd.cpu)
    x = qd.field(qd.i32, 100)

    @qd.kernel
    def inner():
        for i in x:
            if i > 3 and i < 90:
                x[i] = i

    assert "if (" not in inner.source().split("inner_0_struct_for")[1].split("qd_kernel_inner")[0]
    inner()
    assert x.to_numpy().tolist() == [i if 3 < i < 90 else 0 for i in range(100)]
    qd.reset()
