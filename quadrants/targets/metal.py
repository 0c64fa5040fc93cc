"""Apple devices: the Metal shading language, compiled by the system."""

from quadrants.targets.record import Target

TARGET = Target(
    archs=("metal",), dialect="metal", language="MSL", suffix="metal", printing="quadrants.emit.dialects.msl",
    compiler="metal", binaries=(("", ".msl"),), backend="quadrants.runtime.metal",
    extensions=("sparse", "quant", "quant_basic", "adstack", "assertion"),
    subgroup=32, shared_bytes=32 << 10, most_shared_bytes=32 << 10,
    block_threads=1024, block_votes=False,
)  # fmt: skip
