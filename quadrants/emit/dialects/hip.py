"""HIP C++ for AMD devices, compiled by HIPRTC."""

from dataclasses import replace

from quadrants.emit.dialects.cuda import DIALECT as CUDA

DIALECT = replace(
    CUDA, name="hip", template="hip/task.hip.j2", prelude="hip", block_bytes=4096 - 16, shared_static=32768, start=(),
    print_values=0,
)  # fmt: skip
