"""HIP C++ for AMD devices, compiled by HIPRTC."""

from dataclasses import replace

from quadrants.emit.dialects.cuda import DIALECT as CUDA

_WITH_MASKS = ("subgroup.", "warp.")  # operations that CUDA does for the lanes of a mask

SPELLING = replace(
    CUDA.spelling,
    dialect="hip",
    parents=("cuda",),
    narrow=16,
    leave="__builtin_amdgcn_endpgm();",
    leave_needs=(),
    lanes=64,
    tile_masks=False,
    own={name: text for name, text in CUDA.spelling.own.items() if not name.startswith(_WITH_MASKS)}
    | {"subgroup.mem_fence": "__threadfence_block"},
)

DIALECT = replace(
    CUDA, name="hip", template="hip/task.hip.j2", spelling=SPELLING, block_bytes=4096 - 16, shared_static=32768,
    start=(), release=(), print_values=0, vector_units=4, most_units=1,
)  # fmt: skip
