"""Programs of ranks that have a CUDA device each. They need two of them, CuPy with NCCL, mpi4py and an MPI."""

from __future__ import annotations

import pytest
from ranks_kit import HERE, Torchrun
from test_distributed_failures import SAID, SECONDS, ended
from test_distributed_ranks import names_in, passed

from quadrants._ext import core

NAMES = "devices halo overlap checkpoints particles ghosts gradients recorded boundary dam compared mistakes which"
PROGRAMS = [f"ranks_{name}.py" for name in NAMES.split()]
pytestmark = [pytest.mark.cpu_only, pytest.mark.slow]  # once, whatever the arch of the others


def devices() -> int:
    pytest.importorskip("cupy", reason="needs CuPy and NCCL (pip install cupy-cuda13x nvidia-nccl-cu13)")
    found = core.device_count("cuda")
    if found < 2:
        pytest.skip("needs two CUDA devices: NCCL takes one rank a device")
    return found


def one_device() -> dict[str, str]:
    """What has all ranks take the first one."""
    if core.device_count("cuda") < 1:
        pytest.skip("needs a CUDA device")
    return {"QD_RANKS_ARCH": "cuda", "CUDA_VISIBLE_DEVICES": "0"}


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_on_devices(any_mpi, ranks, program, tmp_path):
    if devices() < ranks:
        pytest.skip(f"needs {ranks} CUDA devices")
    done = any_mpi.run(ranks, str(HERE / program), cwd=tmp_path, limit=180, QD_RANKS_ARCH="cuda")
    assert done.code == 0 and passed(done.out) == names_in(program), done.out
    assert f"[Quadrants] {ranks} ranks: nccl (cupy), control mpi4py" in done.out and done.left == []


@pytest.mark.parametrize("program", ["ranks_devices.py", "ranks_halo.py", "ranks_ghosts.py"])
def test_a_program_runs_on_devices_under_torchrun(program, tmp_path):
    devices()
    pytest.importorskip("torch", reason="needs torch (pip install torch)")
    done = Torchrun().run(2, str(HERE / program), cwd=tmp_path, limit=180, QD_RANKS_ARCH="cuda")
    assert done.code == 0 and passed(done.out) == names_in(program), done.out
    assert "[Quadrants] 2 ranks: nccl (cupy), control torch" in done.out and done.left == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_on_devices_without_cupy(program, tmp_path):
    """By torch's NCCL, which carries what kernels have packed."""
    devices()
    pytest.importorskip("torch", reason="needs torch (pip install torch)")
    more = {"QD_RANKS_ARCH": "cuda", "QD_RANKS_WITHOUT": "cupy"}
    done = Torchrun().run(2, str(HERE / program), cwd=tmp_path, limit=180, **more)
    assert done.code == 0 and passed(done.out) == names_in(program), done.out
    assert "[Quadrants] 2 ranks: nccl (torch), control torch" in done.out and done.left == []


@pytest.mark.parametrize("way", [way for way in SAID if not way.startswith("known")])
def test_a_failure_of_one_rank_ends_the_job(any_mpi, way):
    """Not only of ranks that wait for MPI: the other one holds a device, and threads of NCCL."""
    devices()
    done = any_mpi.run(2, str(HERE / "rank_fails.py"), way, limit=60, QD_RANKS_ARCH="cuda")
    ended(done, SAID[way][0] if isinstance(SAID[way], tuple) else SAID[way])


@pytest.mark.parametrize("way", ["absent", "known_fewer", "known_as_many", "known_more"])
def test_a_rank_that_says_nothing_is_given_up(any_mpi, way):
    """It sleeps, or it is at a comparison by the host, to which no rank comes that sends values of devices."""
    devices()
    done = any_mpi.run(2, str(HERE / "rank_fails.py"), way, limit=90, QD_RANKS_ARCH="cuda")
    ended(done, "of the devices did not end in 4 s", 4 + SECONDS)


def test_a_rank_that_says_nothing_is_given_up_without_cupy():
    devices()
    pytest.importorskip("torch", reason="needs torch (pip install torch)")
    more = {"QD_RANKS_ARCH": "cuda", "QD_RANKS_WITHOUT": "cupy"}
    done = Torchrun().run(2, str(HERE / "rank_fails.py"), "absent", limit=90, **more)
    assert done.code != 0 and done.left == [], done.out


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p != "ranks_devices.py"])
def test_two_ranks_of_one_device_go_through_the_host(any_mpi, program, tmp_path):
    done = any_mpi.run(2, str(HERE / program), cwd=tmp_path, limit=180, **one_device())
    assert done.code == 0 and passed(done.out) == names_in(program), done.out
    assert "2 ranks: mpi4py" in done.out and "ranks 0 and 1 are on one GPU" in done.out, done.out


def test_two_ranks_of_one_device_have_no_nccl(any_mpi, tmp_path):
    pytest.importorskip("cupy", reason="needs CuPy and NCCL (pip install cupy-cuda13x nvidia-nccl-cu13)")
    one = one_device()
    program = "import quadrants as qd\nfrom quadrants import distributed as qdist\nqdist.init(qd.cuda, engine='nccl')\n"
    done = any_mpi.run(2, "-c", program, cwd=tmp_path, limit=60, **one)
    assert done.code != 0 and "engine='nccl': ranks 0 and 1 are on one GPU" in done.out, done.out
