"""The notebooks of the gallery run from their first to their last cell."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.cpu_only
NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_three():
    assert len(NOTEBOOKS) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="needs Jupyter's client: pip install nbclient ipykernel")
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat: pip install nbclient")
    pytest.importorskip("ipykernel", reason="needs a kernel for notebooks: pip install ipykernel")
    pytest.importorskip("matplotlib", reason="notebooks draw with matplotlib: pip install matplotlib")
    pytest.importorskip("PIL", reason="notebooks draw with Pillow: pip install pillow")
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert any("image/png" in out.get("data", {}) for out in shown)
