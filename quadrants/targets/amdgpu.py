"""AMD devices: HIP C++, compiled by HIPRTC."""

from quadrants.targets.record import Target

TARGET = Target(
    archs=("amdgpu",), dialect="hip", language="HIP", suffix="hip", printing="quadrants.emit.dialects.hip",
    compiler="hiprtc", binaries=(("gfx", ".hsaco"),), backend="quadrants.runtime.amdgpu",
    extensions=("sparse", "quant", "quant_basic", "data64", "adstack", "assertion"),
    subgroup=64, progress=True, shared_bytes=64 << 10,
    most_shared_bytes=64 << 10, block_threads=1024,
)  # fmt: skip
