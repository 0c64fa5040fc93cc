"""Kernels in cells of IPython and of Jupyter notebooks."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.cpu_only

SESSION = """
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="nocolor")
for cell in CELLS:
    shell.run_cell(cell, store_history=True)
"""
START = "import quadrants as qd\nqd.init(arch=qd.cpu)"


def told_by(*cells: str) -> str:
    """What a session that runs these cells writes."""
    pytest.importorskip("IPython", reason="needs IPython (pip install ipykernel nbclient)")
    program = f"CELLS = {[START, *map(textwrap.dedent, cells)]!r}\n{SESSION}"
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, timeout=120)
    return done.stdout + done.stderr


def kernel(value: object, around: str = "") -> str:
    return f"{around}@qd.kernel\ndef run() -> qd.i32:\n    return {value}\nprint('result', run())"


def test_a_cell_that_is_run_again():
    told = told_by(kernel(1), kernel(2), kernel(2), kernel(1), "print('last', run())")
    assert [line for line in told.splitlines() if line.startswith("result")] == ["result 1", "result 2"] + [
        "result 2",
        "result 1",
    ]
    assert "last 1" in told


def test_a_func_that_is_defined_again():
    """A kernel of another cell calls the new one, though it was compiled with the old one."""
    told = told_by(
        "@qd.func\ndef part():\n    return 1",
        kernel("part()"),
        "@qd.func\ndef part():\n    return 2",
        "print('result', run())",
    )
    assert [line for line in told.splitlines() if line.startswith("result")] == ["result 1", "result 2"]


@pytest.mark.parametrize("magic", ["%%time\n", "%%time\n\n\n", "%%timeit -n1 -r1\n", "%%capture out\n"])
def test_cells_with_a_magic(magic):
    told = told_by(kernel(7, magic), "print(out)" if "capture" in magic else "")
    assert "result 7" in told, told


def test_tracebacks_end_at_the_cell():
    told = told_by("@qd.kernel\ndef run():\n    nothing", "run()")
    shown = told[told.index("Traceback (most recent call last)") :]
    assert "----> 1 run()" in shown and "Cell In[2], line 3, in run:\n    nothing\n    ^^^^^^^" in shown
    assert "kernel.py" not in shown and "launcher" not in shown and "quadrants/" not in shown


def test_a_notebook(tmp_path):
    pytest.importorskip("ipykernel", reason="needs ipykernel")
    nbformat = pytest.importorskip("nbformat", reason="needs nbclient")
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
    cells = [START, kernel(1), kernel(2), "@qd.kernel\ndef wrong():\n    nothing", "wrong()"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    from jupyter_client.manager import KernelManager

    manager = KernelManager()
    manager.kernel_spec.argv[0] = sys.executable
    nbclient.NotebookClient(book, km=manager, allow_errors=True, timeout=120).execute()
    outputs = ["".join(o.get("text", "") for o in cell.outputs) for cell in book.cells]
    assert "result 1" in outputs[1] and "result 2" in outputs[2]
    assert "Cell In[4], line 3, in wrong:" in book.cells[4].outputs[0]["evalue"]
