"""Blocks, lanes and tiles of GPUs, and what the rest of `qd.simt` is called; nothing runs without a GPU."""

import quadrants as qd

qd.init(arch=qd.cpu)

N = 256


@qd.kernel
def fold(a: qd.types.ndarray(dtype=qd.f32, ndim=1), out: qd.types.ndarray(dtype=qd.f32, ndim=1)):
    qd.loop_config(block_dim=64)
    for i in range(N):
        tid = qd.simt.block.thread_idx()
        shared = qd.simt.block.SharedArray((64,), qd.f32)
        shared[tid] = a[i]
        qd.simt.block.sync()
        lane = qd.simt.subgroup.invocation_id()
        total = qd.simt.subgroup.reduce_add(shared[63 - tid])
        if lane == 0:
            qd.atomic_add(out[0], total)


@qd.kernel(fastcache=False)
def shuffle(a: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    qd.loop_config(block_dim=32)
    for i in range(32):
        a[i] = qd.simt.subgroup.shuffle_down(a[i], qd.u32(1))
        qd.simt.grid.mem_fence()


@qd.kernel
def histogram(bins: qd.types.ndarray(dtype=qd.i32, ndim=1)):
    for i in range(N):
        qd.atomic_add(bins[qd.math.popcnt(i)], 1)


bins = qd.ndarray(qd.i32, 9)
histogram(bins)
assert bins.to_numpy().sum() == N
if qd.cfg.arch in (qd.cuda, qd.amdgpu):
    fold(qd.ndarray(qd.f32, N), qd.ndarray(qd.f32, 1))
    shuffle(qd.ndarray(qd.i32, 32))
print(bins[1], qd.simt.Tile16x16)
