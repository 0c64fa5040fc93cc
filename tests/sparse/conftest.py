"""The tests of sparse trees run on each wanted arch."""

import pytest

import quadrants as qd


@pytest.fixture
def sparse(init):
    """A live runtime of the arch under test."""
    init()
    return qd
