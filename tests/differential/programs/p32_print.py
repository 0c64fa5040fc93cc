"""language.md 16.1, matrix-math.md 18.6: what kernels print: numbers, vectors, separators, f-strings, formats."""

from kit import fails, printed


def run(qd):
    @qd.kernel
    def numbers(a: qd.i32, x: qd.f32, d: qd.f64, u: qd.u64, h: qd.f16):
        print(a, x, d, u, h)
        print(3, 1.5, True)
        print()
        print("text only")
        print("a", a, sep="-", end="!\n")
        print(a, x, sep="")
        print(qd.cast(a, qd.i8), qd.cast(a, qd.u8), a > 3)

    @qd.kernel
    def vectors():
        v = qd.Vector([1.0, 2.5])
        m = qd.Matrix([[1, 2], [3, 4]])
        print(v, m)
        print("v:", v * 2, "m:", m[1, 0])
        print([1, 2.5], (3, v))

    @qd.kernel
    def formats(a: qd.i32, x: qd.f32):
        print(f"a={a} x={x:.2f} {a:5d}| {x:e}")
        print("{} and {:.3f} and {0}".format(a, x) if qd.static(False) else "{} and {:.3f}".format(a, x))
        print("{1} {0}".format(a, x))
        print("{k:.1f}".format(k=x))
        print(f"{a=}")
        print(f"{qd.Vector([1.0, 2.0]):.1f}")
        print(f"{qd.cast(a, qd.u32):08x} {qd.cast(a, qd.u32):o} {x:g}")

    @qd.kernel
    def loop(n: qd.i32):
        qd.loop_config(serialize=True)
        for i in range(n):
            if i % 2 == 0:
                print("i", i)

    @qd.kernel
    def mismatch(a: qd.i32):
        print(f"{a:.2f}")

    @qd.kernel
    def unsupported(a: qd.i32):
        print(f"{a:c}")

    @qd.kernel
    def percent(a: qd.i32):
        print("%d" % a)

    @qd.kernel
    def count(a: qd.i32):
        print("{} {}".format(a))  # noqa: F524

    return {
        "numbers": printed(qd, lambda: numbers(200, -1.25, 0.1, 2**64 - 1, 0.5)),
        "vectors": printed(qd, vectors),
        "formats": printed(qd, lambda: formats(42, 3.14159)),
        "loop": printed(qd, lambda: loop(6)),
        "mismatch": fails(lambda: mismatch(1), "doesn't match 'i32'"),
        "unsupported": fails(lambda: unsupported(1), "is not supported"),
        "percent": fails(lambda: percent(1), ""),
        "count": fails(lambda: count(1), "Expected 2 positional argument(s)"),
    }
