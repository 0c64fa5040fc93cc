"""Sparse fields in kernels with checkpoints, with fastcache, in a second process, and in debug mode."""

import os
import subprocess
import sys
import textwrap

import pytest
from sparse_kit import count

import quadrants as qd

FLAG = qd.types.ndarray(qd.i32, ndim=0)


def test_checkpoints(sparse):
    x = qd.field(qd.i32)
    node = qd.root.pointer(qd.i, 16)
    node.place(x)

    @qd.kernel(graph=True, checkpoints=True)
    def stages(stop: FLAG):
        for i in range(8):
            x[i] = i + 1
        with qd.checkpoint(1, yield_on=stop):
            for i in x:
                if i % 2 == 0:
                    qd.deactivate(node, [i])
        for i in x:
            x[i] += 100

    stop = qd.ndarray(qd.i32, ())
    stop[()] = 1
    status = stages(stop)
    assert status.yielded and count(x) == 4 and x.to_numpy().sum() == 2 + 4 + 6 + 8
    stop[()] = 0
    assert not stages.resume(stop, from_checkpoint=1).yielded
    assert count(x) == 4 and x.to_numpy().sum() == 2 + 4 + 6 + 8 + 400


PROGRAM = """
    import sys
    import quadrants as qd

    qd.init(arch=getattr(qd, sys.argv[1]), log_level=qd.ERROR)
    x = qd.field(qd.i32)
    node = qd.root.pointer(qd.i, 8)
    node.dense(qd.i, 4).place(x)
    lists = qd.root.dynamic(qd.j, 100, chunk_size=4)
    y = qd.field(qd.i32)
    lists.place(y)

    @qd.kernel(fastcache=True)
    def work(x: qd.template(), lists: qd.template(), n: qd.i32):
        for i in range(n):
            x[3 * i] += i
        for i in x:
            if x[i] > 0:
                qd.append(lists, [], x[i])

    work(x, lists, 9)
    qd.sync()
    print(sorted(y.to_numpy().tolist())[-9:], node._num_dynamically_allocated)
"""


def test_a_second_process(arch_name, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    told = {**os.environ, "QD_OFFLINE_CACHE_FILE_PATH": str(tmp_path / "cache"), "PYTHONWARNINGS": "ignore"}
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, program, arch_name], env=told, capture_output=True, text=True, check=False
        )
        assert run.stdout.splitlines()[-1:] == ["[0, 1, 2, 3, 4, 5, 6, 7, 8] 7"], run.stderr


@pytest.mark.parametrize("seed", [1, 5])
def test_random_programs_with_checks(init, seed):
    import sparse_kit

    init(debug=True)
    sparse_kit.run(seed)


def test_serial_code_at_the_top_of_a_kernel(sparse):
    x = qd.field(qd.i32)
    node = qd.root.dense(qd.i, 2).pointer(qd.i, 4)
    node.place(x)

    @qd.kernel
    def top(n: qd.i32) -> qd.i32:
        x[1] = 5
        qd.deactivate(node, [1])
        x[2] = x[1] + n
        if n > 3:
            qd.deactivate(node, [2])
        return qd.is_active(node, [1]) * 10 + qd.is_active(node, [2])

    assert top(1) == 1 and x[2] == 1
    assert top(7) == 0 and x[2] == 0 and count(x) == 0
