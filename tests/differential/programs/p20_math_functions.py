"""language.md 12, matrix-math.md 11: the scalar functions at ordinary and special points, in f32 and f64."""

import numpy as np
from kit import fails

RTOL = 5e-6
ATOL = 1e-6
POINTS = [-2.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 10.0, 80.0]


def run(qd):
    def make(dt):
        @qd.kernel
        def table(x: qd.types.ndarray(dtype=dt, ndim=1), out: qd.types.ndarray(dtype=dt, ndim=2)):
            for i in x:
                v = x[i]
                out[0, i] = qd.sin(v)
                out[1, i] = qd.cos(v)
                out[2, i] = qd.tan(v)
                out[3, i] = qd.asin(v)
                out[4, i] = qd.acos(v)
                out[5, i] = qd.tanh(v)
                out[6, i] = qd.sqrt(v)
                out[7, i] = qd.exp(v)
                out[8, i] = qd.log(v)
                out[9, i] = qd.rsqrt(v)
                out[10, i] = qd.round(v)
                out[11, i] = qd.floor(v)
                out[12, i] = qd.ceil(v)
                out[13, i] = abs(v)
                out[14, i] = qd.max(v, 0.3, -v)
                out[15, i] = min(v, 0.3)
                out[16, i] = qd.atan2(v, 0.5)
                out[17, i] = qd.atan2(0.5, v)

        return table

    results = {}
    for name in ("f32", "f64"):
        x = np.array(POINTS, "float" + name[1:])
        out = np.zeros((18, len(x)), x.dtype)
        make(getattr(qd, name))(x, out)
        if name == "f64":
            out[14:16] = out[14:16].astype(np.float32)
        results[name] = out

    @qd.kernel
    def on_ints(i: qd.i32) -> qd.types.vector(6, qd.f32):
        return qd.Vector([qd.sqrt(i), qd.exp(i), qd.log(i), qd.atan2(i, 3), qd.max(i, 2.5), abs(-i)])

    @qd.kernel
    def to_int(x: qd.f32) -> qd.types.vector(3, qd.i32):
        return qd.Vector([qd.floor(x, qd.i32), qd.ceil(x, qd.i32), qd.round(x, qd.i32)])

    @qd.kernel
    def vectors(v: qd.types.vector(3, qd.f32)) -> qd.types.matrix(3, 3, qd.f32):
        a, b, c = qd.sin(v), qd.max(v, 0.5), qd.exp(-v)
        return qd.Matrix([[a[0], a[1], a[2]], [b[0], b[1], b[2]], [c[0], c[1], c[2]]])

    @qd.kernel
    def folded() -> qd.types.vector(4, qd.f32):
        return qd.Vector([qd.sin(1), qd.round(2.5), qd.max(1, 2, 3.0), qd.sqrt(4)])

    @qd.kernel
    def sin_of_int(i: qd.i32) -> qd.f32:
        return qd.sin(i)

    @qd.kernel
    def floor_of_int(i: qd.i32) -> qd.f32:
        return qd.floor(i)

    @qd.kernel
    def nan_rules(x: qd.f32, y: qd.f32) -> qd.types.vector(4, qd.f32):
        return qd.Vector([max(x, y), min(x, y), max(y, x), min(y, x)])

    return results | {
        "on_ints": [on_ints(i).to_numpy() for i in (1, 4, 9)],
        "to_int": [to_int(x).to_numpy() for x in (2.5, -2.5, 0.49, -0.51, 3.0)],
        "vectors": vectors([0.1, 0.7, -1.5]).to_numpy(),
        "folded": folded().to_numpy(),
        "nan_rules": [nan_rules(np.nan, 2.0).to_numpy(), nan_rules(np.inf, -np.inf).to_numpy()],
        "host": [qd.sin(0.5), qd.max(3, 4), float(qd.sqrt(2.0)), qd.round(2.5), qd.select(1, 5, 6)],
        "sin_of_int": fails(lambda: sin_of_int(1), "takes real inputs only"),
        "floor_of_int": fails(lambda: floor_of_int(1), "'floor' takes real inputs only"),
    }
