"""`qd.simt` in HIP: every operation on lanes compiles, and shared arrays of any size."""

from __future__ import annotations

import numpy as np
import pytest
from hip_kit import compile_hip, known_chips, require_hiprtc

import quadrants as qd
from quadrants.emit import dialects, environment
from quadrants.emit.prelude import Prelude
from quadrants.emit.prelude_simt import SHUFFLED, SHUFFLES
from quadrants.toolchain import hiprtc

CHIPS = known_chips()
KEPT = "__attribute__((used)) __device__"


@qd.kernel
def rotated(x: qd.types.ndarray(dtype=qd.f32, ndim=1), bits: qd.types.ndarray(dtype=qd.u64, ndim=1)):
    qd.loop_config(block_dim=128)
    for i in range(512):
        small = qd.simt.block.SharedArray((128,), qd.f32)
        t = qd.simt.block.thread_idx()
        small[t] = x[i]
        qd.simt.block.sync()
        x[i] = small[(t + 1) % 128] + qd.simt.subgroup.reduce_all_add(x[i])
        bits[i] = qd.simt.subgroup.ballot(i & 1)
        qd.simt.subgroup.sync()
        qd.atomic_add(small[t & 3], 1.0)
        qd.simt.block.sync()
        x[i] += small[0] + qd.cast(qd.simt.block.sync_count_nonzero(i & 2), qd.f32)


@qd.kernel
def large(x: qd.types.ndarray(dtype=qd.f64, ndim=1)):
    qd.loop_config(block_dim=256)
    for i in range(512):
        pool = qd.simt.block.SharedArray((7000,), qd.f64)
        pool[i & 255] = x[i]
        qd.simt.block.sync()
        x[i] = pool[255 - (i & 255)]


@pytest.mark.parametrize("chip", CHIPS)
def test_operations_on_lanes(chip):
    require_hiprtc()
    prelude = Prelude(dialects.get("hip").spelling)
    names = [prelude.need("subgroup", op) for op in ("invocation_id", "sync")]
    for log2 in (None, 4, 5, 6):
        names += [prelude.need("subgroup", op, log2) for op in ("ballot", "all", "any")]
        names += [prelude.need("subgroup", op, t, log2) for op in SHUFFLES for t in SHUFFLED]
    for op in ("reduce", "reduce_all", "inclusive", "exclusive", "segmented"):
        names += [prelude.need("subgroup", op, how, t, 6) for how in ("add", "min") for t in SHUFFLED]
    text = prelude.render(environment.environment())
    for qualifiers in ("__device__ static inline", "__device__ static"):
        text = text.replace(qualifiers, KEPT)
    code = hiprtc.compile(text, "lanes", chip, hiprtc.flags(chip))
    assert all(name.encode() in code for name in names)


def test_votes_of_a_tile_see_the_lanes_of_the_tile():
    prelude = Prelude(dialects.get("hip").spelling)
    prelude.need("subgroup", "any", 4)
    prelude.need("subgroup", "all", 5)
    text = prelude.render(environment.environment())
    assert "(__ballot(p) & (0xffffull << (threadIdx.x & 48u))) != 0;" in text
    assert "(__ballot(p == 0) & (0xffffffffull << (threadIdx.x & 32u))) == 0;" in text


@pytest.mark.parametrize("chip", CHIPS)
def test_kernels_with_shared_arrays(chip):
    require_hiprtc()
    x = np.zeros(512, np.float32)
    texts = [
        ("rotated", rotated.source(x, np.zeros(512, np.uint64), arch="amdgpu")),
        ("large", large.source(np.zeros(512), arch="amdgpu")),
    ]
    assert "__shfl_xor(x, k)" in texts[0][1] and "__shared__ float small[128];" in texts[0][1]
    assert "extern __shared__ __align__(16) unsigned char qd_shared[];" in texts[1][1]
    compile_hip(texts, chip)
