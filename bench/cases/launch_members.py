"""Launch latency of a kernel that takes a frozen dataclass of many arrays, as simulators do."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import dataclasses
import time

import numpy as np

from . import Work, case, differs
from .launch import GPU

N = 16


def bundle_of(qd, count):
    """A frozen dataclass of that many ndarrays, and an instance."""
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)
    members = dataclasses.make_dataclass("Members", [(f"a{k}", arr) for k in range(count)], frozen=True)
    return members, members(*[qd.ndarray(qd.f32, shape=(N,)) for _ in range(count)])


def fill(bundle) -> None:
    """Array k gets the value k."""
    for k, entry in enumerate(dataclasses.fields(bundle)):
        getattr(bundle, entry.name).fill(float(k))


@case("launch_64_members", "launch, frozen dataclass of 64 ndarrays", unit="us", target=0.25)
@case("gpu_launch_64_members", "launch, frozen dataclass of 64 ndarrays", **GPU)
def launch_members(qd) -> Work:
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)
    out = qd.ndarray(qd.f32, shape=(N,))
    members, bundle = bundle_of(qd, 64)
    step = sum_of_64(qd, members, arr)

    def run(n: int) -> None:
        for _ in range(n):
            step(bundle, out)
        qd.sync()

    def check() -> str | None:
        fill(bundle)
        run(1)
        return differs("out", out.to_numpy(), np.full(N, 2016.0, np.float32))

    return Work(run, check)


@case(
    "launch_extra_member", "launch, each further ndarray of a frozen dataclass (16 to 64)",
    unit="ns", target=0.25, limit_seconds=60e-9,
)  # fmt: skip
def extra_member(qd) -> Work:
    arr = qd.types.ndarray(dtype=qd.f32, ndim=1)
    out = qd.ndarray(qd.f32, shape=(N,))
    few, few_bundle = bundle_of(qd, 16)
    many, many_bundle = bundle_of(qd, 64)
    sum_of_many = sum_of_64(qd, many, arr)

    @qd.kernel
    def sum_of_few(m: few, out: arr):
        for i in range(N):
            s = m.a0[i] + m.a1[i] + m.a2[i] + m.a3[i] + m.a4[i] + m.a5[i] + m.a6[i] + m.a7[i]
            s += m.a8[i] + m.a9[i] + m.a10[i] + m.a11[i] + m.a12[i] + m.a13[i] + m.a14[i] + m.a15[i]
            out[i] = s

    def seconds(step, bundle, n: int) -> float:
        start = time.perf_counter()
        for _ in range(n):
            step(bundle, out)
        qd.sync()
        return time.perf_counter() - start

    def difference(n: int) -> float:
        # The best of short turns: what disturbs one of two times would count in full in their difference.
        turn = -(-n // 16)
        turns = [(seconds(sum_of_few, few_bundle, turn), seconds(sum_of_many, many_bundle, turn)) for _ in range(16)]
        return (min(t for _, t in turns) - min(t for t, _ in turns)) / turn / (64 - 16)

    def run(n: int) -> None:
        difference(n)

    def check() -> str | None:
        problems = []
        for step, bundle, total in ((sum_of_few, few_bundle, 120.0), (sum_of_many, many_bundle, 2016.0)):
            fill(bundle)
            step(bundle, out)
            problems.append(differs("out", out.to_numpy(), np.full(N, total, np.float32)))
        return problems[0] or problems[1]

    return Work(run, check, difference=difference)


def sum_of_64(qd, members, arr):
    """A kernel that adds up 64 arrays."""

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

    return step


@case("launch_method", "launch, method of a class with 8 fields", unit="us", target=0.25)
def method(qd) -> Work:
    names = [f"f{k}" for k in range(8)]

    @qd.data_oriented
    class Fields:
        def __init__(self):
            for name in names:
                setattr(self, name, qd.field(qd.f32, shape=N))

        @qd.kernel
        def step(self):
            self.f0[0] += self.f1[0] + self.f2[0] + self.f3[0] + self.f4[0] + self.f5[0] + self.f6[0] + self.f7[0]

    fields = Fields()

    def run(n: int) -> None:
        for _ in range(n):
            fields.step()
        qd.sync()

    def check() -> str | None:
        for k, name in enumerate(names):
            getattr(fields, name).fill(float(k))
        fields.step()
        return differs("f0", fields.f0.to_numpy()[:1], np.array([28.0], np.float32))

    return Work(run, check)
