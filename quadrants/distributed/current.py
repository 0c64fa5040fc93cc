"""The ranks of this process, once `qdist.init` was called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quadrants.data import context
from quadrants.errors import QuadrantsRuntimeError

if TYPE_CHECKING:
    from quadrants.distributed.world import World

_world: World | None = None


def set_world(world: World | None) -> None:
    """What `world` returns from now on."""
    global _world
    _world = world


def is_started() -> bool:
    """Whether there are ranks."""
    return _world is not None


def world() -> World:
    """What the last `qdist.init` returned. QuadrantsRuntimeError before it."""
    if _world is None:
        raise QuadrantsRuntimeError(
            "There are no ranks yet: call world = qdist.init(arch=..) in place of qd.init(arch=..)"
        )
    return _world


def on_device() -> bool:
    """Whether kernels see other memory than the host does."""
    return context.on_device()
