"""The tests of sparse trees run on each wanted arch that has them."""

import pytest

import quadrants as qd


@pytest.fixture(autouse=True)
def _has_sparse_trees(request):
    """Skips an arch that refuses sparse nodes, which `data/test_data_tree.py` holds."""
    if "arch_name" in request.fixturenames or "init" in request.fixturenames or "sparse" in request.fixturenames:
        name = request.getfixturevalue("arch_name")
        if name == "opencl":
            pytest.skip("opencl has no sparse trees yet: docs/development/status.md; run it with arch=cpu")


@pytest.fixture
def sparse(init):
    """A live runtime of the arch under test."""
    init()
    return qd
