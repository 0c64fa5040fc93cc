"""`qd.ndrange` in Python scope."""

import numpy as np
import pytest

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang.matrix import Vector
from quadrants.lang.ndrange import ndrange


@pytest.mark.parametrize(
    "args, want",
    [
        ((2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)]),
        ((1, (1, 3)), [(0, 1), (0, 2)]),
        (([1, 2],), [(1,)]),
        (((3, 1),), []),
        ((-3,), []),
        ((), [()]),
        ((np.int32(2),), [(0,), (1,)]),
        ((np.array(2),), [(0,), (1,)]),
        (tuple(Vector([1, 2])), [(0, 0), (0, 1)]),
    ],
)
def test_iterations(args, want):
    assert list(ndrange(*args)) == want


def test_axes_change_the_order_of_visit_only():
    r = ndrange(2, 3, axes=(1, 0))
    assert list(r) == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    assert r.dimensions == [3, 2] and r.bounds == [(0, 3), (0, 2)]
    assert list(ndrange(2, 3, 2, axes=(2, 0, 1)))[:4] == [(0, 0, 0), (0, 1, 0), (0, 2, 0), (1, 0, 0)]


def test_attributes():
    r = ndrange(2, (1, 4))
    assert r.bounds == [(0, 2), (1, 4)] and r.dimensions == [2, 3] and r.acc_dimensions == [6, 3] and r.rank == 2


def test_grouped():
    got = list(ndrange(2, 2).grouped())
    assert [v.to_list() for v in got] == [[0, 0], [0, 1], [1, 0], [1, 1]] and isinstance(got[0], Vector)


@pytest.mark.parametrize(
    "args, kwargs, error, text",
    [
        (((1, 2, 3),), {}, QuadrantsSyntaxError, "should be a scalar or a tuple/list like"),
        (("a",), {}, QuadrantsSyntaxError, "should be a scalar or a tuple/list like"),
        ((2.5,), {}, QuadrantsTypeError, "should be an integer scalar"),
        (((0, 2.5),), {}, QuadrantsTypeError, "should be an integer scalar"),
        ((Vector([1, 2]),), {}, QuadrantsTypeError, "should be an integer scalar"),
        ((2, 3), {"axes": (1,)}, QuadrantsSyntaxError, "they must match"),
        ((2, 3), {"axes": (1, 1)}, QuadrantsSyntaxError, "is not a permutation of"),
        ((2, 3), {"axes": (1, True)}, QuadrantsTypeError, "entries must be Python ints"),
        ((2, 3), {"axes": 5}, TypeError, "not iterable"),
    ],
)
def test_errors(args, kwargs, error, text):
    with pytest.raises(error, match=text):
        ndrange(*args, **kwargs)
