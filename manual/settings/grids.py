import quadrants as qd

qd.init(arch=qd.cpu)
coarse, fine = qd.field(qd.f32, shape=(4, 4)), qd.field(qd.f32, shape=(8, 8))


@qd.kernel
def example():
    for I in qd.grouped(fine):
        EXAMPLE


example()
