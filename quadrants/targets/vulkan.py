"""Devices with Vulkan: GLSL, compiled to SPIR-V by glslang."""

from quadrants.targets.record import Target

TARGET = Target(
    archs=("vulkan",), dialect="glsl", language="GLSL", suffix="comp", printing="quadrants.emit.dialects.glsl",
    compiler="glslang", binaries=(("", ".spv"),), backend="quadrants.runtime.vulkan",
    extensions=("sparse", "quant", "quant_basic", "data64", "adstack", "assertion"),
    subgroup=None, shared_bytes=32 << 10,
    most_shared_bytes=32 << 10, block_threads=1024, block_votes=False,
)  # fmt: skip
