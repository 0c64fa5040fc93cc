"""What a launch on a device does about the pools of sparse trees, which grow: make room, and look up addresses."""

from __future__ import annotations

from collections.abc import Callable

from quadrants.data.sparse import pools
from quadrants.launch.recipe import Recipe

Addresses = list[tuple[int, int]]  # (offset in the argument block, address)


def before_launch(recipe: Recipe) -> Callable[[], Addresses] | None:
    """What is called in front of each launch and gives the addresses that changed; None where nothing can grow."""
    known = {offset: cell for offset, cell in recipe.cells if isinstance(cell.tree, pools.PoolMemory)}
    if not any(map(pools.can_grow, recipe.pools)):
        return None
    addresses = {offset: cell.tree.buffer.ptr + cell.offset for offset, cell in known.items()}

    def look_up() -> Addresses:
        if recipe.activates:
            pools.make_room(recipe.pools)
        changed = []
        for offset, cell in known.items():
            address = cell.tree.buffer.ptr + cell.offset
            if addresses[offset] != address:
                addresses[offset] = address
                changed.append((offset, address))
        return changed

    return look_up
