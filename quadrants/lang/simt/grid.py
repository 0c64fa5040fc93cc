"""`qd.simt.grid`: what orders memory between blocks."""

from __future__ import annotations

from quadrants import absent
from quadrants.lang import scope
from quadrants.lang.simt import kernel_scope as at


def mem_fence():
    """Order this thread's accesses to shared and device memory before and after, as the whole device sees them.

    Waits for nobody, so it may stand in divergent code. There is no barrier between blocks: end the loop instead.
    ValueError on the CPU.

        qd.simt.grid.mem_fence()
    """
    at.in_block("grid.mem_fence").intrinsic("grid.mem_fence")


def memfence():
    """Deprecated name of `mem_fence`.

    qd.simt.grid.memfence()
    """
    scope.warn("grid.memfence is deprecated; use grid.mem_fence", DeprecationWarning)
    mem_fence()


__getattr__ = absent.names_of("simt.grid", globals())
