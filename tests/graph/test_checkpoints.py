"""`with qd.checkpoint(label, yield_on=flag)`: launches that stop, and launches that go on from there."""

import enum
import warnings

import numpy as np
import pytest

import quadrants as qd

INTS = qd.types.ndarray(qd.i32, ndim=1)
FLAG = qd.types.ndarray(qd.i32, ndim=0)
SECOND = 2


class Stage(enum.IntEnum):
    FIRST = 3
    LAST = 7


@qd.kernel(graph=True, checkpoints=True)
def five(x: INTS, a: FLAG, b: FLAG):
    """Five loops around two checkpoints; each adds to its own digit."""
    for i in range(4):
        x[i] += 1
    with qd.checkpoint(1, yield_on=a):
        for i in range(4):
            x[i] += 10
    for i in range(4):
        x[i] += 100
    with qd.checkpoint(SECOND, yield_on=b):
        for i in range(4):
            x[i] += 1000
    for i in range(4):
        x[i] += 10000


@qd.kernel(graph=True, checkpoints=True)
def looped(x: INTS, passes: FLAG, stop: FLAG):
    x[4] += 1
    while qd.graph.do_while(passes):
        for i in range(4):
            x[i] += 1
        with qd.checkpoint(Stage.FIRST, yield_on=stop):
            for i in range(1):
                x[5] += 1
                if passes[()] == 2:
                    stop[()] = 1
        passes[()] -= 1
    x[6] += 1


def test_a_launch_that_runs_to_its_end(arch, flag, counters):
    x = counters(4)
    status = five(x, flag(0), flag(0))
    assert x.to_numpy().tolist() == [11111] * 4
    assert not status.yielded and status.checkpoint is None and status
    assert repr(status) == "GraphStatus(yielded=False)"


def test_yield_and_resume(arch, flag, counters, prog):
    x, a, b = counters(4), flag(5), flag(1)
    status = five(x, a, b)
    assert x.to_numpy().tolist() == [11] * 4
    assert status.yielded and status.checkpoint == 1 and isinstance(status, qd.GraphStatus)
    assert repr(status) == "GraphStatus(yielded=True, checkpoint=1)"
    assert prog.get_graph_last_yield_cp_id_on_last_call() == 1
    # Nobody clears the flag: the same block stops the launch again.
    assert five.resume(x, a, b, from_checkpoint=status.checkpoint).checkpoint == 1
    assert x.to_numpy().tolist() == [21] * 4
    a.fill(0)
    assert five.resume(x, a, b, from_checkpoint=1).checkpoint == SECOND
    assert x.to_numpy().tolist() == [1131] * 4
    b.fill(0)
    assert not five.resume(x, a=a, b=b, from_checkpoint=SECOND).yielded
    assert x.to_numpy().tolist() == [12131] * 4
    assert prog.get_graph_last_yield_cp_id_on_last_call() == -1


def test_resume_as_the_first_launch(arch, flag, counters):
    x = counters(4)
    assert not five.resume(x, flag(9), flag(0), from_checkpoint=SECOND).yielded
    assert x.to_numpy().tolist() == [11000] * 4


def test_checkpoints_in_loops(arch, flag, counters):
    x, passes, stop = counters(), flag(4), flag(0)
    status = looped(x, passes, stop)
    assert status.checkpoint is Stage.FIRST and repr(status).endswith("checkpoint=<Stage.FIRST: 3>)")
    assert x.to_numpy().tolist() == [3, 3, 3, 3, 1, 3, 0, 0] and passes.to_numpy() == 2
    stop.fill(0)
    passes.fill(3)
    # The first pass skips what is before the block; the one after it, which stops again, skips nothing.
    assert looped.resume(x, passes, stop, from_checkpoint=Stage.FIRST).yielded
    assert x.to_numpy().tolist() == [4, 4, 4, 4, 1, 5, 0, 0] and passes.to_numpy() == 2
    stop.fill(0)
    passes.fill(1)
    assert not looped.resume(x, passes, stop, from_checkpoint=3).yielded
    assert x.to_numpy().tolist() == [4, 4, 4, 4, 1, 6, 1, 0]


def test_a_yield_belongs_to_one_launch(arch, flag, counters):
    @qd.kernel(graph=True)
    def count(x: INTS, a: FLAG):
        while qd.graph.do_while(a):
            x[0] += 1
            a[()] -= 1

    x = counters(4)
    assert five(x, flag(1), flag(0)).yielded
    y = counters(4)
    count(y, flag(5))
    assert y.to_numpy()[0] == 5
    assert not five(counters(4), flag(0), flag(0)).yielded


def test_loops_in_front_of_the_checkpoint_are_passed_by(arch, flag, counters):
    @qd.kernel(graph=True, checkpoints=True)
    def k(x: INTS, a: FLAG, b: FLAG, stop: FLAG):
        while qd.graph.do_while(a):
            for i in range(4):
                x[i] += 1
            a[()] -= 1
        while qd.graph.do_while(b):
            while qd.graph.do_while(a):
                x[5] += 1
                a[()] = 0
            with qd.checkpoint(4, yield_on=stop):
                for i in range(4):
                    x[i] += 10
            b[()] -= 1

    x, a = counters(), flag(7)
    k.resume(x, a, flag(2), flag(0), from_checkpoint=4)
    assert x.to_numpy().tolist() == [20, 20, 20, 20, 0, 1, 0, 0] and a.to_numpy() == 0


def test_variables_are_set_again(arch, flag, counters):
    @qd.kernel(graph=True, checkpoints=True)
    def k(x: INTS, a: FLAG):
        step = x[3] + 7
        half = step // 2
        for i in range(3):
            x[i] += 100
        with qd.checkpoint(1, yield_on=a):
            for i in range(half):
                x[i] += step

    x = counters(4)
    x[3] = -3
    k.resume(x, flag(0), from_checkpoint=1)
    assert x.to_numpy().tolist() == [4, 4, 0, -3]


def test_variables_that_could_not_be_set_again_are_refused(arch, flag, counters):
    @qd.kernel(graph=True, checkpoints=True)
    def k(x: INTS, a: FLAG):
        old = x[0]
        x[0] = 5
        for i in range(3):
            x[i] += 1
        with qd.checkpoint(1, yield_on=a):
            for i in range(4):
                x[i] += old

    with pytest.raises(qd.QuadrantsSyntaxError, match='variable "old" is used behind a checkpoint'):
        k(counters(4), flag(0))


def test_new_arguments_for_a_resumed_launch(arch, flag, counters):
    x, y = counters(4), counters(4)
    five(x, flag(1), flag(0))
    five.resume(y, flag(0), flag(0), from_checkpoint=1)
    assert x.to_numpy().tolist() == [11] * 4 and y.to_numpy().tolist() == [11110] * 4


def test_methods_resume(arch, flag, counters):
    @qd.data_oriented
    class Solver:
        def __init__(self):
            self.x, self.stop = counters(4), flag(1)

        @qd.kernel(graph=True, checkpoints=True)
        def run(self, n: qd.i32):
            for i in range(4):
                self.x[i] += 1
            with qd.checkpoint(1, yield_on=self.stop):
                for i in range(4):
                    self.x[i] += n

    solver = Solver()
    assert solver.run(10).yielded
    solver.stop.fill(0)
    assert not solver.run.resume(20, from_checkpoint=1).yielded
    assert solver.x.to_numpy().tolist() == [31] * 4


def test_without_checkpoints_nothing_is_returned(arch, flag, counters):
    @qd.kernel(graph=True, checkpoints=True)
    def k(x: INTS):
        for i in range(4):
            x[i] += 1

    assert k(counters(4)) is None
    with pytest.raises(RuntimeError, match="does not match any qd.checkpoint"):
        k.resume(counters(4), from_checkpoint=1)


def test_kernels_with_checkpoints_are_kept(arch, flag, counters):
    @qd.kernel(graph=True, checkpoints=True, fastcache=True)
    def k(x: INTS, a: FLAG):
        with qd.checkpoint(8, yield_on=a):
            for i in range(4):
                x[i] += 1

    assert k(counters(4), flag(1)).checkpoint == 8
    k.clear()
    assert k(counters(4), flag(1)).checkpoint == 8
    assert k.src_ll_cache_observations.cache_loaded
    assert k.resume(counters(4), flag(0), from_checkpoint=8) == qd.GraphStatus(False)


def test_resume_checks_its_argument(arch, flag, counters):
    args = (counters(4), flag(0), flag(0))
    with pytest.raises(TypeError, match="from_checkpoint"):
        five.resume(*args)
    with pytest.raises(TypeError, match="from_checkpoint"):
        five.resume(*args, 1)
    for label in ("1", 1.0, None, True):
        with pytest.raises(RuntimeError, match="must be an int or IntEnum value"):
            five.resume(*args, from_checkpoint=label)
    with pytest.raises(RuntimeError, match=r"does not match any qd.checkpoint of kernel five; its labels: 1, 2"):
        five.resume(*args, from_checkpoint=9)
    assert args[0].to_numpy().tolist() == [0] * 4

    @qd.kernel(graph=True)
    def plain(x: INTS):
        x[0] = 1

    with pytest.raises(qd.QuadrantsSyntaxError, match="checkpoints=True"):
        plain.resume(args[0], from_checkpoint=1)


def test_it_needs_the_declaration(arch, flag):
    @qd.kernel(graph=True)
    def k(a: FLAG):
        with qd.checkpoint(1, yield_on=a):
            for i in range(4):
                a[()] = i

    with pytest.raises(qd.QuadrantsSyntaxError, match="checkpoints=True"):
        k(flag(0))
    with pytest.raises(qd.QuadrantsSyntaxError, match="graph=True"):
        qd.kernel(checkpoints=True)


BLOCK = "        for i in range(4):\n            x[i] += 1\n"
REFUSED = {
    "nested": ("with qd.checkpoint(1, yield_on=a):\n    with qd.checkpoint(2, yield_on=a):\n" + BLOCK, "cannot be"),
    "in a loop": ("for j in range(2):\n    with qd.checkpoint(1, yield_on=a):\n" + BLOCK, "kernel top level"),
    "twice": (("with qd.checkpoint(1, yield_on=a):\n" + BLOCK) * 2, "must be unique"),
    "assignment": ("with qd.checkpoint(1, yield_on=a):\n        x[0] = 1\n", r"for _ in range\(1\)"),
    "call": ("with qd.checkpoint(1, yield_on=a):\n        print(1)\n", r"for _ in range\(1\)"),
    "text": ("with qd.checkpoint('one', yield_on=a):\n" + BLOCK, "int literal"),
    "truth": ("with qd.checkpoint(True, yield_on=a):\n" + BLOCK, "int literal"),
    "sum": ("with qd.checkpoint(1 + 1, yield_on=a):\n" + BLOCK, "int literal"),
    "no flag": ("with qd.checkpoint(1):\n" + BLOCK, "takes a label and a flag"),
    "more": ("with qd.checkpoint(1, yield_on=a, other=2):\n" + BLOCK, "takes a label and a flag"),
    "local flag": ("z = 1\nwith qd.checkpoint(1, yield_on=z):\n" + BLOCK, "does not resolve to an ndarray"),
    "long flag": ("with qd.checkpoint(1, yield_on=x):\n" + BLOCK, "needs a 0-d i32 ndarray"),
    "as": ("with qd.checkpoint(1, yield_on=a) as c:\n" + BLOCK, "with ... as"),
    "section": ("with qd.graph.parallel_context():\n    with qd.graph.parallel():\n" + BLOCK, "checkpoints=True"),
    "stream": ("with qd.stream_parallel():\n" + BLOCK, "not compatible with graph=True"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_kernels(arch, flag, counters, case, tmp_path, monkeypatch):
    body, text = REFUSED[case]
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    name = "kernels_" + case.replace(" ", "_")
    (tmp_path / f"{name}.py").write_text(
        "import quadrants as qd\n\n@qd.kernel(graph=True, checkpoints=True)\n"
        "def k(x: qd.types.ndarray(qd.i32, ndim=1), a: qd.types.ndarray(qd.i32, ndim=0)):\n" + lines
    )
    monkeypatch.syspath_prepend(tmp_path)
    k = __import__(name).k
    with pytest.raises((qd.QuadrantsSyntaxError, qd.QuadrantsTypeError), match=text):
        k(counters(4), flag(0))


def test_not_in_functions(arch, flag, counters):
    @qd.func
    def f(x: qd.template(), a: qd.template()):
        with qd.checkpoint(1, yield_on=a):
            for i in range(4):
                x[i] += 1

    @qd.kernel(graph=True, checkpoints=True)
    def k(x: INTS, a: FLAG):
        f(x, a)

    with pytest.raises(qd.QuadrantsSyntaxError, match="not @qd.func"):
        k(counters(4), flag(0))


def test_a_tape_hears_of_resumed_launches(arch, flag, counters):
    @qd.kernel(graph=True, checkpoints=True)
    def k(x: qd.types.ndarray(qd.f32, ndim=1), loss: qd.types.ndarray(qd.f32, ndim=1), a: FLAG):
        with qd.checkpoint(1, yield_on=a):
            for i in range(4):
                loss[0] += x[i]

    x, loss = qd.ndarray(qd.f32, (4,), needs_grad=True), qd.ndarray(qd.f32, (1,), needs_grad=True)
    with pytest.raises(qd.QuadrantsSyntaxError, match="has no derivative"):
        with qd.ad.Tape(loss=loss):
            k.resume(x, loss, flag(0), from_checkpoint=1)


def test_python_scope(arch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with qd.checkpoint(1, yield_on=np.zeros(())):
            pass
