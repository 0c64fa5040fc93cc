"""Programs on 1, 2 and 4 ranks of Open MPI and of MPICH, and alone. The programs say what they test."""

from __future__ import annotations

import re

import pytest
from ranks_kit import HERE, Mpi, Torchrun, alone

pytestmark = pytest.mark.cpu_only
PROGRAMS = sorted(path.name for path in HERE.glob("ranks_*.py") if path.name != "ranks_kit.py")


NEEDS = {"ranks_zarr.py": "zarr"}


def ask_for_packages(program: str) -> None:
    if package := NEEDS.get(program):
        pytest.importorskip(package, reason=f"needs {package} (pip install {package})")


def names_in(program: str) -> list[str]:
    return re.findall(r"^def (test_\w+)\(", (HERE / program).read_text(), re.MULTILINE)


def passed(out: str) -> list[str]:
    return re.findall(r"passed (test_\w+)", out)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_alone(program, tmp_path):
    ask_for_packages(program)
    done = alone(str(HERE / program), cwd=tmp_path)
    assert done.code == 0 and passed(done.out) == names_in(program), done.out
    assert "ranks:" not in done.out


# One rank that mpiexec started takes the engine of one that started alone.
CASES = [(1, "ranks_world.py"), *((ranks, program) for ranks in (2, 4) for program in PROGRAMS)]
CASES.remove((4, "ranks_emulated.py"))  # slow, and about the way through the host alone


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "program"), CASES)
def test_a_program_runs_on_ranks(mpi: Mpi, ranks, program, tmp_path):
    ask_for_packages(program)
    done = mpi.run(ranks, str(HERE / program), cwd=tmp_path)
    assert done.code == 0 and passed(done.out) == names_in(program), done.out
    assert done.left == []
    assert (f"[Quadrants] {ranks} ranks: mpi4py" in done.out) == (ranks > 1)
    assert done.out.count("[Quadrants] version") == 1, "ranks behind the first are to be silent"


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_under_torchrun(program, tmp_path):
    pytest.importorskip("torch", reason="needs torch (pip install torch)")
    ask_for_packages(program)
    done = Torchrun().run(2, str(HERE / program), cwd=tmp_path)
    assert done.code == 0 and passed(done.out) == names_in(program), done.out
    assert "[Quadrants] 2 ranks: torch" in done.out and done.left == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", ["ranks_devices.py", "ranks_halo.py", "ranks_overlap.py", "ranks_particles.py", "ranks_ghosts.py"]
)
def test_a_program_runs_on_emulated_devices(any_mpi: Mpi, program, tmp_path):
    emulated = {"QD_RANKS_ARCH": "cuda", "QD_EMULATE": "1"}
    done = any_mpi.run(2, str(HERE / program), cwd=tmp_path, limit=180, **emulated)
    assert done.code == 0 and passed(done.out) == names_in(program), done.out
    assert "exchanges go through the memory of the host" in done.out and done.left == []
