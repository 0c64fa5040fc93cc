"""`python -m quadrants.distributed doctor`, and what importing the package does."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from ranks_kit import ROOT, Mpi, alone

pytestmark = pytest.mark.cpu_only

OF_THREADS = """
import os
import quadrants as qd
from quadrants import distributed as qdist

os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
world = qdist.init(arch=qd.cpu)
shared = qd.cfg.cpu_max_num_threads
qdist.init(arch=qd.cpu, cpu_max_num_threads=3)
given = qd.cfg.cpu_max_num_threads
os.environ["QD_NUM_THREADS"] = "5"
qdist.init(arch=qd.cpu)
found = world.gather((shared, given, qd.cfg.cpu_max_num_threads))
if world.rank == 0:
    print("threads", found)
"""


def test_the_doctor_of_one_process_says_so():
    done = alone("-m", "quadrants.distributed", "doctor")
    assert done.code == 0 and "1 rank, started by no launcher, engine single" in done.out, done.out
    assert re.search(r"rank 0: host \S+, local 0 of 1, threads \d+\n", done.out)


@pytest.mark.slow
def test_the_doctor_measures_each_rank(mpi: Mpi):
    done = mpi.run(2, "-m", "quadrants.distributed", "doctor")
    assert done.code == 0 and "2 ranks, started by mpiexec, engine mpi4py" in done.out, done.out
    row = r"rank (\d): host \S+, local \1 of 2, threads \d+, exchange of 8 B [\d.]+ us, of 4 MiB [\d.]+ GB/s"
    assert re.findall(row, done.out) == ["0", "1"]


@pytest.mark.slow
def test_threads_are_shared_out_on_a_host_unless_they_are_named(mpi: Mpi):
    done = mpi.run(2, "-c", OF_THREADS)
    assert done.code == 0 and "threads [(1, 3, 5), (1, 3, 5)]" in done.out and "overridden" not in done.out, done.out


def test_importing_the_package_leaves_the_layer_alone():
    code = "import sys, quadrants; sys.exit(any('distributed' in m or 'mpi4py' in m for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
    code = "import sys, quadrants.distributed as d; sys.exit(bool({'mpi4py', 'torch', 'cupy'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
