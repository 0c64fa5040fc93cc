"""NVIDIA devices: CUDA C++, compiled by NVRTC."""

from quadrants.targets.record import Target

TARGET = Target(
    archs=("cuda",), dialect="cuda", language="CUDA", suffix="cu", printing="quadrants.emit.dialects.cuda",
    compiler="nvrtc", binaries=(("sm_", ".cubin"), ("compute_", ".ptx")), backend="quadrants.runtime.cuda",
    extensions=("sparse", "quant", "quant_basic", "data64", "adstack", "assertion"),
    subgroup=32, progress=True, most_shared_bytes=227 << 10,
    block_threads=1024, warps=True, graphs=True, emulated_capability=90,
)  # fmt: skip
