import quadrants as qd

qd.init(arch=qd.cpu)


@qd.kernel
def example(p: qd.f32, q: qd.f32):
    x, y, a, b = p, q, p, q
    EXAMPLE


example(0.5, 0.25)
