"""Operations of `qd.*` on the nodes of a field tree: kernel scope only. Indices are canonical."""

from __future__ import annotations

from typing import Any

from quadrants.lang.function_table import kernel_only

__all__ = ["activate", "append", "deactivate", "get_addr", "is_active", "length", "rescale_index"]


@kernel_only
def activate(node, indices) -> Any:
    """Activate the cell of a pointer or bitmasked node at `indices`; no effect on a dense node.

    qd.activate(block, [i])
    """


@kernel_only
def deactivate(node, indices) -> Any:
    """Deactivate the cell of a pointer, bitmasked or dynamic node at `indices`; its memory reads 0 on reuse.

    qd.deactivate(block, [i])
    """


@kernel_only
def is_active(node, indices) -> Any:
    """1 if the cell of a pointer or bitmasked node at `indices` is active, else 0.

    QuadrantsTypeError for other nodes.

        on = qd.is_active(block, [i])
    """


@kernel_only
def append(node, indices, val) -> Any:
    """Append `val` (scalar, vector, matrix or struct) to the list of a dynamic node; returns its index (i32).

    k = qd.append(items.parent(), [i], 3)
    """


@kernel_only
def length(node, indices) -> Any:
    """Number of entries (i32) in the list of a dynamic node.

    n = qd.length(items.parent(), [i])
    """


@kernel_only
def rescale_index(a, b, I) -> Any:  # noqa: E741, N803 - the public name of the parameter
    """The index vector `I` of `a` scaled by the integer ratio of the shapes of `b` and `a`, axis by axis.

    coarse_i = qd.rescale_index(fine, coarse, I)
    """


@kernel_only
def get_addr(f, indices) -> Any:
    """Address (u64) of the element of field `f` at `indices`. CPU and CUDA.

    address = qd.get_addr(x, [i])
    """
