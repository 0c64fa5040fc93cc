"""A checkpoint outlives programs that are killed while they save, and loads on other numbers of ranks."""

from __future__ import annotations

import re

import pytest
from ranks_kit import HERE, Mpi, alone

pytestmark = [pytest.mark.cpu_only, pytest.mark.slow]

IN_CHILDREN = """
import os, random, signal, sys, time
import quadrants as qd
from quadrants import distributed as qdist

qdist.init(arch=qd.cpu)
grid = qdist.Grid((40, 30))
u = grid.field(qd.i32)
u.fill(1)
qdist.save("killed", grid, {"u": u}, step=1)
step = found = 1
told, tells = os.pipe()
for k in range(20):
    child = os.fork()
    if child == 0:
        while True:
            step += 1
            u.fill(step)
            qdist.save("killed", grid, {"u": u}, step=step)
            os.write(tells, b"." if step == found + 1 else b"")
    os.read(told, 1)  # it has saved once, however busy the machine is
    time.sleep(random.Random(k).uniform(0.005, 0.1))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    found = qdist.load("killed", grid, {"u": u})
    inside = u.to_numpy()[1:-1, 1:-1]
    assert found >= step and (inside == found).all(), (k, found, step)
    step = found
print("steps", step)
"""


def test_twenty_kills_leave_a_checkpoint_that_loads(tmp_path):
    done = alone("-c", IN_CHILDREN, cwd=tmp_path)
    assert done.code == 0, done.out
    assert int(re.search(r"steps (\d+)", done.out)[1]) > 20


def test_a_killed_job_leaves_a_checkpoint_that_other_ranks_load(mpi: Mpi, tmp_path):
    program = str(HERE / "rank_saves.py")
    done = mpi.run(4, program, "save", cwd=tmp_path)
    assert done.code != 0 and "saving" in done.out and done.left == [], done.out
    done = mpi.run(3, program, "load", cwd=tmp_path)
    assert done.code == 0 and "loaded " in done.out, done.out
