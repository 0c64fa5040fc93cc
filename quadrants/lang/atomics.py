"""Atomic operations and volatile loads of `qd.*`: kernel scope only, on elements of fields, ndarrays or shared arrays.

All but `atomic_cas` also take a vector or matrix target, elementwise; a scalar y broadcasts. All return the old value.
"""

from __future__ import annotations

from typing import Any

from quadrants.lang.function_table import kernel_only_on_target

__all__ = [
    "atomic_add", "atomic_and", "atomic_cas", "atomic_exchange", "atomic_max", "atomic_min", "atomic_mul", "atomic_or",
    "atomic_sub", "atomic_xor", "volatile_load",
]  # fmt: skip


@kernel_only_on_target
def atomic_add(x, y) -> Any:
    """Add y to the memory at x in one indivisible step; returns the old value. y is cast to the dtype of x.

    old = qd.atomic_add(x[i], 1)
    """


@kernel_only_on_target
def atomic_sub(x, y) -> Any:
    """Subtract y from the memory at x in one indivisible step; returns the old value.

    old = qd.atomic_sub(x[i], 1)
    """


@kernel_only_on_target
def atomic_mul(x, y) -> Any:
    """Multiply the memory at x by y in one indivisible step; returns the old value.

    old = qd.atomic_mul(x[i], 1)
    """


@kernel_only_on_target
def atomic_min(x, y) -> Any:
    """Replace the memory at x by min(x, y) in one indivisible step; returns the old value.

    old = qd.atomic_min(x[i], 1)
    """


@kernel_only_on_target
def atomic_max(x, y) -> Any:
    """Replace the memory at x by max(x, y) in one indivisible step; returns the old value.

    old = qd.atomic_max(x[i], 1)
    """


@kernel_only_on_target
def atomic_and(x, y) -> Any:
    """Replace the memory at x by x & y in one indivisible step; returns the old value. Integers.

    old = qd.atomic_and(x[i], 1)
    """


@kernel_only_on_target
def atomic_or(x, y) -> Any:
    """Replace the memory at x by x | y in one indivisible step; returns the old value. Integers.

    old = qd.atomic_or(x[i], 1)
    """


@kernel_only_on_target
def atomic_xor(x, y) -> Any:
    """Replace the memory at x by x ^ y in one indivisible step; returns the old value. Integers.

    old = qd.atomic_xor(x[i], 1)
    """


@kernel_only_on_target
def atomic_exchange(x, y) -> Any:
    """Replace the memory at x by y in one indivisible step; returns the old value.

    old = qd.atomic_exchange(x[i], 1)
    """


@kernel_only_on_target
def atomic_cas(x, expected, desired) -> Any:
    """Replace the memory at x by `desired` if it equals `expected`, in one indivisible step; returns the old value.

    Scalar targets only: QuadrantsTypeError for a vector or matrix.

        old = qd.atomic_cas(lock[0], 0, 1)
    """


@kernel_only_on_target
def volatile_load(target) -> Any:
    """Read the memory at `target` anew, whatever was read from or written to it before in this thread.

    seen = qd.volatile_load(flag[0])
    """
