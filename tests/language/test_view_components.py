"""Components of swizzles and slices at indices that only the launch knows: the variables that they are views of."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import quadrants as qd

VECTOR_VIEWS = (".zy", ".xyz", ".zyx.xy", ".xx", "[0:2]", "[1:]", "[::2]", "[1:][0:2]")
MATRIX_VIEWS = ("[0, :]", "[:, 1]", "[j, :]", "[:, j]", "[0:2, 1:]", "[0:2, 0:2][j, :]", "[:, ::2]")
PROGRAM = """
import quadrants as qd

@qd.func
def change(part: qd.template(), whole: qd.template()):
    part += 100
    whole[{last}] += 1000
    return part * 10

@qd.func
def set_part(view: qd.template(), i: qd.i32, j: qd.i32):
    view[{index}] -= 3

@qd.kernel
def run(x: qd.template(), i: qd.i32, j: qd.i32, local: qd.template()) -> qd.types.vector(4, qd.i32):
    found = qd.Vector([0, 0, 0, 0])
    for _ in range(1):
        v = x[2]
        if qd.static(local):
            found[0] = v{view}[{index}]
            v{view}[{index}] = 7
            v{view}[{index}] += v{view}[{index}] * i
            found[1] = qd.atomic_add(v{view}[{index}], 40)
            found[2] = change(v{view}[{index}], v)
            set_part(v{view}, i, j)
            x[2] = v
        else:
            found[0] = x[2]{view}[{index}]
            x[2]{view}[{index}] = 7
            x[2]{view}[{index}] += x[2]{view}[{index}] * i
            found[1] = qd.atomic_add(x[2]{view}[{index}], 40)
            found[2] = change(x[2]{view}[{index}], x[2])
            set_part(x[2]{view}, i, j)
        found[3] = x[2]{view}[{index}]
    return found
"""


def program(tmp_path, view: str, index: str, last: str):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(view=view, index=index, last=last))
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run


def containers(shape):
    """Of 4 cells each: of one layout and the other, and in blocks."""
    of = qd.Vector if len(shape) == 1 else qd.Matrix
    yield of.field(*shape, qd.i32, shape=4)
    yield of.field(*shape, qd.i32, shape=4, layout=qd.Layout.SOA)
    blocked = of.field(*shape, qd.i32)
    qd.root.dense(qd.i, 2).dense(qd.i, 2).place(blocked)
    yield blocked


def wanted(cells, at, i):
    """What the program does to NumPy's cells; at: the index of the component."""
    found = [cells[at]]
    cells[at] = 7 + 7 * i
    found.append(cells[at])
    cells[at] += 140
    cells[tuple(n - 1 for n in cells.shape)] += 1000
    found.append(cells[at] * 10)
    cells[at] -= 3
    return [*found, cells[at]]


def checked(run, shape, place, i, j):
    """place: which component of a cell it is, row-major."""
    start = np.arange(1, 1 + 4 * np.prod(shape)).reshape(4, *shape).astype(np.int32)
    for x in containers(shape):
        for local in (False, True):
            x.from_numpy(start)
            found = run(x, i, j, local)
            cells = start.copy()
            values = wanted(cells[2], np.unravel_index(place, shape), i)
            assert [int(n) for n in found] == [int(n) for n in values], (local, i, j)
            assert (x.to_numpy() == cells).all(), (local, i, j)


@pytest.mark.parametrize("view", VECTOR_VIEWS)
def test_of_vectors(arch, tmp_path, view):
    run = program(tmp_path, view, "i", "2")
    flat = np.arange(3)
    for part in view.replace("[", " [").replace(".", " .").split():
        flat = flat[["xyz".index(c) for c in part[1:]]] if part[0] == "." else eval(f"flat{part}", {"flat": flat})
    for i in range(len(flat)):
        checked(run, (3,), flat[i], i, 0)


@pytest.mark.parametrize("view", MATRIX_VIEWS)
def test_of_matrices(arch, tmp_path, view):
    flat = np.arange(6).reshape(2, 3)
    two = eval(f"flat{view}", {"flat": flat, "j": 1}).ndim == 2
    run = program(tmp_path, view, "i, j" if two else "i", "1, 2")
    for j in range(2):
        seen = eval(f"flat{view}", {"flat": flat, "j": j})
        for i in range(len(seen)):
            checked(run, (2, 3), seen[i, j] if two else seen[i], i, j)
