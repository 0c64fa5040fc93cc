"""Foreign arrays of vectors inside dataclasses: the extents of their elements are compared at each launch."""

import dataclasses

import numpy as np
import pytest

import quadrants as qd


def test_elements_of_another_extent_are_refused(arch):
    @dataclasses.dataclass
    class Points:
        x: qd.types.ndarray(dtype=qd.types.vector(3, qd.f32), ndim=1)

    @qd.kernel
    def double(p: Points):
        for i in range(p.x.shape[0]):
            p.x[i] *= 2.0

    fits = np.ones((4, 3), np.float32)
    double(Points(fits))
    assert (fits == 2.0).all()
    memory = np.ones((4, 2), np.float32)
    with pytest.raises(ValueError, match="element_shape"):
        double(Points(memory))
    assert (memory == 1.0).all()
    again = np.ones((7, 3), np.float32)
    double(Points(again))
    assert (again == 2.0).all()
