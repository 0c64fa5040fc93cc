"""matrix-math.md 14: NaN, infinities and signed zeros under fast_math on and off."""

import numpy as np
from kit import start


def _values(dtype):
    """The inputs: NaN, infinities, zeros of both signs, ones, the extremes of the normal range."""
    info = np.finfo(dtype)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, info.max, -info.tiny, 4.0], dtype)


def _numpy(dtype):
    """The table that a kernel must give, with or without fast_math."""
    v = _values(dtype)
    with np.errstate(all="ignore"):
        rows = [
            np.isnan(v), np.isinf(v), ~(np.abs(v) < np.inf), v < 1, v > 1, v >= 0, np.isnan(np.fmax(v, dtype(0.5))),
            np.fmin(v, np.inf) == v, np.isinf(v * dtype(2)), np.isnan(np.sqrt(v)), np.isinf(np.log(np.abs(v))),
            np.zeros(len(v)), np.nan_to_num(np.sign(v)), v == 0,
        ]  # fmt: skip
    return np.stack(rows).astype(np.int32)


_NOTE = "matrix-math.md 14: isnan and isinf test the value's own bits and are never folded away, with fast_math too"
CORRECTED = {
    "f32_fast": (_numpy(np.float32), _NOTE),
    "f64_fast": (_numpy(np.float64), _NOTE),
    "f64_strict": (_numpy(np.float64), _NOTE),
}


def run(qd):
    results = {}
    for fast in (True, False):
        start(qd, fast_math=fast)

        def make(dt):
            @qd.kernel
            def table(x: qd.types.ndarray(dtype=dt, ndim=1), out: qd.types.ndarray(dtype=qd.i32, ndim=2)):
                for i in x:
                    v = x[i]
                    out[0, i] = qd.math.isnan(v)
                    out[1, i] = qd.math.isinf(v)
                    out[2, i] = not (abs(v) < qd.math.inf)
                    out[3, i] = v < 1.0
                    out[4, i] = v > 1.0
                    out[5, i] = v >= 0.0
                    out[6, i] = qd.math.isnan(max(v, 0.5))
                    out[7, i] = min(v, qd.math.inf) == v
                    out[8, i] = qd.math.isinf(v * 2.0)
                    out[9, i] = qd.math.isnan(qd.sqrt(v))
                    out[10, i] = qd.math.isinf(qd.log(abs(v)))
                    out[11, i] = qd.math.isnan(qd.math.sign(v) * 1.0)
                    out[12, i] = qd.cast(qd.math.sign(v), qd.i32)
                    out[13, i] = v == 0.0

            return table

        @qd.kernel
        def division(x: qd.f32, zero: qd.f32) -> qd.types.vector(3, qd.f32):
            return qd.Vector([x / zero, -x / zero, 1.0 / (x / zero)])

        @qd.kernel
        def bounds(x: qd.types.ndarray(dtype=qd.f32, ndim=1)) -> qd.types.vector(2, qd.f32):
            lo, hi = qd.math.inf, -qd.math.inf
            if x.shape[0] > 0:
                for i in range(x.shape[0]):
                    lo = min(lo, x[i])
                    hi = max(hi, x[i])
            return qd.Vector([lo, hi])

        for name, dtype in (("f32", np.float32), ("f64", np.float64)):
            x = _values(dtype)
            out = np.zeros((14, len(x)), np.int32)
            make(getattr(qd, name))(x, out)
            results[f"{name}_{'fast' if fast else 'strict'}"] = out
        results[f"division_{fast}"] = division(2.0, 0.0).to_numpy()
        results[f"bounds_{fast}"] = [
            bounds(np.array(v, np.float32)).to_numpy() for v in ([], [3.0, -1.0], [np.nan, 2.0])
        ]
    return results
