"""Compile-time evaluation, loop configuration and hints of `qd.*`."""

from __future__ import annotations

import enum
import types
from typing import Any

import numpy as np

from quadrants.ir.types import DType
from quadrants.lang.function_table import both_scopes, kernel_only

__all__ = [
    "assume_in_range", "block_local", "cache_read_only", "clock_counter", "global_thread_idx", "grouped", "loop_config",
    "loop_unique", "mesh_local", "mesh_patch_idx", "no_activate", "static", "static_assert", "static_print",
    "stop_grad",
]  # fmt: skip

# What `reversed` makes of ranges, lists and tuples.
BACKWARDS = tuple({type(reversed(x)) for x in (range(1), [], ())} | {reversed})
# What is gone through once, while a kernel is compiled.
ITERATORS = (enumerate, zip, map, filter, *BACKWARDS, *(type(x) for x in ({}.keys(), {}.values(), {}.items())))
_NEVER_STATIC = (str, bytes, dict, set, frozenset, np.ndarray, DType, type, types.GeneratorType, types.ModuleType)


def static_error(x: Any) -> str:
    """Empty if `qd.static` takes `x`, else the text of the error."""
    plain_enum = isinstance(x, enum.Enum) and not isinstance(x, int)
    if isinstance(x, _NEVER_STATIC) or plain_enum:
        told = f"Input to qd.static must be compile-time constants or global pointers, instead of {type(x)}"
        return f"{told}. Write `list(..)` around it" if isinstance(x, (dict, set, frozenset)) else told
    return ""


@both_scopes
def static(x, *xs) -> Any:
    """`x` evaluated at compile time (a list for several arguments); in Python scope the argument itself.

    Takes numbers, None, ranges, lists and tuples, enumerate, zip, map, filter and reversed objects, ndranges, fields,
    array parameters and functions. Raises ValueError for strings, dicts, sets, NumPy arrays, dtypes, classes.

        for k in qd.static(range(3)):
            total += v[k]
    """
    for value in (x, *xs):
        text = static_error(value)
        if text:
            raise ValueError(text)
    return [x, *xs] if xs else x


@both_scopes
def static_assert(cond, msg=None) -> Any:
    """Check `cond` at compile time; a plain assert in Python scope. AssertionError with `msg` if it is false.

    qd.static_assert(v.n == 3, "vectors of three")
    """
    if not cond:
        raise AssertionError(*(() if msg is None else (msg,)))


@kernel_only
def static_print(*args, __p=print, **kwargs) -> Any:
    """Print while the kernel is compiled; run-time values show as `<qd.Expr>`. Kernel scope only.

    qd.static_print(x.shape)
    """


@kernel_only
def grouped(x) -> Any:
    """Make the loop target of a field, ndarray or ndrange one i32 vector instead of one name an axis.

    Only in the header of a `for` of kernel scope.

        for I in qd.grouped(x):
            x[I] = I.sum()
    """


@kernel_only
def loop_config(
    *, block_dim=None, serialize=False, parallelize=None, bit_vectorize=False, name=None, resident_blocks=0
) -> Any:
    """Configure the next run-time `for` of a kernel. All values are compile-time.

    Args:
        block_dim: threads a block on GPUs.
        serialize: run in order on one thread; `break` is then allowed.
        parallelize: number of CPU threads; 1 serialises.
        bit_vectorize: over a field in a `quant_array`, an iteration does the cells of a word, bits all at once.
        name: shown in the name of the device kernel.
        resident_blocks: blocks that a multiprocessor of a CUDA or AMD device shall hold at once: the compiler gives a
            thread so few registers that they fit. 0 leaves it to the compiler; elsewhere it has no effect.

        qd.loop_config(block_dim=128)
        for i in range(n):
            ...
    """


@kernel_only
def assume_in_range(val, base, low, high) -> Any:
    """`val`, with the promise that base + low <= val < base + high.

    j = qd.assume_in_range(i + 1, i, -1, 2)
    """


def prefetch(target) -> None:
    """Have the memory at `target` brought near, since it will be written soon: a hint of this package's own kernels. It
    does nothing but in those for the CPU.

    prefetch(x[i + 64])
    """


@kernel_only
def loop_unique(val, covers=None) -> Any:
    """`val`, with the promise that no two iterations of the loop have the same."""


@kernel_only
def block_local(*args) -> Any:
    """Hint: keep the accessed part of these fields in block-shared memory. No effect on results.

    qd.block_local(x)
    """


@kernel_only
def cache_read_only(*args) -> Any:
    """Hint: these fields are only read in the next loop. No effect on results.

    qd.cache_read_only(x)
    """


@kernel_only
def mesh_local(*args) -> Any:
    """Hint: keep these mesh attributes in block-shared memory. No effect on results.

    qd.mesh_local(x)
    """


@kernel_only
def no_activate(*args) -> Any:
    """Hint: the cells of these nodes that the next loop writes are active already.

    qd.no_activate(block)
    """


@kernel_only
def global_thread_idx() -> Any:
    """Index (i32) of the running thread: unique among threads on GPUs, the worker's on the CPU.

    k = qd.global_thread_idx()
    """


@kernel_only
def mesh_patch_idx() -> Any:
    """Index (i32) of the mesh patch that the running block works on.

    k = qd.mesh_patch_idx()
    """


@kernel_only
def clock_counter() -> Any:
    """The cycle counter (i64) of the processor that runs the thread.

    start = qd.clock_counter()
    """


@kernel_only
def stop_grad(x) -> Any:
    """Keep reverse-mode derivatives of this kernel from reaching the field `x`.

    qd.stop_grad(x)
    """
