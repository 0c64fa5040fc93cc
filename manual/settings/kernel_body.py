import quadrants as qd

qd.init(arch=qd.cpu)
x = qd.field(qd.f32, shape=8)


@qd.kernel
def example(n: qd.i32):
    v, total = qd.Vector([1.0, 2.0, 3.0]), 0.0
    EXAMPLE


example(8)
