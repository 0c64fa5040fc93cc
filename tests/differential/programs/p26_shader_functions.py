"""matrix-math.md 12: the functions of qd.math: shader functions, rotations, complex numbers."""

from kit import fails

RTOL = 1e-5
ATOL = 2e-6


def run(qd):
    m = qd.math
    vec18, vec9 = qd.types.vector(18, qd.f32), qd.types.vector(9, qd.f32)

    @qd.kernel
    def scalars(x: qd.f32) -> qd.types.vector(16, qd.f32):
        return qd.Vector(
            [
                m.clamp(x, 0.0, 1.0), m.sign(x), m.radians(x), m.degrees(x), m.mix(1.0, 3.0, x), m.step(0.25, x),
                m.smoothstep(0.0, 1.0, x), m.smoothstep(1.0, 0.0, x), m.fract(x), m.mod(x, 0.75), m.log2(abs(x) + 1.0),
                m.clamp(5, 0, 3), m.sign(-4), m.mod(-5, 3), m.clamp(x, 2.0, 1.0), m.degrees(1),
            ]
        )  # fmt: skip

    @qd.kernel
    def vectors(a: m.vec3, b: m.vec3) -> qd.types.vector(18, qd.f32):
        r = m.reflect(a, b)
        c = m.cross(a, b)
        n = m.normalize(a)
        x = m.mix(a, b, 0.25)
        t = m.refract(m.vec2(0.6, -0.8), m.vec2(0.0, 1.0), 0.5)
        z = m.refract(m.vec2(0.9, -0.43), m.vec2(0.0, 1.0), 2.0)
        return vec18(m.length(a), m.distance(a, b), m.dot(a, b), r, c, n, x, t, z.x)

    @qd.kernel
    def transforms() -> tuple[m.mat4, m.mat4, m.mat4, m.mat4, m.mat4, m.mat2, m.mat3]:
        return (
            m.translate(1.0, 2, 3.0),
            m.scale(2.0, 3.0, 4.0),
            m.rot_by_axis(m.vec3(0.0, 0.0, 2.0), m.pi / 6),
            m.rot_yaw_pitch_roll(0.1, 0.2, 0.3),
            m.rotation3d(0.52, -0.785, 1.046),
            m.rotation2d(0.3),
            m.eye(3),
        )

    @qd.kernel
    def complex_numbers() -> qd.types.vector(18, qd.f32):
        a, b = m.vec2(1.0, 1.0), m.vec2(0.0, 1.0)
        return vec18(
            m.cmul(a, b), m.cdiv(a, b), m.cconj(a), m.cinv(b), m.csqrt(m.vec2(3.0, -4.0)), m.cexp(a),
            m.clog(m.vec2(-1.0, 0.0)), m.cpow(a, 3), m.csqrt(m.vec2(0.0, 0.0)),
        )  # fmt: skip

    @qd.kernel
    def elementwise(v: m.vec3) -> qd.types.vector(9, qd.f32):
        return vec9(m.sign(v), m.clamp(v, -0.5, 0.5), m.fract(v))

    @qd.kernel
    def constants() -> qd.types.vector(5, qd.f32):
        d = m.vdir(m.pi)
        return qd.Vector([m.e, m.pi, m.inf, -m.inf, d[0]])

    @qd.kernel
    def classify(x: qd.f32, y: qd.f64) -> qd.types.vector(6, qd.i32):
        v = qd.Vector([x, 1.0])
        return qd.Vector(
            [qd.cast(m.isnan(x), qd.i32), m.isinf(x), m.isnan(y), m.isinf(y), m.isnan(v).any(), m.isinf(3)]
        )

    @qd.kernel
    def fract_int(i: qd.i32) -> qd.f32:
        return m.fract(i)

    inf, nan = float("inf"), float("nan")
    return {
        "scalars": [scalars(x).to_numpy() for x in (-1.25, 0.25, 0.7, 3.5)],
        "vectors": vectors([1.0, -2.0, 2.0], [0.6, 0.0, 0.8]).to_numpy(),
        "transforms": [t.to_numpy() for t in transforms()],
        "complex_numbers": complex_numbers().to_numpy(),
        "elementwise": elementwise([-1.25, 0.25, 0.0]).to_numpy(),
        "constants": constants().to_numpy(),
        "classify": [classify(x, x).to_numpy() for x in (nan, inf, -inf, 1.0)],
        "fract_int": fails(lambda: fract_int(1), "takes real inputs only"),
    }
