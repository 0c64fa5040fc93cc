"""What the algorithms choose by: abilities of the target that a kernel is traced for, and sizes that follow from them.

Tasks have as many blocks as one D says, never as n says, so that nobody has to read n back:

    host        plain loops over long runs of elements, which the compiler vectorises; runs in parallel
    chained     one task reads and writes all elements. A block takes the next tile, tells the others its total, and
                finds what is before it from the totals of others (chain.py)
    otherwise   three tasks: totals of tiles, what is before each tile, and the elements
"""

from __future__ import annotations

from typing import NamedTuple

import quadrants as qd
from quadrants import session, targets
from quadrants.lang import impl, kernel_hook
from quadrants.lang.simt import kernel_scope
from quadrants.lang.simt.subgroup import group_size

THREADS = 256
# Blocks of a task. They fill a large GPU; where there are more tiles, each block does several.
MOST_BLOCKS = 1024
# Elements that one thread of the host does in a row.
RUN = 16384
DTYPES = (qd.i32, qd.u32, qd.f32, qd.i64, qd.u64, qd.f64)


class Choices(NamedTuple):
    """lanes: of a subgroup, 0 where threads exchange nothing without a barrier. shared_bytes: a block may have."""

    host: bool
    chained: bool
    lanes: int
    shared_bytes: int


def instead(dtypes: tuple = DTYPES) -> str:
    """What follows on the words that a dtype is not supported."""
    return f"; convert to one of {', '.join(t.name for t in dtypes)}"


def choices() -> Choices:
    """Those of the kernel that is traced."""
    if kernel_hook.python_arch():
        return Choices(True, False, 0, 0)
    target = targets.of_arch(kernel_scope.arch_name())
    if target is None or target.host_memory:
        return Choices(True, False, 0, 0)
    lanes = group_size() if target.subgroup != 0 else 0
    return Choices(False, target.progress and lanes in (32, 64), lanes, _shared_bytes(target))


def _shared_bytes(target: targets.Target) -> int:
    """Those of the device at work, if the kernel is for that one."""
    most = target.most_shared_bytes
    if targets.of_arch(session.require_runtime().arch.name) is not target:
        return most
    return min(impl.device_query(kernel_scope.arch_name(), "max_shared_memory_bytes", most), most)


def host() -> bool:
    return choices().host


def chained() -> bool:
    return choices().chained


def lanes() -> int:
    return choices().lanes


def items(dtype) -> int:
    """Elements that a thread of a GPU holds at a time."""
    return 16 if width(dtype) <= 32 else 8


def width(dtype) -> int:
    """Bits of an element."""
    return int(dtype.bits)


def blocks(log256_max_n: int, tile: int) -> int:
    """Blocks of a task over tiles of `tile` elements, of up to 256**D elements."""
    return int(max(1, min(MOST_BLOCKS, 256**log256_max_n // tile)))


def word(dtype):
    """The unsigned type as wide as `dtype`: reals that have to keep their bits travel in it."""
    return {8: qd.u8, 16: qd.u16, 32: qd.u32, 64: qd.u64}[width(dtype)]
