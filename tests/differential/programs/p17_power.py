"""language.md 11.1, matrix-math.md 7.4: ** and pow with integer and real exponents, constant and run time."""

from kit import fails

ANY_OF = {
    "negative_constant": (
        ["QuadrantsRuntimeError: Negative exponent in pow(int, int) is not allowed"],
        "language.md 18: runtime errors are of the class of the package, a RuntimeError",
    )
}


def run(qd):
    @qd.kernel
    def real_base(x: qd.f32, i: qd.i32) -> qd.types.vector(8, qd.f32):
        return qd.Vector([x**2, x**-2, x**i, x**0, x**3.0, x**1, pow(x, 5), qd.pow(x, -1.0)])

    @qd.kernel
    def roots(x: qd.f32, y: qd.f32) -> qd.types.vector(4, qd.f32):
        return qd.Vector([x**0.5, x**y, qd.pow(x, 1.5), 2.0**y])

    @qd.kernel
    def int_base(a: qd.i32, i: qd.i32) -> qd.types.vector(4, qd.i32):
        return qd.Vector([a**2, a**i, a**0, pow(a, 3)])

    @qd.kernel
    def int_real(a: qd.i32, y: qd.f32) -> qd.f32:
        return a**y

    @qd.kernel
    def wide(a: qd.i64, i: qd.i32) -> qd.i64:
        return a**i

    @qd.kernel
    def narrow(a: qd.u8) -> qd.u8:
        return a**2

    @qd.kernel
    def runtime_two(n: qd.i32) -> qd.i32:
        return 2**n

    @qd.kernel
    def doubles(x: qd.f64, i: qd.i32, y: qd.f64) -> qd.types.vector(3, qd.f64):
        return qd.Vector([x**i, x**y, x**-3])

    @qd.kernel
    def vectors(v: qd.types.vector(2, qd.f32)) -> qd.types.matrix(3, 2, qd.f32):
        a = v**2
        b = v**0.5
        c = 2.0**v
        return qd.Matrix([[a[0], a[1]], [b[0], b[1]], [c[0], c[1]]])

    @qd.kernel
    def negative_constant(a: qd.i32) -> qd.i32:
        return a**-1

    @qd.kernel
    def augmented(x: qd.f32, n: qd.i32) -> qd.types.vector(2, qd.f32):
        a = x
        a **= 3
        b = n
        b **= 2
        return qd.Vector([a, b])

    return {
        "real_base": [real_base(x, i).to_numpy() for x, i in ((-2.0, -3), (1.5, 4), (0.0, 0), (-0.5, 1))],
        "roots": [roots(2.25, 1.7).to_numpy(), roots(-2.0, 2.5).to_numpy(), roots(0.0, 0.0).to_numpy()],
        "int_base": [int_base(a, i).to_numpy() for a, i in ((3, 4), (-3, 5), (0, 0), (2, 31), (7, 20))],
        "int_real": [int_real(2, 0.5), int_real(9, -0.5)],
        "wide": [wide(3, 39), wide(-2, 63), wide(10, 18)],
        "narrow": [narrow(20), narrow(15)],
        "runtime_two": [runtime_two(n) for n in (0, 1, 10, 31)],
        "doubles": doubles(-1.25, 7, 2.0).to_numpy(),
        "vectors": vectors(qd.Vector([4.0, 2.25])).to_numpy(),
        "augmented": augmented(-1.5, 12).to_numpy(),
        "negative_constant": fails(lambda: negative_constant(2), "Negative exponent in pow(int, int) is not allowed"),
    }
