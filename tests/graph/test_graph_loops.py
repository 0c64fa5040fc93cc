"""`while qd.graph.do_while(flag)`: passes, nesting, flags of every kind, checks, prints, random numbers."""

import dataclasses

import numpy as np
import pytest

import quadrants as qd
from quadrants import graph, targets

INTS = qd.types.ndarray(qd.i32, ndim=1)
FLAG = qd.types.ndarray(qd.i32, ndim=0)


@qd.kernel(graph=True)
def relax(x: qd.types.ndarray(qd.f32, ndim=1), left: FLAG):
    while qd.graph.do_while(left):
        for i in range(x.shape[0]):
            x[i] = 0.5 * x[i]
        left[()] = left[()] - 1


@qd.kernel(graph=True)
def nested(x: INTS, outer: FLAG, inner: FLAG):
    x[0] += 1
    while qd.graph.do_while(outer):
        inner[()] = 4
        while graph.do_while(inner):
            for i in range(x.shape[0]):
                x[i] += 10
            inner[()] -= 1
        outer[()] -= 1
    x[1] += 1


def test_the_body_runs_until_the_flag_is_0(arch, flag):
    x, left = qd.ndarray(qd.f32, (8,)), flag(3)
    x.fill(8.0)
    relax(x, left)
    assert x.to_numpy().tolist() == [1.0] * 8 and left.to_numpy() == 0


def test_another_flag_and_another_size_need_no_other_kernel(arch, flag):
    for size, passes in ((8, 3), (100, 1), (3, 5)):
        x = qd.ndarray(qd.f32, (size,))
        x.fill(64.0)
        relax(x, flag(passes))
        assert x.to_numpy().tolist() == [64.0 / 2**passes] * size
    assert len(relax._primal.materialized_kernels) == 1


def test_nested_loops(arch, flag, counters):
    x, outer, inner = counters(8), flag(3), flag(0)
    nested(x, outer, inner)
    assert x.to_numpy().tolist() == [121, 121, *[120] * 6]
    assert outer.to_numpy() == inner.to_numpy() == 0
    levels = nested._primal.graph_do_while_levels
    assert [(level.cond_arg_name, level.parent_id) for level in levels] == [("outer", -1), ("inner", 0)]


def test_sibling_loops(arch, flag, counters):
    @qd.kernel(graph=True)
    def k(x: INTS, a: FLAG, b: FLAG):
        while qd.graph.do_while(a):
            for i in range(4):
                x[i] += 1
            a[()] -= 1
        b[()] = 2
        while qd.graph.do_while(b):
            for i in range(4):
                x[i] += 10
            b[()] -= 1
        x[0] += 100

    x = counters(4)
    k(x, flag(3), flag(0))
    assert x.to_numpy().tolist() == [123, 23, 23, 23]
    assert [level.parent_id for level in k._primal.graph_do_while_levels] == [-1, -1]


def test_passes_that_come_too_late_do_nothing(arch, flag, counters):
    """Devices get several passes at once, whatever the flag will be."""

    @qd.kernel(graph=True)
    def k(x: INTS, y: INTS, outer: FLAG, a: FLAG, b: FLAG):
        while qd.graph.do_while(outer):
            for i in range(x.shape[0]):
                x[i] += 1
            a[()] = 3 * outer[()]
            while qd.graph.do_while(a):
                for i in range(x.shape[0]):
                    x[i] += 100
                a[()] -= 1
                y[0] += 1
            while qd.graph.do_while(b):
                y[1] += 1
                b[()] = y[1] % 7
            outer[()] -= 1
        y[2] += 1

    for n in (1, 2, 5, 12):
        x, y, outer, a, b = counters(40), counters(3), flag(n), flag(0), flag(0)
        k(x, y, outer, a, b)
        inner = sum(3 * m for m in range(1, n + 1))
        assert x.to_numpy().tolist() == [n + 100 * inner] * 40
        assert y.to_numpy().tolist() == [inner, 7 * n, 1]
        assert a.to_numpy() == b.to_numpy() == outer.to_numpy() == 0


def test_the_flag_is_read_behind_the_first_pass(arch, flag, counters):
    @qd.kernel(graph=True)
    def k(x: INTS, a: FLAG):
        while qd.graph.do_while(a):
            x[0] += 1
            a[()] = x[0] < 3

    x = counters()
    k(x, flag(0))
    assert x.to_numpy()[0] == 3


def test_a_flag_set_by_a_parallel_loop(arch, flag):
    @qd.kernel(graph=True)
    def spread(x: INTS, y: INTS, changed: FLAG):
        while qd.graph.do_while(changed):
            changed[()] = 0
            for i in range(x.shape[0]):
                y[i] = x[i]
            for i in range(1, x.shape[0]):
                if y[i - 1] == 1 and y[i] == 0:
                    x[i] = 1
                    changed[()] = 1

    x, y = qd.ndarray(qd.i32, (50,)), qd.ndarray(qd.i32, (50,))
    x[0] = 1
    spread(x, y, flag(0))
    assert x.to_numpy().tolist() == [1] * 50


def test_variables_live_from_pass_to_pass(arch, flag, counters):
    @qd.kernel(graph=True)
    def k(x: INTS, a: FLAG):
        total = 0
        while qd.graph.do_while(a):
            now = a[()] * 10
            total += now
            for i in range(4):
                x[i] = now + i
            a[()] -= 1
        x[7] = total

    x = counters()
    k(x, flag(3))
    assert x.to_numpy().tolist() == [10, 11, 12, 13, 0, 0, 0, 60]


def test_a_loop_bound_that_changes_between_passes(arch, flag, counters):
    @qd.kernel(graph=True)
    def k(x: INTS, a: FLAG):
        while qd.graph.do_while(a):
            for i in range(a[()]):
                x[i] += 1
            a[()] -= 1

    x = counters()
    k(x, flag(5))
    assert x.to_numpy().tolist() == [5, 4, 3, 2, 1, 0, 0, 0]


def test_if_calls_and_loop_config_in_the_body(arch, flag, counters):
    @qd.func
    def add(x: qd.types.ndarray(), n: qd.i32):
        for i in range(4):
            x[i] += n

    @qd.kernel(graph=True)
    def k(x: INTS, a: FLAG):
        while qd.graph.do_while(a):
            if a[()] == 2:
                x[7] += 5
            else:
                for i in range(4):
                    x[i] += 100
            add(x, 1)
            qd.loop_config(serialize=True)
            for i in range(4):
                x[i] += 10
            a[()] -= 1

    x = counters()
    k(x, flag(3))
    assert x.to_numpy().tolist() == [233, 233, 233, 233, 0, 0, 0, 5]


@pytest.mark.parametrize("annotation", [qd.template(), FLAG])
def test_a_loop_in_a_function(arch, flag, counters, annotation):
    @qd.func
    def run(x: qd.template(), left: annotation):
        while qd.graph.do_while(left):
            for i in range(4):
                x[i] += 1
            left[()] -= 1

    @qd.kernel(graph=True)
    def k(x: INTS, a: FLAG):
        run(x, a)
        a[()] = 2
        run(x, a)

    x = counters()
    k(x, flag(3))
    assert x.to_numpy().tolist() == [5] * 4 + [0] * 4
    assert [level.cond_arg_name for level in k._primal.graph_do_while_levels] == ["a", "a"]


@qd.data_oriented
class Solver:
    def __init__(self, left, x):
        self.left, self.x = left, x

    @qd.kernel(graph=True)
    def run(self):
        while qd.graph.do_while(self.left):
            for i in range(4):
                self.x[i] += 1
            self.left[()] -= 1


def test_a_flag_that_is_a_member(arch, flag, counters):
    solver = Solver(flag(3), counters(4))
    solver.run()
    assert solver.x.to_numpy().tolist() == [3] * 4
    solver.left = flag(2)
    solver.run()
    assert solver.x.to_numpy().tolist() == [5] * 4
    assert solver.run._primal.graph_do_while_levels[0].cond_arg_name == "self.left"


@dataclasses.dataclass(frozen=True)
class State:
    x: INTS
    left: FLAG


def test_a_flag_in_a_dataclass(arch, flag, counters):
    @qd.kernel(graph=True)
    def k(state: State):
        while qd.graph.do_while(state.left):
            for i in range(4):
                state.x[i] += 1
            state.left[()] -= 1

    state = State(counters(4), flag(3))
    k(state)
    assert state.x.to_numpy().tolist() == [3] * 4
    assert k._primal.graph_do_while_levels[0].cond_arg_name == "state.left"


def test_flags_in_host_memory(arch):
    @qd.kernel(graph=True)
    def k(x: qd.types.ndarray(), a: FLAG):
        while qd.graph.do_while(a):
            for i in range(4):
                x[i] += 1
            a[()] -= 1

    x, left = np.zeros(4, np.int32), np.array(3, np.int32)
    k(x, left)
    assert x.tolist() == [3] * 4 and left == 0


def test_every_pass_draws_other_random_numbers(arch, flag):
    @qd.kernel(graph=True)
    def k(x: qd.types.ndarray(qd.f32, ndim=2), a: FLAG):
        while qd.graph.do_while(a):
            for i in range(x.shape[1]):
                x[a[()], i] = qd.random(qd.f32)
            a[()] -= 1

    x, y = qd.ndarray(qd.f32, (6, 16)), qd.ndarray(qd.f32, (6, 16))
    k(x, flag(5))
    k(y, flag(5))
    drawn = np.concatenate([x.to_numpy()[1:], y.to_numpy()[1:]])
    assert len(np.unique(drawn)) == drawn.size


@pytest.mark.runtime(debug=True)
def test_a_failing_check_ends_the_loop(arch, flag, counters):
    @qd.kernel(graph=True)
    def k(x: INTS, a: FLAG):
        while qd.graph.do_while(a):
            for i in range(4):
                x[i] += 1
                assert x[i] < 3, "too large"
            for i in range(1):
                a[()] -= 1

    x, left = counters(), flag(100)
    with pytest.raises(AssertionError, match="too large"):
        k(x, left)
    assert x.to_numpy().max() == 3 and left.to_numpy() == 98
    x.fill(0)
    k(x, flag(2))
    assert x.to_numpy().tolist() == [2] * 4 + [0] * 4


def test_prints_in_the_body(arch, flag, capfd):
    @qd.kernel(graph=True)
    def k(a: FLAG):
        while qd.graph.do_while(a):
            print("left", a[()])
            a[()] -= 1

    k(flag(3))
    assert capfd.readouterr().out.splitlines()[-3:] == ["left 3", "left 2", "left 1"]


def test_loops_and_fastcache(arch, flag, counters):
    @qd.kernel(graph=True, fastcache=True)
    def k(x: INTS, a: FLAG):
        while qd.graph.do_while(a):
            for i in range(4):
                x[i] += 1
            a[()] -= 1

    x = counters(4)
    k(x, flag(3))
    k.clear()
    k(x, flag(2))
    assert k.src_ll_cache_observations.cache_loaded
    assert x.to_numpy().tolist() == [5] * 4
    assert [level.cond_arg_name for level in k._primal.graph_do_while_levels] == ["a"]


def test_the_python_scope_meaning(arch):
    assert qd.graph.do_while(2) is True
    assert qd.graph.do_while(0) is False


def test_counters(arch, flag, counters, prog):
    graphs = targets.of_arch(arch.name).graphs
    nested(counters(), flag(1), flag(0))
    assert prog.get_num_offloaded_tasks_on_last_call() == 6
    assert prog.get_graph_total_builds() == prog.get_graph_cache_size() == int(graphs)
    assert (prog.get_graph_num_nodes_on_last_call() > 0) is graphs
    assert prog.get_graph_cache_used_on_last_call() is False
    assert prog.get_graph_last_yield_cp_id_on_last_call() == -1
