"""A checkpoint outlives programs that are killed while they save, and loads on other numbers of ranks."""

from __future__ import annotations

import errno
import re
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest
from ranks_kit import HERE, Mpi, alone

from quadrants.distributed import locks

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


# Each begins at the same moment as the other, again and again, and then waits until both have saved.
AT_ONCE = """
import os, sys, time
import quadrants as qd
from quadrants import distributed as qdist

me, turns = int(sys.argv[1]), 30
world = qdist.init(arch=qd.cpu)
grid = qdist.Grid((40, 30))
u = grid.field(qd.i32)
def meet(name):
    world.barrier()
    if world.rank == 0:
        open(f"{name}-{me}", "w").close()
        while not os.path.exists(f"{name}-{1 - me}"):
            time.sleep(0.0005)
    world.barrier()
for turn in range(turns):
    u.fill(2 * turn + me)
    meet(f"save-{turn}")
    qdist.save("both", grid, {"u": u}, step=2 * turn + me)
    meet(f"load-{turn}")
    step = qdist.load("both", grid, {"u": u})
    whole = grid.gather(u)
    assert step // 2 == turn and (whole is None or (whole == step).all()), (turn, step)
print("loaded all" if world.rank == 0 else "")
"""


def test_of_two_programs_that_save_at_once_one_leaves_its_checkpoint(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(alone, "-c", AT_ONCE, str(me), cwd=tmp_path) for me in range(2)]
    assert all("loaded all" in run.result().out for run in runs), [run.result().out for run in runs]
    left = {path.name for path in (tmp_path / "both").iterdir()}
    assert len(left) == 3 and {"lock", "manifest.json"} < left, left


def test_two_jobs_that_save_at_once_leave_a_checkpoint(any_mpi: Mpi, tmp_path):
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(any_mpi.run, 2, "-c", AT_ONCE, str(me), cwd=tmp_path) for me in range(2)]
    assert all("loaded all" in run.result().out for run in runs), [run.result().out for run in runs]


def test_where_there_are_no_locks_nobody_waits(tmp_path, monkeypatch):
    refuse = mock.Mock(side_effect=OSError(errno.ENOLCK, "No locks available"))
    monkeypatch.setattr("fcntl.flock", refuse)
    with locks.held(tmp_path / "lock"), locks.held(tmp_path / "lock"), locks.held(tmp_path / "nowhere" / "lock"):
        assert refuse.call_count == 2


def test_a_killed_job_leaves_a_checkpoint_that_other_ranks_load(mpi: Mpi, tmp_path):
    program = str(HERE / "rank_saves.py")
    done = mpi.run(4, program, "save", cwd=tmp_path)
    assert done.code != 0 and "saving" in done.out and done.left == [], done.out
    done = mpi.run(3, program, "load", cwd=tmp_path)
    assert done.code == 0 and "loaded " in done.out, done.out
