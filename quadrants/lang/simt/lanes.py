"""The width of a subgroup, and tiles of it."""

from __future__ import annotations

from quadrants import targets
from quadrants.errors import QuadrantsCompilationError
from quadrants.lang import impl
from quadrants.lang.simt import kernel_scope as at


def group_size() -> int:
    """Lanes of a subgroup: 32 on CUDA and Metal, 64 on AMD, what the device says elsewhere, 0 on the CPU.

    y = qd.simt.subgroup.group_size()
    """
    name = at.arch_name()
    target = targets.of_arch(name)
    if target is not None and target.subgroup is not None:
        return target.subgroup
    return impl.device_query(name, "subgroup_size", 32)


def log2_group_size() -> int:
    """Logarithm of `group_size()`. AssertionError where that is no power of two, as on the CPU.

    y = qd.simt.subgroup.log2_group_size()
    """
    size = group_size()
    if size <= 0 or size & (size - 1):
        advice = "" if size else f": arch {at.arch_name()} has no subgroups. {at.INSTEAD}"
        raise AssertionError(f"subgroup size {size} is not a power of two{advice}")
    return size.bit_length() - 1


def tile_size(log2_size, name: str) -> int:
    """`log2_size` after a check: a compile-time integer; a tile of more than one lane fits in a subgroup."""
    tracer = at.tracer_of(name)
    log2 = at.constant(log2_size, "log2_size", name)
    if log2 < 0:
        raise QuadrantsCompilationError(f"qd.simt.{name}: log2_size must not be negative, got {log2}")
    if log2 > 0:
        at.on_device(name)
        if 1 << log2 > group_size():
            raise QuadrantsCompilationError(
                f"qd.simt.{name}: a tile of 2**{log2} lanes is larger than a subgroup, which has {group_size()}"
            )
        block_dim = tracer.need_lanes(1 << log2)
        if block_dim is not None and 1 << log2 > block_dim:
            raise QuadrantsCompilationError(
                f"qd.simt.{name} goes over {1 << log2} lanes, and the blocks of this loop have {block_dim} threads: "
                f"write qd.loop_config(block_dim={1 << log2}) before it, or take the `_tiled` one of fewer lanes"
            )
    return log2
