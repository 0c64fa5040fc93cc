"""Kernels whose tasks are one graph of the device: what is described anew, what is left out, what the host drives."""

import dataclasses
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import quadrants as qd
from quadrants import targets
from quadrants.backends import registry

FLOATS = qd.types.ndarray(qd.f32, ndim=1)
INTS = qd.types.ndarray(qd.i32, ndim=1)
FLAG = qd.types.ndarray(qd.i32, ndim=0)


@pytest.fixture
def native(arch):
    """Whether the arch launches graphs, and its counters."""
    target = targets.of_arch(arch.name)
    prog = qd.lang.impl.get_runtime().prog
    return target is not None and target.graphs, prog


def floats(values):
    made = qd.ndarray(qd.f32, (len(values),))
    made.from_numpy(np.array(values, np.float32))
    return made


@qd.kernel(graph=True)
def three(x: FLOATS, y: FLOATS, by: qd.f32):
    for i in x:
        x[i] += by
    for i in y:
        y[i] = 2 * x[i]
    for i in x:
        x[i] = y[i] + by


def test_arrays_sizes_and_scalars_change_without_another_graph(native):
    graphs, prog = native
    for k in range(1, 200):
        n = 1 + 37 * k % 500
        x, y = floats([k] * n), floats([0] * n)
        three(x, y, float(k % 7))
        by = k % 7
        assert (y.to_numpy() == 2 * (k + by)).all() and (x.to_numpy() == 2 * (k + by) + by).all()
    assert prog.get_graph_total_builds() == prog.get_graph_cache_size() == int(graphs)
    assert prog.get_graph_num_nodes_on_last_call() == (3 if graphs else 0)
    assert prog.get_graph_cache_used_on_last_call() is graphs


def test_the_first_launch_finds_no_graph(native):
    graphs, prog = native
    three(floats([1]), floats([1]), 1.0)
    assert prog.get_graph_cache_used_on_last_call() is False
    assert prog.get_graph_num_nodes_on_last_call() == (3 if graphs else 0)


def test_kernels_without_the_flag_become_graphs_when_they_are_launched_often(native):
    graphs, prog = native

    @qd.kernel
    def two(x: FLOATS) -> qd.f32:
        for i in x:
            x[i] += 1
        for i in x:
            x[i] *= 2
        return x[0]

    nodes = []
    value = 0.0
    for n in (5, 300, 7, 5, 900, 1, 2, 3, 4, 5, 6, 300):
        value = two(floats([n] * n))
        assert value == 2 * (n + 1)
        nodes.append(prog.get_graph_num_nodes_on_last_call())
    assert nodes[0] == 0 and nodes[-1] == (3 if graphs else 0)
    assert prog.get_graph_total_builds() == int(graphs)


def test_one_task_is_no_graph(native):
    _, prog = native

    @qd.kernel(graph=True)
    def one(x: FLOATS):
        for i in x:
            x[i] += 1

    x = floats([1, 2])
    for _ in range(12):
        one(x)
    assert x.to_numpy().tolist() == [13, 14]
    assert prog.get_graph_total_builds() == 0


def test_tasks_with_nothing_to_do_are_left_out_and_come_back(native):
    @qd.kernel(graph=True)
    def parts(x: INTS, a: qd.i32, b: qd.i32):
        for i in range(a):
            x[i] += 1
        for i in range(b):
            x[i] += 10
        for i in x:
            x[i] += 100

    x = qd.ndarray(qd.i32, (4,))
    want = np.zeros(4, int)
    for a, b in ((0, 0), (4, 0), (0, 4), (2, 2), (0, -3), (4, 4), (0, 0), (1, 3)):
        parts(x, a, b)
        want[: max(a, 0)] += 1
        want[: max(b, 0)] += 10
        want += 100
        assert x.to_numpy().tolist() == want.tolist(), (a, b)


def test_loops_whose_tasks_have_nothing_to_do(native, flag):
    @qd.kernel(graph=True)
    def count(x: INTS, left: FLAG, n: qd.i32):
        while qd.graph.do_while(left):
            for i in range(n):
                x[i] += 1
            left[()] -= 1
        for i in x:
            x[i] += 100

    x = qd.ndarray(qd.i32, (4,))
    want = np.zeros(4, int)
    for n, passes in ((4, 3), (0, 2), (2, 5), (0, 1), (3, 1)):
        count(x, flag(passes), n)
        want[:n] += passes
        want += 100
        assert x.to_numpy().tolist() == want.tolist(), (n, passes)


def test_passes_of_loops_in_loops_in_loops(native, flag):
    @qd.kernel(graph=True)
    def deep(x: INTS, a: FLAG, b: FLAG, c: FLAG, d: FLAG, nb: qd.i32, nc: qd.i32, nd: qd.i32):
        while qd.graph.do_while(a):
            b[()] = nb
            x[0] += 1
            while qd.graph.do_while(b):
                c[()] = nc
                x[1] += 1
                while qd.graph.do_while(c):
                    d[()] = nd
                    x[2] += 1
                    while qd.graph.do_while(d):
                        x[3] += 1
                        d[()] -= 1
                    c[()] -= 1
                b[()] -= 1
            a[()] -= 1
            x[4] += 1

    for na, nb, nc, nd in ((1, 1, 1, 1), (2, 3, 4, 2), (3, 1, 2, 5)):
        x = qd.ndarray(qd.i32, (5,))
        deep(x, flag(na), flag(0), flag(0), flag(0), nb, nc, nd)
        assert x.to_numpy().tolist() == [na, na * nb, na * nb * nc, na * nb * nc * nd, na]


def test_loops_in_order_and_in_a_loop(native, flag):
    @qd.kernel(graph=True)
    def both(x: INTS, a: FLAG, b: FLAG, c: FLAG):
        while qd.graph.do_while(a):
            b[()] = 2
            while qd.graph.do_while(b):
                for i in x:
                    x[i] += 1
                b[()] -= 1
            c[()] = 3
            while qd.graph.do_while(c):
                for i in x:
                    x[i] += 10
                c[()] -= 1
            a[()] -= 1

    x = qd.ndarray(qd.i32, (3,))
    for passes in (1, 2, 4):
        x.fill(0)
        both(x, flag(passes), flag(0), flag(0))
        assert x.to_numpy().tolist() == [32 * passes] * 3


@pytest.mark.runtime(debug=True)
def test_a_check_that_fails_ends_the_loop_and_the_next_launch_is_clean(native, flag):
    @qd.kernel(graph=True)
    def fails(x: INTS, left: FLAG, bad: qd.i32):
        while qd.graph.do_while(left):
            for i in range(1):
                x[0] += 1
                assert x[0] != bad, "no more"
            for i in range(1):
                left[()] -= 1
        for i in range(1):
            x[1] += 1

    x = qd.ndarray(qd.i32, (2,))
    with pytest.raises(AssertionError, match="no more"):
        fails(x, flag(5), 3)
    assert x.to_numpy()[0] == 3
    x.fill(0)
    fails(x, flag(5), 9)
    assert x.to_numpy().tolist() == [5, 1]


def test_random_numbers_differ_from_launch_to_launch(native):
    @qd.kernel(graph=True)
    def draw(x: FLOATS, y: FLOATS):
        for i in x:
            x[i] = qd.random()
        for i in y:
            y[i] = x[i]

    x, y = floats([0] * 64), floats([0] * 64)
    seen = set()
    for _ in range(12):
        draw(x, y)
        assert x.to_numpy().tolist() == y.to_numpy().tolist()
        seen.add(tuple(x.to_numpy()))
    assert len(seen) == 12


def test_random_numbers_of_each_pass_differ(native, flag):
    @qd.kernel(graph=True)
    def draw(x: FLOATS, at: INTS, left: FLAG):
        while qd.graph.do_while(left):
            for _ in range(1):
                x[at[0]] = qd.random()
                at[0] += 1
            left[()] -= 1

    x, at = floats([0] * 20), qd.ndarray(qd.i32, (1,))
    draw(x, at, flag(10))
    draw(x, at, flag(10))
    assert len(set(x.to_numpy().tolist())) == 20


def test_arguments_that_do_not_fit_by_value(native, flag):
    graphs, prog = native
    backend = registry.current()
    if graphs:
        backend.dialect = dataclasses.replace(backend.dialect, block_bytes=16)

    @qd.kernel(graph=True)
    def total(x: INTS, left: FLAG, by: qd.i32):
        for i in x:
            x[i] += by
        while qd.graph.do_while(left):
            for i in x:
                x[i] *= 2
            left[()] -= 1

    for k in range(1, 10):
        x = qd.ndarray(qd.i32, (2 + k % 3,))
        total(x, flag(1 + k % 2), k)
        assert x.to_numpy().tolist() == [k * 2 ** (1 + k % 2)] * (2 + k % 3)
    assert prog.get_graph_total_builds() == int(graphs)


def test_kernels_that_print_and_profiles_have_none(init):
    init(kernel_profiler=True)
    prog = qd.lang.impl.get_runtime().prog
    x, y = floats([1]), floats([1])
    for _ in range(12):
        three(x, y, 1.0)
    assert prog.get_graph_total_builds() == 0
    init()
    prog = qd.lang.impl.get_runtime().prog

    @qd.kernel(graph=True)
    def speaks(x: FLOATS):
        for _ in range(1):
            print("first", x[0])
        for _ in range(1):
            print("second", x[0])

    speaks(floats([3]))
    qd.sync()
    assert prog.get_graph_total_builds() == 0


def test_streams_have_graphs_of_their_own(native):
    graphs, prog = native
    first, second = qd.create_stream(), qd.create_stream()

    @qd.kernel
    def two(x: INTS):
        for i in x:
            x[i] += 1
        for i in x:
            x[i] *= 2

    arrays = [qd.ndarray(qd.i32, (4,)) for _ in range(2)]
    for _ in range(12):
        two(arrays[0], qd_stream=first)
        two(arrays[1], qd_stream=second)
    first.synchronize()
    second.synchronize()
    want = 0
    for _ in range(12):
        want = 2 * (want + 1)
    assert [x.to_numpy().tolist() for x in arrays] == [[want] * 4] * 2
    assert prog.get_graph_total_builds() == (2 if graphs else 0)


def test_threads_that_launch_one_kernel(native):
    x = [floats([0] * (16 + k)) for k in range(4)]
    y = [floats([0] * (16 + k)) for k in range(4)]
    wrong = []

    def launches(k):
        value = 0.0
        for _ in range(20):
            three(x[k], y[k], float(k))
            value = 2 * (value + k) + k
            value %= 1024
            if not (x[k].to_numpy() % 1024 == value).all():
                wrong.append(k)
            x[k].fill(value)

    threads = [threading.Thread(target=launches, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_reset_drops_them(native):
    graphs, prog = native
    three(floats([1]), floats([1]), 1.0)
    assert prog.get_graph_cache_size() == int(graphs)
    qd.reset()
    assert prog.get_graph_cache_size() == 0


PROGRAM = """
import quadrants as qd

qd.init()
prog = qd.lang.impl.get_runtime().prog


@qd.kernel(graph=True)
def loop(x: qd.types.ndarray(qd.i32, ndim=1), left: qd.types.ndarray(qd.i32, ndim=0)):
    for i in x:
        x[i] += 1
    while qd.graph.do_while(left):
        for i in x:
            x[i] += 10
        left[()] -= 1


x, left = qd.ndarray(qd.i32, (3,)), qd.ndarray(qd.i32, ())
for _ in range(3):
    left.fill(2)
    loop(x, left)
print(x.to_numpy().tolist(), prog.get_graph_total_builds())
"""


@pytest.mark.parametrize("variable", ["QD_GRAPH=0", "QD_CUDA_FORCE_HOST_LOOP=1"])
def test_variables_that_leave_loops_to_the_host(variable, arch_environment, tmp_path):
    name, value = variable.split("=")
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, **arch_environment, name: value}
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.strip().endswith("[63, 63, 63] 0"), done.stderr


@pytest.mark.parametrize("tasks", [1, 2, 3, 5, 8, 9])
def test_every_number_of_passes(native, flag, tasks):
    """Several passes are launched before it is known whether they are wanted; none but these leaves a trace."""

    @qd.kernel(graph=True)
    def passes(x: INTS, sums: INTS, left: FLAG):
        while qd.graph.do_while(left):
            for i in x:
                x[i] += 1
                if i == 0:
                    left[()] -= 1
            for _ in qd.static(range(tasks - 1)):
                for i in x:
                    qd.atomic_add(sums[0], x[i])
        for i in range(1):
            sums[1] += 1

    n = 0
    for count in (1, 2, 3, 7, 8, 9, 10, 16, 17, 18, 33):
        x, sums = qd.ndarray(qd.i32, (3,)), qd.ndarray(qd.i32, (2,))
        for _ in range(2):
            left = flag(count)
            passes(x, sums, left)
            assert left.to_numpy() == 0
        n = 2 * count
        assert x.to_numpy().tolist() == [n] * 3
        assert sums.to_numpy().tolist() == [(tasks - 1) * 3 * n * (n + 1) // 2, 2]


@pytest.mark.runtime(debug=True)
@pytest.mark.parametrize("bad", [1, 2, 3, 8, 9, 10, 17])
def test_a_check_that_fails_in_any_pass_leaves_the_next_launch_whole(native, flag, bad):
    @qd.kernel(graph=True)
    def fails(x: INTS, left: FLAG, bad: qd.i32):
        while qd.graph.do_while(left):
            for i in range(1):
                x[0] += 1
                assert x[0] != bad
            for i in range(1):
                left[()] -= 1

    x = qd.ndarray(qd.i32, (1,))
    for _ in range(2):
        x.fill(0)
        with pytest.raises(AssertionError):
            fails(x, flag(20), bad)
        assert x.to_numpy().tolist() == [bad]
        x.fill(0)
        fails(x, flag(20), 99)
        assert x.to_numpy().tolist() == [20]


def test_a_template_that_does_not_look_whether_the_loop_has_ended(init, flag, tmp_path):
    """A user's skeleton may leave out what tasks of passes launched ahead begin with: then none is launched ahead."""
    folder = tmp_path / "cuda"
    folder.mkdir()
    (folder / "task.cu.j2").write_text(
        '{% extends "builtin/cuda/task.cu.j2" %}\n'
        "{% block task_head %}{{ super() | replace('if (frame->qd_ended) return;', '') }}{% endblock %}\n"
    )
    init(template_path=[str(tmp_path)])

    @qd.kernel(graph=True)
    def count(x: INTS, left: FLAG):
        while qd.graph.do_while(left):
            for i in x:
                x[i] += 1
            left[()] -= 1

    for passes in (1, 2, 9):
        x, left = qd.ndarray(qd.i32, (3,)), qd.ndarray(qd.i32, ())
        left.fill(passes)
        count(x, left)
        assert x.to_numpy().tolist() == [passes] * 3 and left.to_numpy() == 0
