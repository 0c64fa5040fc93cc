"""Programs of the guide print under mpiexec what the page shows, and the example makes the picture of one rank."""

from __future__ import annotations

import re

import numpy as np
import pytest
from ranks_kit import ROOT, Mpi, alone

pytestmark = [pytest.mark.cpu_only, pytest.mark.slow]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def programs() -> list:
    """(name, ranks, program, output) of each program that the page starts by mpiexec."""
    blocks = [(block[1], block[2]) for block in BLOCK.finditer((ROOT / "docs/guide/distributed.md").read_text())]
    found, program = [], ""
    for (kind, text), (after, output) in zip(blocks, blocks[1:]):
        program = text if kind == "python" else program
        started = re.fullmatch(r"mpiexec -n (\d) python (\w+)\.py\n", text) if kind == "bash" else None
        if started and after == "text":
            found.append(pytest.param(int(started[1]), program, output, id=started[2]))
    return found


PROGRAMS = programs()


def test_the_guide_has_programs_for_ranks():
    assert len(PROGRAMS) >= 4


@pytest.mark.parametrize(("ranks", "program", "output"), PROGRAMS)
def test_a_program_of_the_guide_prints_the_same_on_ranks(any_mpi: Mpi, ranks, program, output, tmp_path):
    if "import zarr" in program:
        pytest.importorskip("zarr", reason="needs zarr (pip install zarr)")
    (tmp_path / "program.py").write_text(program)
    done = any_mpi.run(ranks, "program.py", cwd=tmp_path, QD_LOG_LEVEL="warn")
    said = [line for line in done.out.splitlines() if not line.startswith("[Quadrants]")]
    assert done.code == 0 and said == output.splitlines(), done.out


def pictures(mpi: Mpi, example: str, ranks: int, folder) -> list:
    """What the example draws on one rank and on several, as arrays."""
    image = pytest.importorskip("PIL.Image", reason="needs Pillow (pip install pillow)")
    options = ("-m", "quadrants.examples", example, "--frames", "3", "--out")
    assert alone(*options, str(folder / "one")).code == 0
    done = mpi.run(ranks, *options, str(folder / "many"))
    assert done.code == 0 and done.out.count(f"{example}: wrote") == 2, done.out
    return [np.asarray(image.open(folder / name / f"{example}.png")).astype(int) for name in ("one", "many")]


def test_the_example_gives_the_picture_of_one_rank(any_mpi: Mpi, tmp_path):
    one, two = pictures(any_mpi, "warmth", 2, tmp_path)
    assert np.abs(one - two).max() <= 2 and one.std() > 10


def test_particles_of_the_example_are_where_one_rank_has_them(any_mpi: Mpi, tmp_path):
    one, four = pictures(any_mpi, "dam", 4, tmp_path)
    ground = one[0, 0]
    there = [(picture != ground).any(axis=-1) for picture in (one, four)]
    assert there[0].sum() > 1000 and (there[0] != there[1]).mean() < 1e-3
    assert np.abs(one - four).max() > 50, "ranks have colours of their own"
