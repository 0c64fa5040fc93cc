"""One program on several ranks: blocks of a global array, and what moves between them. Engines carry the data.

    import quadrants as qd
    from quadrants import distributed as qdist

    world = qdist.init(arch=qd.cpu)
    grid = qdist.Grid((64, 64), halo=1)
    u = grid.field(qd.f32)
    grid.exchange_halo(u)

Imported on demand; packages of engines are imported by `init`.
"""

from __future__ import annotations

from quadrants.distributed.checkpoints import load, save
from quadrants.distributed.engines import register_engine
from quadrants.distributed.grid import Grid
from quadrants.distributed.particles import Particles
from quadrants.distributed.startup import init
from quadrants.distributed.world import World
from quadrants.distributed.zarr_files import read_zarr, write_zarr

__all__ = ["Grid", "Particles", "World", "init", "load", "read_zarr", "register_engine", "save", "write_zarr"]
