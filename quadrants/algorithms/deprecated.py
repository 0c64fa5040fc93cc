"""Functions of the host that older programs call."""

from __future__ import annotations

import quadrants as qd
from quadrants import caller
from quadrants.algorithms.choices import RUN
from quadrants.errors import QuadrantsIndexError, QuadrantsRuntimeError, QuadrantsRuntimeTypeError


def _check(name: str, what: str, array) -> None:
    if not hasattr(array, "snode") or not hasattr(array, "dtype"):
        raise QuadrantsRuntimeTypeError(
            f"qd.algorithms.{name}: {what} must be a field of numbers, not {type(array).__name__}"
        )
    if len(array.shape) != 1:
        raise QuadrantsIndexError(f"qd.algorithms.{name}: {what} must have one axis, and has {len(array.shape)}")


def _first(array) -> int:
    """The index of the first element."""
    offset = array._offset
    return int(offset[0]) if offset else 0


@qd.kernel
def _exchange(keys: qd.template(), values: qd.template(), has_values: qd.template(), n: qd.i32, at: qd.i32,
              value_at: qd.i32, p: qd.i32, k: qd.i32):  # fmt: skip
    """One step of Batcher's odd-even merge sort: pairs that are k apart, where runs of p are sorted."""
    for i in range(n - k):
        offset = i - k % p
        if offset >= 0 and offset // k % 2 == 0 and i // (2 * p) == (i + k) // (2 * p):
            if keys[at + i] > keys[at + i + k]:
                larger = keys[at + i]
                keys[at + i] = keys[at + i + k]
                keys[at + i + k] = larger
                if qd.static(has_values):
                    moved = values[value_at + i]
                    values[value_at + i] = values[value_at + i + k]
                    values[value_at + i + k] = moved


def parallel_sort(keys, values=None) -> None:
    """Deprecated; use `sort`. Sorts all of a field ascending, in place, and `values` alike. Not stable.

    Args:
        keys: (n,) a field of numbers.
        values: (n,) a field of numbers, or None.

    Errors:
        QuadrantsRuntimeTypeError: not a field. QuadrantsIndexError: more axes than one.
        QuadrantsRuntimeError: values is shorter than keys.

        qd.algorithms.parallel_sort(keys, values)
    """
    caller.warn("qd.algorithms.parallel_sort is deprecated; use qd.algorithms.sort in a kernel", DeprecationWarning)
    _check("parallel_sort", "keys", keys)
    moved = keys
    if values is not None:
        _check("parallel_sort", "values", values)
        if values.shape[0] < keys.shape[0]:
            raise QuadrantsRuntimeError(
                f"qd.algorithms.parallel_sort: values has {values.shape[0]} elements, and keys {keys.shape[0]}"
            )
        moved = values
    n, p = keys.shape[0], 1
    while p < n:
        k = p
        while k >= 1:
            _exchange(keys, moved, values is not None, n, _first(keys), _first(moved), p, k)
            k //= 2
        p *= 2


@qd.kernel
def _sum_up(field: qd.template(), totals: qd.template(), n: qd.i32, at: qd.i32):
    for r in range((n - 1) // RUN + 1):
        total = 0
        for j in range(RUN):
            if r * RUN + j < n:
                total += field[at + r * RUN + j]
        totals[r] = total
    for _ in range(1):
        carried = 0
        for r in range((n - 1) // RUN + 1):
            total = totals[r]
            totals[r] = carried
            carried += total
    for r in range((n - 1) // RUN + 1):
        carried = totals[r]
        for j in range(RUN):
            if r * RUN + j < n:
                carried += field[at + r * RUN + j]
                field[at + r * RUN + j] = carried


class PrefixSumExecutor:
    """Deprecated; use `exclusive_scan_add`. Inclusive sums of the first `length` elements of i32 fields, in place.

    Args:
        length: number of elements, at least 1.

    Errors:
        QuadrantsRuntimeError: length is below 1.

        qd.algorithms.PrefixSumExecutor(1000).run(x)
    """

    def __init__(self, length: int):
        caller.warn(
            "qd.algorithms.PrefixSumExecutor is deprecated; use qd.algorithms.exclusive_scan_add in a kernel",
            DeprecationWarning,
        )
        if length < 1:
            raise QuadrantsRuntimeError(f"qd.algorithms.PrefixSumExecutor: length must be at least 1, got {length}")
        self.sorting_length = length
        self._totals = qd.field(qd.i32, (length - 1) // RUN + 1)

    def run(self, input_arr) -> None:
        """Replace every element of `input_arr` by the sum of the elements up to it.

        Args:
            input_arr: (at least length,) a field of i32.

        Errors:
            QuadrantsRuntimeError: another dtype, or fewer elements.

            executor.run(x)
        """
        _check("PrefixSumExecutor", "input_arr", input_arr)
        if input_arr.dtype is not qd.i32:
            raise QuadrantsRuntimeError("Only qd.i32 type is supported for prefix sum.")
        if input_arr.shape[0] < self.sorting_length:
            raise QuadrantsRuntimeError(
                f"qd.algorithms.PrefixSumExecutor: input_arr has {input_arr.shape[0]} elements, and the executor "
                f"was made for {self.sorting_length}"
            )
        _sum_up(input_arr, self._totals, self.sorting_length, _first(input_arr))
