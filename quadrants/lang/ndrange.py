"""`qd.ndrange`: the product of ranges that a `for` runs over."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from quadrants.errors import QuadrantsSyntaxError, QuadrantsTypeError
from quadrants.lang import kernel_hook
from quadrants.lang.described import type_name
from quadrants.lang.function_table import both_scopes
from quadrants.lang.matrix import Vector


class NDRange:
    """A product of integer ranges.

    Attributes, all in the order of visit, outermost first (that of the arguments unless `axes` is given):
        bounds: (begin, end) pairs. dimensions: extents, at least 0.
        acc_dimensions: entry k is the product of the extents from k on.
    And `axes`: None, or the argument that each level of the loop runs over.
    """

    def __init__(self, args: Sequence, axes: Any = None):
        canonical = [_bounds(a) for a in args]
        self.axes = None if axes is None else _checked_axes(axes, len(canonical))
        order = range(len(canonical)) if self.axes is None else self.axes
        self.bounds = [canonical[k] for k in order]
        self.dimensions = [_extent(begin, end) for begin, end in self.bounds]
        self.acc_dimensions = list(self.dimensions)
        for k in reversed(range(len(self.acc_dimensions) - 1)):
            self.acc_dimensions[k] = self.acc_dimensions[k] * self.acc_dimensions[k + 1]

    @property
    def rank(self) -> int:
        """Number of arguments, and of loop targets."""
        return len(self.bounds)

    def __iter__(self) -> Iterator[tuple]:
        """Tuples of ints in the order of the arguments; the last argument varies fastest unless `axes` says else."""
        levels = itertools.product(*(range(begin, end) for begin, end in self.bounds))
        if self.axes is None:
            return levels
        place = [self.axes.index(k) for k in range(self.rank)]
        return (tuple(at[p] for p in place) for at in levels)

    def grouped(self) -> GroupedNDRange:
        """The same iterations, each as one integer vector."""
        return GroupedNDRange(self)


class GroupedNDRange:
    """An ndrange whose iterations are integer vectors. `r` is the NDRange."""

    def __init__(self, r: NDRange):
        self.r = r

    def __iter__(self) -> Iterator[Vector]:
        return (Vector._wrap(np.array(at, dtype=np.int64)) for at in self.r)


@both_scopes
def ndrange(*args, axes=None) -> Any:
    """Loop over the product of ranges: `for i, j in qd.ndrange(n, (begin, end))`.

    Args:
        args: each an integer n for 0..n-1, or a pair (begin, end); end < begin is empty. In kernels also run-time
            integers.
        axes: a permutation of range(len(args)), outermost first: only the order of visit changes, every target keeps
            its own argument.

    Raises QuadrantsSyntaxError for a tuple of another length or bad `axes`, QuadrantsTypeError for what is no integer.

        for i, j in qd.ndrange(n, (1, n - 1)):
            total += i * j
    """
    return NDRange(args, axes)


def _bounds(arg: Any) -> tuple:
    if isinstance(arg, (str, bytes)):
        raise _shape_error()
    if not isinstance(arg, (tuple, list)):
        return (0, _integer(arg))
    if len(arg) != 2:
        raise _shape_error()
    return (_integer(arg[0]), _integer(arg[1]))


def _shape_error() -> QuadrantsSyntaxError:
    return QuadrantsSyntaxError("Every argument of ndrange should be a scalar or a tuple/list like (begin, end)")


def _integer(x: Any) -> Any:
    if kernel_hook.is_value(x):
        return x
    if isinstance(x, (int, np.integer)):
        return int(x)
    # 0-d arrays and tensors of integers, without importing the library they come from.
    if getattr(x, "ndim", None) == 0 and hasattr(x, "item") and isinstance(x.item(), int):
        return x.item()
    raise QuadrantsTypeError(
        f"Every argument of ndrange should be an integer scalar or a tuple/list of (int, int), got {type_name(x)}"
    )


def _extent(begin: Any, end: Any) -> Any:
    if kernel_hook.is_value(begin) or kernel_hook.is_value(end):
        return kernel_hook.dispatch("max", (end - begin, 0))
    return max(end - begin, 0)


def _checked_axes(axes: Any, count: int) -> tuple:
    axes = tuple(axes)
    for k in axes:
        if isinstance(k, bool) or not isinstance(k, int):
            raise QuadrantsTypeError(f"qd.ndrange(axes={axes}) entries must be Python ints; got {type_name(k)} ({k})")
    if len(axes) != count:
        raise QuadrantsSyntaxError(
            f"qd.ndrange(axes={axes}) has {len(axes)} entries but ndrange was called with {count} dimension "
            "argument(s); they must match"
        )
    if sorted(axes) != list(range(count)):
        raise QuadrantsSyntaxError(f"qd.ndrange(axes={axes}) is not a permutation of range({count})")
    return axes
