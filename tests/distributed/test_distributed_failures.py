"""A rank that fails ends its job in bounded time, says why once, and leaves no process."""

from __future__ import annotations

import re

import pytest
from ranks_kit import HERE, PREFIX, Done, Mpi, Torchrun, alone

pytestmark = [pytest.mark.cpu_only, pytest.mark.slow]
PROGRAM = str(HERE / "rank_fails.py")
SECONDS = 10
SAID = {
    "exception": "ZeroDivisionError",
    "assertion": "too far",
    "exit": "sys.exit(3)",
    "exit_text": "no such file",
    "kill": "",
    "more": ("Rank 1 sent 800 bytes where 400 are expected", "If it is about lengths"),
    "fewer": "Rank 1 sent 200 bytes where 400 are expected",
    "known_fewer": "or exchanges an array that it has exchanged before",
    "known_as_many": "and rank 0 sent values: it is at another exchange",
    "thread": "ZeroDivisionError",
}


def ended(done: Done, said: str, seconds: float = SECONDS) -> None:
    """AssertionError unless the job ended with these words so soon after the rank failed, and left no process."""
    assert done.code != 0 and "is done" not in done.out and said in done.out, done.out
    assert done.ended - float(re.findall(r"fails at ([\d.]+)", done.out)[0]) < seconds and done.left == [], done


@pytest.mark.parametrize("way", SAID)
def test_a_failure_of_one_rank_ends_the_job(launcher, way):
    done = launcher.run(2, PROGRAM, way, limit=30)
    ended(done, SAID[way][launcher.name == "torchrun"] if isinstance(SAID[way], tuple) else SAID[way])
    if way != "kill":
        # Without what is before it: lines of two processes may be joined.
        said = re.findall(r"rank (\d) of 2 \([\w.-]+\): ", done.out)
        assert len(said) == len(set(said)) and said, done.out


def test_sums_of_other_lengths_are_no_bare_error_of_mpi(mpi: Mpi):
    """MPICH ends the job itself."""
    done = mpi.run(2, PROGRAM, "sum", limit=30)
    said = {"openmpi": "not at the same allreduce", "mpich": "truncated"}[mpi.name]
    assert done.code != 0 and "is done" not in done.out and said in done.out, done.out


def test_long_faces_where_a_rank_compares_are_told(mpi: Mpi):
    """gloo ends the process itself, in its own words."""
    ended(mpi.run(2, PROGRAM, "known_more", limit=30), "or exchanges an array that it has exchanged before")


def test_a_rank_that_says_nothing_is_given_up_under_torchrun():
    pytest.importorskip("torch", reason="needs torch (pip install torch)")
    done = Torchrun().run(2, PROGRAM, "silent", limit=50)
    ended(done, "rank 0 of 2", 4 + SECONDS)
    assert "torch.distributed says of a barrier" in done.out, done.out


def test_a_traceback_of_a_rank_behind_the_first_is_short(any_mpi: Mpi):
    out = any_mpi.run(2, PROGRAM, "exception", limit=30).out
    lines = out[out.index("rank 1 of 2") :].splitlines()
    end = next(k for k, line in enumerate(lines) if line.startswith("ZeroDivisionError"))
    assert end < 20


@pytest.mark.parametrize("way", ["caught", "well"])
def test_an_exit_that_is_no_failure_ends_nothing(mpi: Mpi, way):
    done = mpi.run(2, PROGRAM, way, limit=30)
    assert done.code == 0 and done.out.count("is done") == (2 if way == "caught" else 1), done.out


def test_another_mpi_than_that_of_the_launcher_is_an_error(mpi: Mpi):
    """Each process would be the first rank of one. MPICH says so itself, where mpiexec is Open MPI's."""
    other = {"mpich": "openmpi", "openmpi": "mpich"}[mpi.name]
    if not (PREFIX / other / "lib").exists():
        pytest.skip(f"needs {other}: make test-distributed installs both MPIs")
    done = mpi.run(2, PROGRAM, "well", limit=30, MPI4PY_MPIABI=other, LD_LIBRARY_PATH=str(PREFIX / other / "lib"))
    assert done.code != 0 and done.left == []
    assert ("unsupported PMI" if mpi.name == "openmpi" else "Set MPI4PY_MPIABI") in done.out, done.out


def test_a_launcher_without_the_package_of_its_engine_is_an_error(tmp_path):
    (tmp_path / "mpi4py.py").write_text("raise ImportError('not here')")
    program = "import quadrants as qd\nfrom quadrants import distributed as qdist\nqdist.init(arch=qd.cpu)\n"
    done = alone("-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{program}", PMI_RANK="1", PMI_SIZE="2")
    assert done.code == 1 and "mpiexec started this program as one of several ranks" in done.out
    assert "pip install mpi4py" in done.out and "[Quadrants] version" not in done.out


def test_one_process_is_not_what_a_launcher_started():
    program = "import quadrants as qd\nfrom quadrants import distributed as qdist\nqdist.init(engine='single')\n"
    done = alone("-c", program, PMI_RANK="0", PMI_SIZE="2")
    assert done.code == 1 and "engine='single' is for one process, and mpiexec started 2" in done.out
