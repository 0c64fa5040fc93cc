"""Launch latency of a kernel that takes a frozen dataclass of many arrays, as simulators do."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import dataclasses

import numpy as np

from . import Work, case, differs
from .launch import GPU

N = 16


@case("gpu_launch_64_members", "launch, frozen dataclass of 64 ndarrays", **GPU)
def launch_members(qd) -> Work:
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)
    members = dataclasses.make_dataclass("Members", [(f"a{k}", arr) for k in range(64)], frozen=True)
    arrays = [qd.ndarray(qd.f32, shape=(N,)) for _ in range(64)]
    out = qd.ndarray(qd.f32, shape=(N,))
    bundle = members(*arrays)

    @qd.kernel
    def step(m: members, out: arr):
        for i in range(N):
            s = m.a0[i] + m.a1[i] + m.a2[i] + m.a3[i] + m.a4[i] + m.a5[i] + m.a6[i] + m.a7[i]
            s += m.a8[i] + m.a9[i] + m.a10[i] + m.a11[i] + m.a12[i] + m.a13[i] + m.a14[i] + m.a15[i]
            s += m.a16[i] + m.a17[i] + m.a18[i] + m.a19[i] + m.a20[i] + m.a21[i] + m.a22[i] + m.a23[i]
            s += m.a24[i] + m.a25[i] + m.a26[i] + m.a27[i] + m.a28[i] + m.a29[i] + m.a30[i] + m.a31[i]
            s += m.a32[i] + m.a33[i] + m.a34[i] + m.a35[i] + m.a36[i] + m.a37[i] + m.a38[i] + m.a39[i]
            s += m.a40[i] + m.a41[i] + m.a42[i] + m.a43[i] + m.a44[i] + m.a45[i] + m.a46[i] + m.a47[i]
            s += m.a48[i] + m.a49[i] + m.a50[i] + m.a51[i] + m.a52[i] + m.a53[i] + m.a54[i] + m.a55[i]
            s += m.a56[i] + m.a57[i] + m.a58[i] + m.a59[i] + m.a60[i] + m.a61[i] + m.a62[i] + m.a63[i]
            out[i] = s

    def run(n: int) -> None:
        for _ in range(n):
            step(bundle, out)
        qd.sync()

    def check() -> str | None:
        for k, array in enumerate(arrays):
            array.fill(float(k))
        run(1)
        return differs("out", out.to_numpy(), np.full(N, 2016.0, np.float32))

    return Work(run, check)
