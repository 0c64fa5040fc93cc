"""language.md 7: what func parameters copy, alias or refuse; kernel parameters; copies of elements."""

from kit import fails


def run(qd):
    f = qd.field(qd.i32, shape=4)
    vf = qd.Vector.field(2, qd.f32, shape=3)

    @qd.func
    def typed(c: qd.i32):
        c = c * 2
        return c

    @qd.func
    def untyped(v):
        v += 1
        return v

    @qd.func
    def alias(a: qd.template()):
        a += 1

    @qd.func
    def fill_vector(v: qd.template(), s):
        v[0] = s
        v[1] = s * 2

    @qd.func
    def vector_copy(v):
        v[0] = 99.0
        return v.sum()

    @qd.func
    def vector_typed(v: qd.types.vector(2, qd.f32)):
        v[1] = 5.0
        return v

    @qd.func
    def array_write(x: qd.types.ndarray(), i, v):
        x[i] = v

    @qd.func
    def constant(n: qd.template()):
        s = 0
        for i in qd.static(range(n)):
            s += i
        return s

    @qd.func
    def default(a, b=7):
        return a * b

    @qd.kernel
    def work(x: qd.types.ndarray(dtype=qd.i32, ndim=1), n: qd.i32, r: qd.f32) -> qd.i32:
        a = 5
        t1 = typed(r)
        t2 = untyped(a)
        alias(a)
        alias(f[1])
        alias(f[1])
        fill_vector(vf[0], 3.0)
        v = qd.Vector([1.0, 2.0])
        fill_vector(v, 8.0)
        vf[1] = v
        s = vector_copy(v)
        w = vector_typed(v)
        vf[2] = [v[0] + s, w[1] + v[1]]
        array_write(x, n, 42)
        alias(x[0])
        b = v
        b[0] = -1.0
        f[0] = qd.cast(v[0], qd.i32)
        f[2] = constant(4)
        f[3] = default(3) + default(3, 2) + default(b=1, a=2)
        return a * 10000 + t1 * 100 + t2

    @qd.func
    def swap(a: qd.template(), b: qd.template()):
        a, b = b, a

    @qd.kernel
    def swapped() -> qd.i32:
        a = 1
        b = 2
        swap(a, b)
        f[0], f[1] = f[1], f[0]
        return a * 10 + b

    @qd.kernel
    def writes_parameter(n: qd.i32) -> qd.i32:
        n += 1
        return n

    @qd.kernel
    def template_of_expression() -> qd.i32:
        a = 2
        alias(a * 2)
        return a

    @qd.kernel
    def stores_field() -> qd.i32:
        g = f
        return g[0]

    @qd.kernel
    def wrong_shape() -> qd.f32:
        v = qd.Vector([1.0, 2.0, 3.0])
        w = vector_typed(v)
        return w[0]

    nd = qd.ndarray(qd.i32, shape=(4,))
    value = work(nd, 2, 3.7)
    before = f.to_numpy()
    return {
        "value": value,
        "f": before,
        "vf": vf.to_numpy(),
        "nd": nd.to_numpy(),
        "swapped": swapped(),
        "f_swapped": f.to_numpy(),
        "writes_parameter": fails(lambda: writes_parameter(1), "is immutable in the kernel"),
        "template_of_expression": fails(template_of_expression, "cannot use a non-writable target"),
        "stores_field": fails(stores_field, "Invalid constant scalar data type"),
        "wrong_shape": fails(wrong_shape, "n 2, but got 3"),
    }
