"""Compute-bound throughput: gravity of all pairs of bodies."""

# No postponed annotations here: kernels read theirs where they are defined, and peers cannot resolve strings.

import numpy as np

from . import Work, case, differs

SOFTENING = 1e-3


@case("nbody_4096", "n-body, 4,096 bodies, all pairs", throughput=True, batch_seconds=0.1, size=4096)
@case(
    "gpu_nbody", "n-body, 65,536 bodies, all pairs", rows="gpu", unit="Gpair/s", target=1 / 1.1, rounds=5,
    batch_seconds=0.1, size=65536, tiny=128, amount=lambda n: float(n) * n,
)  # fmt: skip
def nbody(qd, n_bodies: int) -> Work:
    data = np.random.default_rng(5).uniform(-1, 1, (n_bodies, 3)).astype(np.float32)
    pos = qd.Vector.field(3, qd.f32, shape=n_bodies)
    acc = qd.Vector.field(3, qd.f32, shape=n_bodies)
    pos.from_numpy(data)

    @qd.kernel
    def step():
        for i in range(n_bodies):
            p = pos[i]
            a = qd.Vector([0.0, 0.0, 0.0])
            for j in range(n_bodies):
                r = pos[j] - p
                d2 = r.dot(r) + SOFTENING
                inv = 1.0 / qd.sqrt(d2)
                a += r * (inv * inv * inv)
            acc[i] = a / n_bodies

    def run(n: int) -> None:
        for _ in range(n):
            step()
        qd.sync()

    def check() -> str | None:
        probe = slice(0, 64)
        p = data.astype(np.float64)
        r = p[None, :, :] - p[probe, None, :]
        d2 = (r * r).sum(axis=2) + SOFTENING
        want = (r / (d2**1.5)[:, :, None]).sum(axis=1) / n_bodies
        return differs("acc", acc.to_numpy()[probe], want, rtol=2e-3, atol=1e-4)

    return Work(run, check)
