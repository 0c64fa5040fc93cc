"""Devices with OpenCL: OpenCL C, compiled by their drivers."""

from quadrants.targets.record import Target

TARGET = Target(
    archs=("opencl",), dialect="opencl", language="OPENCL", suffix="cl", printing="quadrants.emit.dialects.opencl",
    compiler="opencl", binaries=(("", ".clbin"),), backend="quadrants.runtime.opencl",
    extensions=("sparse", "quant", "quant_basic", "data64", "adstack", "assertion"),
    subgroup=0, shared_bytes=32 << 10,
    most_shared_bytes=32 << 10, block_threads=1024, block_votes=False,
)  # fmt: skip
