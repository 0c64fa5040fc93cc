import quadrants as qd

qd.init(arch=qd.cpu)


@qd.kernel
def example():
    z, w = qd.Vector([3.0, 4.0]), qd.Vector([0.0, 1.0])
    EXAMPLE


example()
