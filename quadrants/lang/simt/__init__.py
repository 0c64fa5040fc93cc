"""Programming the blocks and subgroups of a GPU: barriers, shared memory, shuffles, votes, register tiles.

    qd.simt.block       threads that share memory and a barrier
    qd.simt.subgroup    the lanes that run in lockstep: 32 on CUDA and Metal, 64 on AMD
    qd.simt.warp        the same by the names of CUDA
    qd.simt.grid        fences between blocks
    qd.simt.Tile16x16   matrices in the registers of 16 lanes; Tile32x32 of 32

Kernels that use any of it run on GPUs only.
"""

from quadrants import absent
from quadrants.lang.simt import block, grid, subgroup, warp
from quadrants.lang.simt.tiles import Tile16x16, Tile32x32

__all__ = ["Tile16x16", "Tile32x32", "block", "grid", "subgroup", "warp"]

__getattr__ = absent.names_of("simt", globals())
