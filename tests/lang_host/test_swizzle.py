"""Swizzles of Python-scope vectors."""

import pytest

from quadrants.errors import QuadrantsIndexError, QuadrantsRuntimeError, QuadrantsSyntaxError
from quadrants.lang.matrix import Matrix, Vector


def test_reads():
    v = Vector([1, 2, 3, 4])
    assert (v.x, v.a, v.q) == (1, 4, 4)
    assert v.wzyx.to_list() == [4, 3, 2, 1]
    assert v.rgb.to_list() == [1, 2, 3]
    assert v.xxyy.to_list() == [1, 1, 2, 2]
    assert v.xy.yx.to_list() == [2, 1]
    assert isinstance(v.st, Vector)


def test_a_swizzle_is_a_copy():
    v = Vector([1, 2, 3])
    v.xy[0] = 9
    assert v.to_list() == [1, 2, 3]


def test_writes():
    v = Vector([1, 2, 3, 4])
    v.x = 5
    v.yz = [6, 7]
    assert v.to_list() == [5, 6, 7, 4]
    v.wx = v.xw
    assert v.to_list() == [4, 6, 7, 5]
    v.xx = (1, 2)
    assert v.x == 2
    v.rg += 1
    assert v.to_list() == [3, 7, 7, 5]


@pytest.mark.parametrize("value", [0, [1], [1, 2, 3], Vector([1, 2, 3])])
def test_write_of_another_length(value):
    v = Vector([1, 2, 3])
    with pytest.raises(QuadrantsRuntimeError, match="value len does not match the swizzle pattern=xy"):
        v.xy = value
    assert v.to_list() == [1, 2, 3]


@pytest.mark.parametrize(
    "n, word, text",
    [
        (2, "z", "vec2 only has attributes=('x', 'y'), got=('z',)"),
        (3, "xw", "vec3 only has attributes=('x', 'y', 'z'), got=('x', 'w')"),
        (3, "ba", "vec3 only has attributes=('b', 'g', 'r'), got=('b', 'a')"),
    ],
)
def test_letter_beyond_the_length(n, word, text):
    v = Vector([0] * n)
    with pytest.raises(QuadrantsSyntaxError) as caught:
        getattr(v, word)
    assert str(caught.value) == text
    with pytest.raises(QuadrantsSyntaxError):
        setattr(v, word, 1)


@pytest.mark.parametrize("word", ["xg", "xyzwx", "xq"])
def test_no_swizzle(word):
    with pytest.raises(AttributeError):
        getattr(Vector([1, 2, 3, 4]), word)


@pytest.mark.parametrize("word", ["x", "xy"])
def test_matrices_have_none(word):
    with pytest.raises(QuadrantsIndexError, match="Expected 2 indices, got 1"):
        getattr(Matrix([[1, 2], [3, 4]]), word)
