"""What tasks of a CUDA graph come behind, as NVIDIA's driver is told: by one that prints it (edges/edges.cpp)."""

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu_only
HERE = Path(__file__).parent
HEADERS = HERE.parents[1] / "_ext"


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    """A function: (node, "behind" or "overlaps", the nodes) of each node of a description, its graph in front where
    that is the body of a loop.
    """
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("apt install g++")
    program = tmp_path_factory.mktemp("edges") / "edges"
    command = [compiler, "-std=c++17", "-I", str(HEADERS), str(HERE / "edges" / "edges.cpp"), "-o", str(program)]
    subprocess.run(command, check=True)

    def run(words):
        done = subprocess.run([str(program)], input=words, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    return run


def test_tasks_overlap_one_after_the_other(edges):
    assert edges("t t t") == ["1 in 1 behind", "2 in 1 overlaps 1", "3 in 1 overlaps 2"]


def test_branches_come_behind_the_fork_and_what_follows_behind_all(edges):
    assert edges("t [ f t t f t ] t t") == [
        "1 in 1 behind",
        "2 in 1 behind 1",
        "3 in 1 overlaps 2",
        "4 in 1 behind 1",
        "5 in 1 behind 3 4",
        "6 in 1 overlaps 5",
    ]


def test_branches_that_begin_or_end_a_graph(edges):
    assert edges("[ f t f t ]") == ["1 in 1 behind", "2 in 1 behind"]
    assert edges("[ f t f t ] t") == ["1 in 1 behind", "2 in 1 behind", "3 in 1 behind 1 2"]


def test_branches_without_tasks(edges):
    assert edges("t [ f f t f ] t") == ["1 in 1 behind", "2 in 1 behind 1", "3 in 1 behind 2"]
    assert edges("t [ f f ] t") == ["1 in 1 behind", "2 in 1 behind 1"]
    assert edges("t [ ] t") == ["1 in 1 behind", "2 in 1 behind 1"]


def test_branches_behind_branches(edges):
    assert edges("t [ f t f t ] [ f t f t ] t") == [
        "1 in 1 behind",
        "2 in 1 behind 1",
        "3 in 1 behind 1",
        "4 in 1 behind 2 3",
        "5 in 1 behind 2 3",
        "6 in 1 behind 4 5",
    ]


def test_branches_in_a_loop_and_loops_behind_branches(edges):
    assert edges("[ f t f t ] l [ f t f t ] t e t") == [
        "1 in 1 behind",
        "2 in 1 behind",
        "loop 3 in 1 behind 1 2",
        "4 in 2 behind",
        "5 in 2 behind",
        "6 in 2 behind 4 5",
        "7 in 1 behind 3",
    ]
