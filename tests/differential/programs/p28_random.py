"""matrix-math.md 15: random numbers: ranges, moments, bits, independent calls, seeds. Judged, not compared."""

import numpy as np
from kit import start

N = 200000


def run(qd):
    def draw(seed):
        start(qd, random_seed=seed)
        f = qd.field(qd.f32, shape=N)
        d = qd.field(qd.f64, shape=N)
        g = qd.field(qd.f32, shape=N)
        i = qd.field(qd.i32, shape=N)
        u = qd.field(qd.u64, shape=N)
        pairs = qd.Vector.field(2, qd.f32, shape=N)

        @qd.kernel
        def fill():
            for k in range(N):
                f[k] = qd.random()
                d[k] = qd.random(qd.f64)
                g[k] = qd.randn()
                i[k] = qd.random(qd.i32)
                u[k] = qd.random(qd.u64)
                pairs[k] = [qd.random(), qd.random()]

        fill()
        first = f.to_numpy()
        fill()
        return first, f.to_numpy(), d.to_numpy(), g.to_numpy(), i.to_numpy(), u.to_numpy(), pairs.to_numpy()

    first, second, d, g, i, u, pairs = draw(0)
    other = draw(7)[0]

    def near(value, want, tolerance):
        return bool(abs(float(value) - want) < tolerance)

    both = np.concatenate([first, second]).astype(np.float64)
    return {
        "f32_range": bool(both.min() >= 0 and both.max() < 1),
        "f32_moments": [near((both**k).mean(), 1 / (k + 1), 0.01 / (k + 1)) for k in (1, 2, 3)],
        "f64_range": bool(d.min() >= 0 and d.max() < 1),
        "f64_moments": [near((d**k).mean(), 1 / (k + 1), 0.01 / (k + 1)) for k in (1, 2, 3)],
        "f64_low_bits": bool(np.any(d * 2.0**32 % 1.0 != 0)),
        "normal": [near(g.mean(), 0, 0.02), near(g.std(), 1, 0.02), bool(np.isfinite(g).all())],
        "i32_signs": near((i < 0).mean(), 0.5, 0.01),
        "u64_high_bit": near((u >> np.uint64(63)).mean(), 0.5, 0.01),
        "u64_low_bit": near((u & np.uint64(1)).mean(), 0.5, 0.01),
        "launches_differ": bool((first != second).mean() > 0.99),
        "seeds_differ": bool((np.sort(first) != np.sort(other)).any()),
        "calls_differ": bool((pairs[:, 0] != pairs[:, 1]).mean() > 0.99),
        "calls_uncorrelated": near(np.corrcoef(pairs[:, 0], pairs[:, 1])[0, 1], 0, 0.02),
    }
