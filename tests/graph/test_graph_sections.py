"""`qd.graph.parallel_context`, `qd.graph.parallel` and `qd.stream_parallel`: the same results as without."""

import pytest

import quadrants as qd

INTS = qd.types.ndarray(qd.i32, ndim=1)
FLAG = qd.types.ndarray(qd.i32, ndim=0)


def test_sections_give_what_the_plain_program_gives(arch, counters):
    @qd.kernel(graph=True)
    def forked(x: INTS, y: INTS):
        for i in range(8):
            x[i] = i
        with qd.graph.parallel_context():
            with qd.graph.parallel():
                for i in range(8):
                    x[i] *= 3
                for i in range(8):
                    x[i] += 1
            with qd.graph.parallel():
                y[0] = 5
                for i in range(1, 8):
                    y[i] = i * i
        for i in range(8):
            x[i] += y[i]

    x, y = counters(), counters()
    forked(x, y)
    assert y.to_numpy().tolist() == [5, 1, 4, 9, 16, 25, 36, 49]
    assert x.to_numpy().tolist() == [3 * i + 1 + (5 if i == 0 else i * i) for i in range(8)]


@qd.kernel(graph=True)
def sections_in_turn(turn: INTS, count: INTS):
    for i in range(1):
        turn[0] = qd.atomic_add(count[0], 1)
    with qd.graph.parallel_context():
        for k in qd.static(range(1, 4)):
            with qd.graph.parallel():
                for i in range(1):
                    turn[k] = qd.atomic_add(count[0], 1)
                for i in range(1):
                    turn[k + 3] = qd.atomic_add(count[0], 1)
    for i in range(1):
        turn[7] = qd.atomic_add(count[0], 1)


@qd.kernel
def streams_in_turn(turn: INTS, count: INTS):
    with qd.stream_parallel():
        for i in range(1):
            turn[0] = qd.atomic_add(count[0], 1)
        for i in range(1):
            turn[1] = qd.atomic_add(count[0], 1)
    with qd.stream_parallel():
        for i in range(1):
            turn[2] = qd.atomic_add(count[0], 1)


def test_sections_are_branches_of_a_graph(arch, counters):
    turn, count = counters(), counters()
    for launch in range(5):
        count.fill(0)
        sections_in_turn(turn, count)
        found = turn.to_numpy().tolist()
        assert found[0] == 0 and found[7] == 7 and sorted(found) == list(range(8))
        assert all(found[k] < found[k + 3] for k in (1, 2, 3))
        if qd.lang.impl.get_runtime().prog.get_graph_num_nodes_on_last_call() and qd.cfg.emulate:
            # The emulator does the last branch first.
            assert found == [0, 5, 3, 1, 6, 4, 2, 7]


def test_streams_are_branches_of_a_graph(arch, counters):
    turn, count = counters(), counters()
    for launch in range(12):
        count.fill(0)
        streams_in_turn(turn, count)
        found = turn.to_numpy()[:3].tolist()
        assert sorted(found) == [0, 1, 2] and found[0] < found[1]
        if qd.lang.impl.get_runtime().prog.get_graph_num_nodes_on_last_call() and qd.cfg.emulate:
            assert found == [1, 2, 0]


def test_static_control_around_sections(arch, counters):
    on, off = True, False

    @qd.kernel(graph=True)
    def k(x: INTS):
        with qd.graph.parallel_context():
            for j in qd.static(range(3)):
                with qd.graph.parallel():
                    x[j] += 10 + j
            if qd.static(on):
                with qd.graph.parallel():
                    x[6] = 1
            if qd.static(off):
                with qd.graph.parallel():
                    x[7] = 1

    x = counters()
    k(x)
    assert x.to_numpy().tolist() == [10, 11, 12, 0, 0, 0, 1, 0]


def test_sections_in_a_loop(arch, flag, counters):
    @qd.kernel(graph=True)
    def k(x: INTS, a: FLAG):
        while qd.graph.do_while(a):
            with qd.graph.parallel_context():
                with qd.graph.parallel():
                    for i in range(4):
                        x[i] += 1
                with qd.graph.parallel():
                    a[()] -= 1

    x = counters()
    k(x, flag(3))
    assert x.to_numpy().tolist() == [3] * 4 + [0] * 4


def test_derivatives_run_sections_in_order(arch):
    @qd.kernel(graph=True)
    def k(x: qd.types.ndarray(qd.f32, ndim=1), loss: qd.types.ndarray(qd.f32, ndim=1)):
        with qd.graph.parallel_context():
            with qd.graph.parallel():
                for i in range(4):
                    loss[0] += x[i] * x[i]
            with qd.graph.parallel():
                for i in range(4):
                    loss[1] += 3.0 * x[i]

    x, loss = qd.ndarray(qd.f32, (4,), needs_grad=True), qd.ndarray(qd.f32, (2,), needs_grad=True)
    for i in range(4):
        x[i] = i
    k(x, loss)
    loss.grad.fill(1.0)
    k.grad(x, loss)
    assert x.grad.to_numpy().tolist() == [3.0, 5.0, 7.0, 9.0]


def test_what_contexts_may_hold(arch, counters):
    @qd.kernel(graph=True)
    def statement(x: INTS):
        with qd.graph.parallel_context():
            x[0] = 1

    @qd.kernel(graph=True)
    def loop(x: INTS):
        with qd.graph.parallel_context():
            for j in range(3):
                with qd.graph.parallel():
                    x[j] = 1

    @qd.kernel(graph=True)
    def alone(x: INTS):
        with qd.graph.parallel():
            x[0] = 1

    @qd.kernel(graph=True)
    def contexts(x: INTS):
        with qd.graph.parallel_context():
            with qd.graph.parallel_context():
                with qd.graph.parallel():
                    x[0] = 1

    @qd.kernel(graph=True)
    def sections(x: INTS):
        with qd.graph.parallel_context():
            with qd.graph.parallel():
                with qd.graph.parallel():
                    x[0] = 1

    @qd.kernel(graph=True)
    def argument(x: INTS):
        with qd.graph.parallel_context(2):
            with qd.graph.parallel():
                x[0] = 1

    @qd.kernel
    def no_graph(x: INTS):
        with qd.graph.parallel_context():
            with qd.graph.parallel():
                x[0] = 1

    expected = {
        statement: "holds only", loop: "holds only", alone: "belongs directly in", contexts: "cannot be nested",
        sections: "belongs directly in", argument: "takes no arguments", no_graph: "graph=True",
    }  # fmt: skip
    for k, text in expected.items():
        with pytest.raises(qd.QuadrantsSyntaxError, match=text):
            k(counters())


def test_no_loop_in_a_section_and_no_context_in_a_function(arch, flag, counters):
    @qd.func
    def f(x: qd.template()):
        with qd.graph.parallel_context():
            with qd.graph.parallel():
                x[0] = 1

    @qd.kernel(graph=True)
    def calls(x: INTS, a: FLAG):
        f(x)

    @qd.kernel(graph=True)
    def loops(x: INTS, a: FLAG):
        with qd.graph.parallel_context():
            with qd.graph.parallel():
                while qd.graph.do_while(a):
                    a[()] -= 1

    with pytest.raises(qd.QuadrantsSyntaxError, match="not @qd.func"):
        calls(counters(), flag(1))
    with pytest.raises(qd.QuadrantsSyntaxError, match="inside a qd.graph.parallel"):
        loops(counters(), flag(1))


def test_stream_blocks(arch, counters):
    @qd.kernel
    def k(x: INTS, y: INTS):
        """Text is no statement."""
        with qd.stream_parallel():
            for i in range(8):
                x[i] = i
            for i in range(8):
                x[i] *= 2
        if qd.static(True):
            with qd.stream_parallel():
                for i in range(8):
                    y[i] = -i

    x, y = counters(), counters()
    k(x, y)
    assert x.to_numpy().tolist() == [2 * i for i in range(8)] and y.to_numpy().tolist() == [-i for i in range(8)]


def test_stream_blocks_are_the_whole_kernel(arch, counters):
    @qd.kernel
    def mixed(x: INTS):
        with qd.stream_parallel():
            for i in range(8):
                x[i] = i
        x[0] = 3

    @qd.kernel
    def nested(x: INTS):
        with qd.stream_parallel():
            with qd.stream_parallel():
                x[0] = 3

    @qd.kernel(graph=True)
    def graph(x: INTS):
        with qd.stream_parallel():
            x[0] = 3

    @qd.kernel
    def named(x: INTS):
        with qd.stream_parallel() as s:  # noqa: F841
            x[0] = 3

    @qd.kernel
    def two(x: INTS):
        with qd.stream_parallel(), qd.stream_parallel():
            x[0] = 3

    @qd.kernel
    def other(x: INTS):
        with open("file"):
            x[0] = 3

    expected = {
        mixed: "all top-level statements in the kernel must be", nested: "Nested",
        graph: "not compatible with graph=True", named: "with ... as", two: "only supports", other: "only supports",
    }  # fmt: skip
    for k, text in expected.items():
        with pytest.raises(qd.QuadrantsSyntaxError, match=text):
            k(counters())
